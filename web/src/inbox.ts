// An inbox: the rules say which call comes next, here it is made, and what they change is kept before it.
import { Code, ConnectError } from "@connectrpc/connect";
import { fetchDigest, JobEnded, watch } from "./digest.js";
import { given, patiently, type Service } from "./service.js";
import type { Store } from "./store.js";
import type { Bytes, Fetched, KeptRange, Letter, Listed, Progress, Waiting } from "./types.js";
import { Inbox as Rules, type NextCall, Stored } from "./wasm/omr_wasm.js";
import type { Form, Identity } from "./wasm/omr_wasm.js";

/** Places of digests without a letter whose time is taken at once: a few milliseconds. */
const PLACES = 4;

export class Inbox {
  readonly #rules: Rules;
  readonly #store: Store;
  #settled: Promise<void> = Promise.resolve();
  /** Milliseconds that the rules took in this fetch, which make queries and decode. */
  #milliseconds = 0;
  /** Whether the server said in the last fetch that it has not all of her keys. */
  keyless = false;

  private constructor(rules: Rules, store: Store) {
    this.#rules = rules;
    this.#store = store;
  }

  static async open(identity: Identity, form: Form, store: Store): Promise<Inbox> {
    const records = (await store.records()).map(({ table, name, content }) => new Stored(table, name, content));
    return new Inbox(new Rules(identity, form, records), store);
  }

