// The worker in which a recipient lives.
import { expose, proxy } from "comlink";
import { Core } from "./core.js";
import { Database, DATABASE } from "./database.js";
import { make } from "./making.js";
import { passSignals } from "./signals.js";
import type { BrowserOptions, Seen } from "./types.js";
import init from "./wasm/omr_wasm.js";

const worker = {
  async open(options: BrowserOptions, seen: (seen: Seen) => void, signal: AbortSignal | undefined) {
    await init({ module_or_path: new URL("omr_wasm_bg.wasm", import.meta.url) });
    const store = await Database.open(options.database ?? DATABASE);
    return proxy(await Core.open(options, seen, signal, { store, make }));
  },
};

export type RecipientWorker = typeof worker;

passSignals();
expose(worker);
