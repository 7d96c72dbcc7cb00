// The worker in which tables are asked.
import { expose, proxy } from "comlink";
import { Asker } from "./asker.js";
import { passSignals } from "./signals.js";
import type { SeenQuery, TablesOptions } from "./query.js";
import init from "./wasm/omr_wasm_pdq.js";

const worker = {
  async open(options: TablesOptions, seen: (seen: SeenQuery) => void) {
    await init({ module_or_path: new URL("omr_wasm_pdq_bg.wasm", import.meta.url) });
    return proxy(new Asker(options, seen));
  },
};

export type AskingWorker = typeof worker;

passSignals();
expose(worker);
