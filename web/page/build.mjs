// The page as a folder of files, for any server: `node page/build.mjs FOLDER [--tests]`. With the second it takes sets
// for tests, which are below 128 bits.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const [folder, tests] = process.argv.slice(2);
const ASSETS = [
  "page/index.html",
  "page/page.css",
  "page/icon.svg",
  "page/manifest.webmanifest",
  "src/wasm/omr_wasm_bg.wasm",
];
const WORKER = "sw.js";

const options = {
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  logLevel: "warning",
  outdir: folder,
  entryNames: "[name]",
};

// protobuf-es brings a second encoding of messages, which no call here has.
const encodings = {
  name: "encodings",
  setup(build) {
    const absent = (names) => {
      const contents = `const absent = () => { throw new Error("no JSON here"); };`;
      return () => ({ contents: `${contents} export { ${names.map((name) => `absent as ${name}`).join(", ")} };` });
    };
    build.onLoad(
      { filter: /protobuf\/dist\/esm\/from-json\.js$/ },
      absent(["fromJson", "fromJsonString", "mergeFromJson", "mergeFromJsonString", "enumFromJson", "isEnumJson"]),
    );
    build.onLoad({ filter: /protobuf\/dist\/esm\/to-json\.js$/ }, absent(["toJson", "toJsonString", "enumToJson"]));
  },
};

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await build({
  ...options,
  entryPoints: ["page/main.tsx", "src/worker.ts", "src/maker.ts"],
  splitting: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { ALLOW_OLD: String(tests === "--tests") },
  plugins: [encodings],
});
for (const asset of ASSETS) await cp(asset, join(folder, asset.split("/").at(-1)));

// What is kept for times without a network is one version, by the hash of all files.
const files = (await readdir(folder)).sort();
const hash = createHash("sha256");
for (const name of files) hash.update(await readFile(join(folder, name)));
const define = { FILES: JSON.stringify(files), VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)) };
await build({ ...options, entryPoints: [`page/${WORKER.replace(".js", ".ts")}`], define });
for (const name of [...files, WORKER]) {
  await writeFile(join(folder, `${name}.gz`), gzipSync(await readFile(join(folder, name)), { level: 9 }));
}
