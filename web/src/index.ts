// A recipient of oblivious messages, for pages.
import { proxy, type Remote, wrap } from "comlink";
import type { Calls, Core } from "./core.js";
import { Database, DATABASE } from "./database.js";
import { stoppable } from "./errors.js";
import { Recipient as Anywhere } from "./recipient.js";
import { passSignals } from "./signals.js";
import type { BrowserOptions, Seen } from "./types.js";
import type { RecipientWorker } from "./worker.js";

export { RecipientError } from "./errors.js";
export type {
  About, BrowserOptions, Bytes, Fetched, KeptRange, Letter, Listed, Options, Progress, Seen, Sent, Waiting,
} from "./types.js";

/** A recipient in a browser. Her secret, her keys and all arithmetic stay in a worker. */
export class Recipient extends Anywhere {
  private constructor(worker: Worker, core: Calls, address: string, signs: boolean) {
    super(core, address, signs, () => worker.terminate());
  }

  /** The server of the recipient that a database keeps; nothing where it has none. */
  static async server(database: string = DATABASE): Promise<string | undefined> {
    const store = await Database.open(database);
    const kept = await store.load();
    store.close();
    return kept?.server;
  }

  /** Opens the recipient of a database, or makes one; `seen` receives each call as the server sees it. */
  static async open(options: BrowserOptions, seen: (seen: Seen) => void = () => {}, signal?: AbortSignal): Promise<Recipient> {
    if (typeof Worker === "undefined") {
      throw new Error("expected a browser, with workers, found another system: Node has oblivious-omr/node");
    }
    passSignals();
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name: "omr" });
    try {
      return await stoppable(async () => {
        const opened = await wrap<RecipientWorker>(worker).open(options, proxy(seen), signal);
        const core = opened as unknown as Remote<Core> & Calls;
        return new Recipient(worker, core, await core.address(), await core.signs());
      }, signal);
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }
}
