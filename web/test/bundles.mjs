// The package as npm packs it: its files, its types, and a page that esbuild bundles with it. `cargo xtask web` runs it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "../../tests/browser/server.mjs";
import { launch } from "../../tests/browser/tools.mjs";
import { startSite } from "./site.mjs";

const web = process.env.OMR_WEB;
const run = promisify(execFile);
const user = join(web, "user");
const installed = join(user, "node_modules/oblivious-omr");

// What somebody may write on top of it.
const APP = `
  import { type Letter, Recipient, RecipientError } from "oblivious-omr";
  import { QueryError, Tables } from "oblivious-omr/tables";

  async function all(server: string): Promise<string[]> {
    const me: Recipient = await Recipient.open({ server, passphrase: "seven quiet herons at dusk" });
    const stop = new AbortController();
    const reason = new Error("enough");
    const stopped: unknown = await me.register(() => stop.abort(reason), stop.signal).catch((error: unknown) => error);
    if (stopped !== reason) throw new Error("expected the signal's reason");
    await me.register(({ done, total }) => console.debug(done / total), AbortSignal.timeout(600_000));
    await me.send(me.address, "a note to myself", undefined, { signed: true });
    await me.fetch();
    const letters: Letter[] = [];
    for (const { number } of await me.letters()) letters.push(await me.read(number));
    return letters.map(({ bytes }) => new TextDecoder().decode(bytes));
  }

  async function kinds(server: string): Promise<string[]> {
    const tables = await Tables.open({ server });
    const table = await tables.list().catch((error: unknown) => error);
    tables.close();
    const me = await Recipient.open({ passphrase: "another one" }).catch((error: unknown) => error);
    return [table instanceof QueryError ? table.kind : "", me instanceof RecipientError ? me.kind : ""];
  }

  Object.assign(globalThis, { all, kinds });
`;
const BOT = `
  import { Recipient } from "oblivious-omr/node";

  export const me: Recipient = await Recipient.open({ folder: "bot", passphrase: "seven quiet herons at dusk" });
`;

await rm(user, { recursive: true, force: true });
await mkdir(installed, { recursive: true });
const [{ filename, files }] = JSON.parse((await run("npm", ["pack", "--json", "--pack-destination", user], { cwd: web })).stdout);
await run("tar", ["-xzf", join(user, filename), "-C", installed, "--strip-components=1"]);
const names = files.map(({ path }) => path).sort();
const own = names.filter((name) => !/^dist\/.*\.(js|wasm)$/.test(name));
const types = ["errors", "index", "node", "query", "recipient", "tables", "types"];
assert.deepEqual(own, [
  "LICENSE-APACHE",
  "LICENSE-MIT",
  "README.md",
  "dist/LICENSES.txt",
  ...types.map((name) => `dist/${name}.d.ts`),
  "package.json",
]);
console.log("web: package: it has its pages, its scripts and what is public of its types: ok");

await writeFile(join(user, "app.ts"), APP);
await writeFile(join(user, "bot.ts"), BOT);
await writeFile(join(user, "package.json"), JSON.stringify({ type: "module" }));
const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
for (const [module, moduleResolution] of [["esnext", "bundler"], ["nodenext", "nodenext"]]) {
  const compilerOptions = { ...strict, module, moduleResolution, target: "es2022", lib: ["es2023", "dom"], types: [] };
  await writeFile(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  await run(join(web, "node_modules/.bin/tsc"), ["--project", user]);
}
console.log("web: package: its types are enough for strict programs: ok");

// As docs/web.md advises: esbuild leaves workers and modules where they are.
const { build } = createRequire(join(web, "package.json"))("esbuild");
const bundled = join(web, "bundled");
await rm(bundled, { recursive: true, force: true });
await build({ absWorkingDir: user, entryPoints: ["app.ts"], bundle: true, format: "esm", outdir: bundled, logLevel: "warning" });
const beside = (await readdir(join(installed, "dist"))).filter((name) => /\.(js|wasm)$/.test(name));
for (const name of beside) await cp(join(installed, "dist", name), join(bundled, name));
const site = await startSite(web);
const server = await startServer({ origins: [site.origin] });
site.allow([server.url]);
const browser = await launch();
try {
  const page = await browser.newPage();
  await page.goto(site.origin);
  await page.evaluate(() => import("/bundled/app.js"));
  assert.deepEqual(await page.evaluate((url) => globalThis.all(url), server.url), ["a note to myself"]);
  assert.deepEqual(await page.evaluate((url) => globalThis.kinds(url), server.url), ["tables", "passphrase"]);
} catch (error) {
  console.error(server.log());
  throw error;
} finally {
  await browser.close();
  await Promise.all([server.stop(), site.stop()]);
}
console.log("web: package: a page that esbuild bundled makes an identity and reads a letter: ok");
