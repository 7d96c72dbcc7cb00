// A worker that makes detection keys: it is busy for seconds, and gone with its memory afterwards.
import { expose } from "comlink";
import { type Made, makeKey, type Recipe } from "./recipe.js";
import init from "./wasm/omr_wasm.js";

const maker = {
  async make(recipe: Recipe): Promise<Made> {
    await init({ module_or_path: new URL("omr_wasm_bg.wasm", import.meta.url) });
    return makeKey(recipe);
  },
};

export type Maker = typeof maker;

expose(maker);
