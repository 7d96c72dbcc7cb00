// A recipient of oblivious messages, for pages.
import { proxy, type Remote, wrap } from "comlink";
import type { Core } from "./core.js";
import { DATABASE, Store } from "./store.js";
import type { About, Bytes, Fetched, KeptRange, Letter, Listed, Options, Progress, Seen, Sent, Waiting } from "./types.js";
import type { RecipientWorker } from "./worker.js";

export type { About, Bytes, Fetched, KeptRange, Letter, Listed, Options, Progress, Seen, Sent, Waiting } from "./types.js";

/** A recipient. Her secret, her keys and all arithmetic stay in a worker. */
export class Recipient {
  /** Her short address, to give to everybody. */
  readonly address: string;
  /** Whether her address has the key that verifies her signatures; those of older versions have none. */
  readonly signs: boolean;
  readonly #worker: Worker;
  readonly #core: Remote<Core>;

  private constructor(worker: Worker, core: Remote<Core>, address: string, signs: boolean) {
    this.#worker = worker;
    this.#core = core;
    this.address = address;
    this.signs = signs;
  }

  /** The server of the recipient that a database keeps; nothing where it has none. */
  static async server(database: string = DATABASE): Promise<string | undefined> {
    const store = await Store.open(database);
    const kept = await store.load();
    store.close();
    return kept?.server;
  }

  /** Opens the recipient of a database, or makes one; `seen` is told what servers see of each call. */
  static async open(options: Options, seen: (seen: Seen) => void = () => {}): Promise<Recipient> {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name: "omr" });
    try {
      const core = (await wrap<RecipientWorker>(worker).open(options, proxy(seen))) as unknown as Remote<Core>;
      return new Recipient(worker, core, await core.address(), await core.signs());
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  /** Whether the server has her keys. */
  async ready(): Promise<boolean> {
    return await this.#core.ready();
  }

  /** Makes and sends her keys and publishes her address; goes on where it ended when the page was closed. */
  async register(progress: (progress: Progress) => void = () => {}): Promise<void> {
    await this.#core.register(proxy(progress));
  }

  /** Sends a text or a file to a short address. A server sees the same whatever is stated about it. */
  async send(to: string, content: string | Uint8Array, name?: string, about: About = {}): Promise<Sent> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return await this.#core.send(to, new Uint8Array(bytes) as Bytes, name, about);
  }

  /**
   * Asks for all that is new and takes it in. The server sees when: call it on a schedule that does not depend on what
   * came before, or on what its reader does.
   */
  async fetch(progress: (progress: Progress) => void = () => {}): Promise<Fetched> {
    return await this.#core.fetch(proxy(progress));
  }

  /** Her letters, oldest first. Nothing leaves the device. */
  async letters(): Promise<Listed[]> {
    return await this.#core.letters();
  }

  /** Ranges of the board whose digests gave no letters, and that did not come since. Nothing leaves the device. */
  async keptRanges(): Promise<KeptRange[]> {
    return await this.#core.keptRanges();
  }

  /**
   * Has the next fetch ask once more for ranges that were damaged, and gives their number. The server sees that: call it
   * because a person wants it, and never by itself.
   */
  async retryDamaged(): Promise<number> {
    return await this.#core.retryDamaged();
  }

  /** Messages that were found and that later fetches bring. Nothing leaves the device. */
  async waiting(): Promise<Waiting> {
    return await this.#core.waiting();
  }

  /** A letter by its number, which counts as read from now on. */
  async read(number: number): Promise<Letter> {
    return await this.#core.read(number);
  }

  /** Removes a letter; later fetches do not bring it back. Nothing leaves the device. */
  async delete(number: number): Promise<void> {
    await this.#core.delete(number);
  }

  /** Has all letters of a sender, a short address, count as read: those that are here and those to come. */
  async mute(sender: string): Promise<void> {
    await this.#core.mute(sender);
  }

  /** Ends that. Whether the sender was muted. */
  async unmute(sender: string): Promise<boolean> {
    return await this.#core.unmute(sender);
  }

  /** The short addresses of muted senders, without their servers. */
  async muted(): Promise<string[]> {
    return await this.#core.muted();
  }

  /** Her file `secret.key`, as `omr decode` reads it: whoever gets it is her. */
  async secret(): Promise<Uint8Array> {
    return await this.#core.secret();
  }

  /** A file of herself for another device, under her passphrase: her secret, server and keys, and no letters. */
  async file(): Promise<Bytes> {
    return await this.#core.file();
  }

  /** Ends the worker, and with it all memory that had her secret. */
  async close(): Promise<void> {
    await this.#core.close();
    this.#worker.terminate();
  }
}
