// A recipient, wherever her core is. Calls that take a signal are rejected with its reason, other errors are of one class.
import { proxy } from "comlink";
import type { Calls } from "./core.js";
import { stoppable } from "./errors.js";
import type { About, Bytes, Fetched, KeptRange, Letter, Listed, Progress, Sent, Waiting } from "./types.js";

/** A recipient. Her errors are `RecipientError`; calls that a signal stopped throw its reason. */
export class Recipient {
  /** Her short address, to give to everybody. */
  readonly address: string;
  /** Whether her address has the key that verifies her signatures; those of older versions have none. */
  readonly signs: boolean;
  readonly #core: Calls;
  readonly #end: () => void;

  /** @internal */
  protected constructor(core: Calls, address: string, signs: boolean, end: () => void) {
    this.#core = core;
    this.address = address;
    this.signs = signs;
    this.#end = end;
  }

  async #ask<T>(call: (core: Calls) => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    return await stoppable(async () => await call(this.#core), signal);
  }

  /** Whether the server has her keys. */
  async ready(): Promise<boolean> {
    return await this.#ask((core) => core.ready());
  }

  /** Makes and sends her keys and publishes her address; goes on where it ended when the page was closed. */
  async register(progress: (progress: Progress) => void = () => {}, signal?: AbortSignal): Promise<void> {
    await this.#ask((core) => core.register(proxy(progress), signal), signal);
  }

  /**
   * Sends a text or a file to a short address. A server sees the same whatever is stated about it. Messages that were
   * posted before the signal stay.
   */
  async send(
    to: string,
    content: string | Uint8Array,
    name?: string,
    about: About = {},
    signal?: AbortSignal,
  ): Promise<Sent> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return await this.#ask((core) => core.send(to, new Uint8Array(bytes) as Bytes, name, about, signal), signal);
  }

  /**
   * Asks for all that is new and takes it in. The server sees when: call it on a schedule that does not depend on what
   * came before, or on what its reader does. After a signal the next fetch goes on where this one was.
   */
  async fetch(progress: (progress: Progress) => void = () => {}, signal?: AbortSignal): Promise<Fetched> {
    return await this.#ask((core) => core.fetch(proxy(progress), signal), signal);
  }

  /** Her letters, oldest first. Nothing leaves the device. */
  async letters(): Promise<Listed[]> {
    return await this.#ask((core) => core.letters());
  }

  /** Ranges of the board whose digests gave no letters, and that did not come since. Nothing leaves the device. */
  async keptRanges(): Promise<KeptRange[]> {
    return await this.#ask((core) => core.keptRanges());
  }

  /**
   * Has the next fetch ask once more for ranges that were damaged, and gives their number. The server sees that: call it
   * because a person wants it, and never by itself.
   */
  async retryDamaged(): Promise<number> {
    return await this.#ask((core) => core.retryDamaged());
  }

  /** Messages that were found and that later fetches bring. Nothing leaves the device. */
  async waiting(): Promise<Waiting> {
    return await this.#ask((core) => core.waiting());
  }

  /** A letter by its number, which counts as read from now on. */
  async read(number: number): Promise<Letter> {
    return await this.#ask((core) => core.read(number));
  }

  /** Removes a letter; later fetches do not bring it back. Nothing leaves the device. */
  async delete(number: number): Promise<void> {
    await this.#ask((core) => core.delete(number));
  }

  /** Has all letters of a sender, a short address, count as read: those that are here and those to come. */
  async mute(sender: string): Promise<void> {
    await this.#ask((core) => core.mute(sender));
  }

  /** Ends that. Whether the sender was muted. */
  async unmute(sender: string): Promise<boolean> {
    return await this.#ask((core) => core.unmute(sender));
  }

  /** The short addresses of muted senders, without their servers. */
  async muted(): Promise<string[]> {
    return await this.#ask((core) => core.muted());
  }

  /** Her file `secret.key`, as `omr decode` reads it: whoever gets it is her. */
  async secret(): Promise<Uint8Array> {
    return await this.#ask((core) => core.secret());
  }

  /** A file of herself for another device, under her passphrase: her secret, server and keys, and no letters. */
  async file(): Promise<Bytes> {
    return await this.#ask((core) => core.file());
  }

  /** Ends all memory that had her secret; in a browser, with its worker. */
  async close(): Promise<void> {
    await this.#ask((core) => core.close());
    this.#end();
  }
}
