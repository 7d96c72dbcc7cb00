// Loads both packages from the project that they are installed in, as users do.
import { readdir, readFile } from "node:fs/promises";
import { Recipient } from "oblivious-omr";
import { Tables } from "oblivious-omr/tables";
import * as sender from "oblivious-omr-sender";

for (const [name, exported] of Object.entries({ Recipient, Tables, Server: sender.Server })) {
  if (typeof exported !== "function") throw new Error(`expected the class ${name}, found ${exported}`);
}
for (const name of ["oblivious-omr", "oblivious-omr-sender"]) {
  const files = await readdir(`node_modules/${name}`);
  for (const file of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "package.json"]) {
    if (!files.includes(file)) throw new Error(`${name}: expected ${file}, found ${files}`);
  }
}
const manifest = JSON.parse(await readFile("node_modules/oblivious-omr/package.json", "utf8"));
if (manifest.dependencies) throw new Error("oblivious-omr: expected no dependencies, as they are bundled");
const files = await readdir("node_modules/oblivious-omr/dist");
for (const file of ["omr_wasm_bg.wasm", "omr_wasm_pdq_bg.wasm", "LICENSES.txt"]) {
  if (!files.includes(file)) throw new Error(`oblivious-omr: expected ${file}, found ${files}`);
}
