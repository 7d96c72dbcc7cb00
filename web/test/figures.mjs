// Figures of the documents, which `cargo xtask web --real` measures.
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";

/** The file that collects the figures of all scripts; without it none is collected. */
const FILE = process.env.OMR_FIGURES;

/** Adds figures, by their names in `docs/web.json`. */
export async function collect(figures) {
  if (FILE === undefined) return;
  const [{ model }] = cpus();
  const here = { date: new Date().toISOString().slice(0, 10), cpu: model, cores: cpus().length };
  await writeFile(FILE, JSON.stringify({ ...JSON.parse(await readFile(FILE, "utf8")), ...here, ...figures }));
}
