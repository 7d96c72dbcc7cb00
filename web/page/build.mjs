// The page as a folder of files, for any server: `node page/build.mjs FOLDER [--tests]`. With the second it takes sets
// for tests, which are below 128 bits.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const [folder, tests] = process.argv.slice(2);
const ASSETS = [
  "page/index.html",
  "page/page.css",
  "page/icon.svg",
  "page/manifest.webmanifest",
  "src/wasm/omr_wasm_bg.wasm",
  "src/wasm/omr_wasm_pdq_bg.wasm",
];
/** What is loaded at once, or by an identity; the rest is of private queries. */
const ENTRIES = ["main.js", "worker.js", "maker.js"];
const QUERIES = ["omr_wasm_pdq_bg.wasm"];
const WORKER = "sw.js";

const options = {
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  // Warnings of what writes the JavaScript around modules.
  drop: ["console"],
  logLevel: "warning",
  outdir: folder,
  entryNames: "[name]",
};

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const { metafile } = await build({
  ...options,
  metafile: true,
  entryPoints: ["page/main.tsx", "src/worker.ts", "src/maker.ts"],
  splitting: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { INSECURE_SETS: String(tests === "--tests") },
});
// By itself: what it shares with the worker of letters would make those longer.
await build({ ...options, entryPoints: ["src/asking.ts"] });
for (const asset of ASSETS) await cp(asset, join(folder, asset.split("/").at(-1)));

// What is kept for times without a network is one version of what letters need, by the hash of all files.
const own = new Set(ENTRIES);
for (const name of own) {
  const { imports } = metafile.outputs[join(folder, name)];
  for (const { kind, path } of imports) if (kind === "import-statement") own.add(basename(path));
}
const files = (await readdir(folder)).sort();
const kept = files.filter((name) => (name.endsWith(".js") ? own.has(name) : !QUERIES.includes(name)));
const hash = createHash("sha256");
for (const name of files) hash.update(await readFile(join(folder, name)));
const define = { FILES: JSON.stringify(kept), VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)) };
await build({ ...options, entryPoints: [`page/${WORKER.replace(".js", ".ts")}`], define });
for (const name of [...files, WORKER]) {
  await writeFile(join(folder, `${name}.gz`), gzipSync(await readFile(join(folder, name)), { level: 9 }));
}
