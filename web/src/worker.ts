// The worker in which a recipient lives.
import { expose, proxy } from "comlink";
import { Core } from "./core.js";
import type { Options, Seen } from "./types.js";
import init from "./wasm/omr_wasm.js";

const worker = {
  async open(options: Options, seen: (seen: Seen) => void) {
    await init({ module_or_path: new URL("omr_wasm_bg.wasm", import.meta.url) });
    return proxy(await Core.open(options, seen));
  },
};

export type RecipientWorker = typeof worker;

expose(worker);
