// A recipient of oblivious messages, for Node: in this thread, with a folder for what she keeps.
import { readFile } from "node:fs/promises";
import { Core } from "./core.js";
import { stoppable } from "./errors.js";
import { Folder } from "./folder.js";
import { Recipient as Anywhere } from "./recipient.js";
import { makeKey, type Recipe } from "./recipe.js";
import type { NodeOptions, Seen } from "./types.js";
import init from "./wasm/omr_wasm.js";

export { RecipientError } from "./errors.js";
export type {
  About, Bytes, Fetched, KeptRange, Letter, Listed, NodeOptions, Options, Progress, Seen, Sent, Waiting,
} from "./types.js";

/** A recipient in Node. While her keys are made and answers are opened, this thread does nothing else. */
export class Recipient extends Anywhere {
  private constructor(core: Core) {
    super(core, core.address(), core.signs(), () => {});
  }

  /** Opens the recipient of a folder, or makes one; `seen` receives what servers see of each call. */
  static async open(options: NodeOptions, seen: (seen: Seen) => void = () => {}, signal?: AbortSignal): Promise<Recipient> {
    return await stoppable(async () => {
      await init({ module_or_path: await readFile(new URL("omr_wasm_bg.wasm", import.meta.url)) });
      const store = await Folder.open(options.folder);
      try {
        return new Recipient(await Core.open(options, seen, signal, { store, make }));
      } catch (error) {
        store.close();
        throw error;
      }
    }, signal);
  }
}

async function make(recipe: Recipe): Promise<ReturnType<typeof makeKey>> {
  return makeKey(recipe);
}
