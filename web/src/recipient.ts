// A recipient, in this thread or in a worker.
import { proxy } from "comlink";
import type { Calls } from "./core.js";
import { RecipientError, stoppable } from "./errors.js";
import type { About, Bytes, Fetched, KeptRange, Letter, Listed, Progress, Sent, Waiting } from "./types.js";

/** The longest wait that timers can do, in milliseconds. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** A recipient of letters. Failed calls throw a `RecipientError`, stopped ones the reason of their signal. */
export class Recipient {
  /** The short address, which can be given to everybody. */
  readonly address: string;
  /** Whether the address has a key that verifies signatures. */
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

  /** Returns whether the server has the detection keys. */
  async ready(): Promise<boolean> {
    return await this.#ask((core) => core.ready());
  }

  /** Makes and sends the detection keys and publishes the address. The next call continues an interrupted one. */
  async register(progress: (progress: Progress) => void = () => {}, signal?: AbortSignal): Promise<void> {
    await this.#ask((core) => core.register(proxy(progress), signal), signal);
  }

  /**
   * Sends a text or a file to a short address. The server sees the same whatever `about` contains. Messages that were
   * posted before the signal stay on the board.
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
   * Fetches all new letters. The server sees the time of the call: call it on a schedule that does not
   * depend on letters or on what a person does, as `watch` does. After a signal the next fetch continues.
   */
  async fetch(progress: (progress: Progress) => void = () => {}, signal?: AbortSignal): Promise<Fetched> {
    return await this.#ask((core) => core.fetch(proxy(progress), signal), signal);
  }

  /**
   * Fetches now and at multiples of an interval, and returns each new letter. The times do not depend on letters or on
   * the body of the loop. A server that does not answer is asked again at the next time. The signal, other errors and
   * the end of the loop end the fetching.
   */
  async *watch(seconds: number, signal?: AbortSignal): AsyncGenerator<Listed, never, undefined> {
    if (!(seconds > 0 && seconds <= LONGEST_WAIT / 1000)) {
      throw new RangeError(`expected at most ${LONGEST_WAIT / 1000} and more than 0 seconds, found ${seconds}`);
    }
    signal?.throwIfAborted();
    const known = new Set((await this.letters()).map(({ number }) => number));
    const over = new AbortController();
    const either = AbortSignal.any(signal === undefined ? [over.signal] : [signal, over.signal]);
    const ended: { by?: { error: unknown } } = {};
    let wake = () => {};
    const fetching = this.#fetchEvery(seconds * 1000, either, () => wake()).catch((error: unknown) => {
      ended.by = { error };
      wake();
    });
    try {
      for (;;) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        for (const letter of await this.letters()) {
          if (known.has(letter.number)) continue;
          known.add(letter.number);
          yield letter;
        }
        if (ended.by !== undefined) throw ended.by.error;
        await woken;
      }
    } finally {
      over.abort();
      await fetching;
    }
  }

  /** Fetches at multiples of an interval until the signal, whose reason is thrown. */
  async #fetchEvery(milliseconds: number, signal: AbortSignal, fetched: () => void): Promise<never> {
    for (let next = Date.now(); ; next += milliseconds * Math.max(1, Math.ceil((Date.now() - next) / milliseconds))) {
      await until(next, signal);
      // Each fetch has a signal of its own, which does not keep what listens to it beyond the fetch.
      const own = new AbortController();
      const stop = () => own.abort(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      try {
        await this.fetch(undefined, own.signal);
      } catch (error) {
        if (!(error instanceof RecipientError && error.kind === "unreached")) throw error;
      } finally {
        signal.removeEventListener("abort", stop);
      }
      fetched();
    }
  }

  /** Returns all letters, oldest first. Nothing leaves the device. */
  async letters(): Promise<Listed[]> {
    return await this.#ask((core) => core.letters());
  }

  /** Returns ranges of the board whose letters could not be decoded yet. Nothing leaves the device. */
  async keptRanges(): Promise<KeptRange[]> {
    return await this.#ask((core) => core.keptRanges());
  }

  /**
   * Makes the next fetch ask again for damaged ranges, and returns their number. The server sees that: call it if a
   * person wants it, never automatically.
   */
  async retryDamaged(): Promise<number> {
    return await this.#ask((core) => core.retryDamaged());
  }

  /** Returns how many messages were found that later fetches bring. Nothing leaves the device. */
  async waiting(): Promise<Waiting> {
    return await this.#ask((core) => core.waiting());
  }

  /** Returns a letter by its number, and marks it as read. */
  async read(number: number): Promise<Letter> {
    return await this.#ask((core) => core.read(number));
  }

  /** Removes a letter; later fetches do not bring it back. Nothing leaves the device. */
  async delete(number: number): Promise<void> {
    await this.#ask((core) => core.delete(number));
  }

  /** Marks all present and future letters of a sender, a short address, as read. */
  async mute(sender: string): Promise<void> {
    await this.#ask((core) => core.mute(sender));
  }

  /** Ends the muting of a sender. Returns whether the sender was muted. */
  async unmute(sender: string): Promise<boolean> {
    return await this.#ask((core) => core.unmute(sender));
  }

  /** Returns the short addresses of muted senders, without their servers. */
  async muted(): Promise<string[]> {
    return await this.#ask((core) => core.muted());
  }

  /** Returns the secret key as the file `secret.key` that `omr decode` reads. Its owner can read all letters. */
  async secret(): Promise<Uint8Array> {
    return await this.#ask((core) => core.secret());
  }

  /** Returns a file for another device, encrypted with the passphrase: secret, server and keys, without letters. */
  async file(): Promise<Bytes> {
    return await this.#ask((core) => core.file());
  }

  /** Erases the secret from memory. In a browser this ends the worker. */
  async close(): Promise<void> {
    await this.#ask((core) => core.close());
    this.#end();
  }
}

/** Waits until a time in milliseconds since 1970, and throws the signal's reason if it comes first. */
async function until(time: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, Math.max(0, time - Date.now()));
    signal.addEventListener("abort", stop, { once: true });
  });
}
