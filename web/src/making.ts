// Detection keys, made in a worker of their own.
import { transfer, wrap } from "comlink";
import type { Maker } from "./maker.js";
import type { Made, Recipe } from "./recipe.js";

/** Makes a key without stopping this thread. The recipe's secrets go over to the worker, which wipes them. */
export async function make(recipe: Recipe, signal: AbortSignal | undefined): Promise<Made> {
  const worker = new Worker(new URL("maker.js", import.meta.url), { type: "module", name: "omr-keys" });
  try {
    const failed = new Promise<never>((_, reject) => {
      worker.onerror = (event) => reject(new Error(`the worker that makes keys ended: ${event.message}`));
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const moved = transfer(recipe, [recipe.secret.buffer, recipe.seed.buffer]);
    return await Promise.race([wrap<Maker>(worker).make(moved), failed]);
  } finally {
    worker.terminate();
  }
}