  /** Asks for all that is new, then decodes it: no call follows from what was found. */
  async fetch(keys: Bytes[], service: Service, tell: (progress: Progress) => void): Promise<Fetched> {
    const { signal } = service;
    await this.#settled;
    this.keyless = false;
    this.#milliseconds = 0;
    let call = this.#rules.fetch(keys);
    while (call !== undefined) {
      await this.#keep();
      signal?.throwIfAborted();
      call = await this.#answered(call, keys, service, tell);
    }
    await this.#keep();
    const warnings = this.#rules.newForks();
    let digests = 0;
    while (this.#timed(() => this.#rules.takeOne(Date.now() / 1000))) {
      digests += 1;
      await this.#keep();
      signal?.throwIfAborted();
    }
    await this.#keep();
    warnings.push(...this.#rules.newDamage().map((why) => `an answer could not be read, its letters come later: ${why}`));
    this.#settled = this.#settle();
    return { digests, milliseconds: this.#milliseconds, warnings };
  }

  #timed<T>(work: () => T): T {
    const start = performance.now();
    const done = work();
    this.#milliseconds += performance.now() - start;
    return done;
  }

  /** Is as busy as if every place of the digests had held a letter, after those that did are there. */
  async #settle(): Promise<void> {
    do await new Promise((resolve) => setTimeout(resolve));
    while (this.#rules.settle(PLACES) > 0);
  }

  list(): Listed[] {
    return this.#rules.list().map((listed) => {
      const { number, index, further, fetched, bytes, read, name, firstLine } = listed;
      const { sender, forged, thread, subject, mediaType, written, unreadable } = listed;
      const about = { sender, forged, thread, subject, mediaType, written, unreadable };
      return { number, index, further, fetched, bytes, read, name, firstLine, ...about };
    });
  }

  kept(): KeptRange[] {
    return this.#rules.kept().map((range) => {
      const { start, end, overflowed, read, fetchesLeft, fetchesExpected, askedAgain, expired, reason } = range;
      return { start, end, overflowed, read, fetchesLeft, fetchesExpected, askedAgain, expired, reason };
    });
  }

  async retryDamaged(): Promise<number> {
    const ranges = this.#rules.retryDamaged();
    await this.#keep();
    return ranges;
  }

  waiting(): Waiting {
    const { messages, fetches } = this.#rules.waiting();
    return { messages, fetches };
  }

  async read(number: number): Promise<Letter> {
    const listed = given("a letter", this.list().find((one) => one.number === number));
    this.#rules.markRead(number);
    await this.#keep();
    return { index: listed.index, name: listed.name, bytes: new Uint8Array(this.#rules.body(number)) };
  }

  async delete(number: number): Promise<void> {
    this.#rules.delete(number);
    await this.#keep();
  }

  async mute(sender: string): Promise<void> {
    this.#rules.mute(sender);
    await this.#keep();
  }

  async unmute(sender: string): Promise<boolean> {
    const was = this.#rules.unmute(sender);
    await this.#keep();
    return was;
  }

  muted(): string[] {
    return this.#rules.muted();
  }

  async #keep(): Promise<void> {
    await this.#store.change(this.#rules.changes());
  }

  async #answered(
    call: NextCall,
    keys: Bytes[],
    service: Service,
    tell: (progress: Progress) => void,
  ): Promise<NextCall | undefined> {
    let answer: () => NextCall | undefined;
    try {
      answer = await this.#perform(call, keys, service, tell);
    } catch (error) {
      // As if the page was closed: the next fetch repeats the call.
      service.signal?.throwIfAborted();
      const failure = kind(error);
      this.keyless ||= call.kind === "job" && failure === "missing";
      answer = () => this.#failed(failure, error);
    }
    return this.#timed(answer);
  }

  /** The call after one that failed; where the failure ends the fetch, its error as it came. */
  #failed(failure: string, error: unknown): NextCall | undefined {
    const said = String(error);
    try {
      return this.#rules.answerFailed(failure, said);
    } catch (fault) {
      throw fault instanceof Error && fault.message === said ? error : fault;
    }
  }

  async #prepare(): Promise<void> {
    this.#rules.prepare();
  }

  async #perform(call: NextCall, keyHashes: Bytes[], service: Service, tell: (progress: Progress) => void) {
    const { board, capabilities, detection, signal } = service;
    switch (call.kind) {
      case "board": {
        const lengths = Array.from(call.lengths);
        const answer = await patiently(() => board.getBoard({ lengths: lengths.map(BigInt) }), signal);
        const { boardId, paramsId, sealing, payloadBytes, firstIndex, messages, logHash, historyId } = given(
          "a board",
          answer.board,
        );
        const [first, end] = [Number(firstIndex), Number(messages)];
        const place = [boardId, paramsId, sealing, payloadBytes] as const;
        const log = [logHash, historyId, new Float64Array(lengths), answer.logHashes] as const;
        return () => this.#rules.answerBoard(...place, first, end, ...log);
      }
      case "limits": {
        const limits = given("limits", (await patiently(() => capabilities.getCapabilities({}), signal)).limits);
        const { digestMessages, bound, step, orders, fetchMessages } = limits;
        const [messages, fetched] = [Number(digestMessages), Number(fetchMessages)];
        return () => this.#rules.answerLimits(messages, bound, Number(step), orders, fetched);
      }
      case "seeds": {
        const range = { start: BigInt(call.start), end: BigInt(call.end) };
        const { seeds } = await patiently(() => detection.getSeeds(range), signal);
        return () => this.#rules.answerSeeds(seeds);
      }
      case "job": {
        const { id: requestId, bound, scheme, query } = call;
        const [start, end, step] = [BigInt(call.start), BigInt(call.end), BigInt(call.step)];
        const request = { requestId, keyHashes, start, end, bound, scheme, step, query };
        const { jobId, logHash } = given("a job", (await patiently(() => detection.createJob(request), signal)).job);
        return () => this.#rules.answerJob(jobId, logHash);
      }
      case "watch": {
        await Promise.all([patiently(() => watch(service, call.id, tell), signal), this.#prepare()]);
        return () => this.#rules.answerWatched();
      }
      default: {
        const digest = await fetchDigest(service, call.id);
        return () => this.#rules.answerDigest(digest);
      }
    }
  }
}

/** How a call failed, as the rules tell failures apart. */
function kind(error: unknown): string {
  if (error instanceof JobEnded) return error.kind;
  switch (ConnectError.from(error).code) {
    case Code.OutOfRange:
      return "range";
    case Code.InvalidArgument:
    case Code.Unimplemented:
      return "final";
    case Code.AlreadyExists:
      return "exists";
    case Code.NotFound:
      return "missing";
    case Code.Unavailable:
    case Code.Unknown:
    case Code.ResourceExhausted:
    case Code.DataLoss:
    case Code.DeadlineExceeded:
      return "other";
    default:
      return "refused";
  }
}
