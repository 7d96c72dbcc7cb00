// Who asks a server's tables, in a worker: secret and rows never reach the network.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { type ListTablesResponse, PdqService } from "./gen/omr/v1/pdq_pb.js";
import { answerOf, type Pdq, sendFile, stopping } from "./parts.js";
import type { Answer, Asking, Listing, Plan, Problem, Schema, SeenQuery, TablesOptions } from "./query.js";
import { patiently, transport } from "./calls.js";
import type { Bytes } from "./types.js";
import { hash, Keys, Plan as Planned, Question, Set as ParamSet, Table } from "./wasm/omr_wasm_pdq.js";

/** What was asked for, or why there is none: errors lose their fields on the way between threads. */
export type Outcome<T> = { value: T } | { problem: Problem };

/** A secret, and the server's name for its key. */
interface Pair {
  keys: Keys;
  hash: Bytes | undefined;
}

/** Bytes that leave the module's memory at once. */
const PIECE = 1 << 20;

export class Asker {
  readonly #pdq: Pdq;
  readonly #insecure: boolean;
  readonly #seen: (seen: SeenQuery) => void;
  readonly #tables = new Map<string, Table>();
  readonly #sets = new Map<string, ParamSet>();
  readonly #pairs = new Map<string, Pair>();
  #server: ListTablesResponse | undefined;

  constructor({ server, token, insecure }: TablesOptions, seen: (seen: SeenQuery) => void) {
    this.#pdq = createClient(PdqService, transport(server, token));
    this.#insecure = insecure ?? false;
    this.#seen = seen;
  }

  async list(): Promise<Outcome<Listing[]>> {
    return await outcome(async () => {
      const { tables } = await this.#known();
      return tables.map(({ name, rows, columns }) => ({ name, rows: Number(rows), columns }));
    });
  }

  async schema(table: string): Promise<Outcome<Schema>> {
    return await outcome(async () => {
      const found = await this.#table(table);
      const { name, rows, encrypted } = found;
      const columns = found.columns().map(({ name, kind, nullable, least, most }) => ({ name, kind, nullable, least, most }));
      return { name, rows, encrypted, columns };
    });
  }

  async plan(table: string, sql: string): Promise<Outcome<Plan>> {
    return await outcome(async () => {
      const plan = await this.#planned(table, sql);
      const { shape, bound, queryBytes, answerBytes } = plan;
      const { paramsIds, transformSeconds, threads } = await this.#known();
      const transform = transformSeconds[paramsIds.indexOf(plan.params)] ?? 0;
      return {
        shape,
        params: plan.params,
        bound,
        bytesUp: queryBytes,
        bytesDown: answerBytes,
        seconds: plan.seconds(transform) / Math.max(1, threads),
        keyBytes: this.#pairs.get(plan.params)?.hash === undefined ? plan.keyBytes : 0,
      };
    });
  }

  async ask(table: string, sql: string, tell: (progress: Asking) => void, signal?: AbortSignal): Promise<Outcome<Answer>> {
    return await outcome(async () => {
      const plan = await this.#planned(table, sql);
      const pair = this.#pair(plan.params);
      pair.hash ??= await this.#sendKey(pair, tell, signal);
      const question = plan.encrypt(pair.keys) as Bytes;
      const start = performance.now();
      const answer = await this.#answer(table, plan, pair, question, tell, signal);
      const rows = plan.decode(pair.keys, answer);
      const numbers = rows.numbers();
      return {
        columns: rows.columns(),
        numbers: numbers && [...numbers],
        rows: Array.from({ length: rows.length }, (_, at) => rows.row(at) as (string | undefined)[]),
        csv: new Uint8Array(rows.csv()),
        bytesUp: question.length,
        bytesDown: answer.length,
        seconds: (performance.now() - start) / 1000,
      };
    });
  }

  async #known(): Promise<ListTablesResponse> {
    if (this.#server === undefined) {
      this.#seen({ what: "tables" });
      this.#server = await patiently(() => this.#pdq.listTables({}), undefined);
    }
    return this.#server;
  }

  async #table(name: string): Promise<Table> {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    this.#seen({ what: "schema", table: name });
    const { schemaJson } = await patiently(() => this.#pdq.getSchema({ table: name }), undefined);
    const table = new Table(schemaJson);
    this.#tables.set(name, table);
    return table;
  }

  #set(name: string): ParamSet {
    const set = this.#sets.get(name) ?? ParamSet.named(name, this.#insecure);
    this.#sets.set(name, set);
    return set;
  }

  #pair(params: string): Pair {
    const pair = this.#pairs.get(params) ?? { keys: Keys.generate(this.#set(params)), hash: undefined };
    this.#pairs.set(params, pair);
    return pair;
  }

  /** The plan with the first of the server's sets that has room for it. */
  async #planned(table: string, sql: string): Promise<Planned> {
    const found = await this.#table(table);
    if (found.encrypted) throw problem("plan", "Only who has the keys of an encrypted table can ask it: `omr pdq query`.");
    const question = new Question(found, sql);
    let last: unknown;
    for (const params of (await this.#known()).paramsIds) {
      try {
        return question.plan(this.#set(params));
      } catch (error) {
        if (!isDepth(error)) throw error;
        last = error;
      }
    }
    throw last ?? problem("tables", "The server has no parameter set.");
  }

  /** The answer's file. A key that the server forgot is sent again. */
  async #answer(
    table: string,
    plan: Planned,
    pair: Pair,
    question: Bytes,
    tell: (progress: Asking) => void,
    signal: AbortSignal | undefined,
  ): Promise<Bytes> {
    for (let again = true; ; again = false) {
      const keyHash = (pair.hash ??= await this.#sendKey(pair, tell, signal));
      const queryHash = new Uint8Array(hash(question));
      try {
        return await patiently(async () => {
          const sent = (done: number) => tell({ stage: "sending", what: "question", done, total: question.length });
          await sendFile(this.#pdq, new Blob([question]), queryHash, sent, signal);
          const { shape, bound } = plan;
          this.#seen({ what: "question", table, shape, bound, bytes: question.length });
          const answer = await answerOf(this.#pdq.ask({ table, keyHash, queryHash }, stopping(signal)), tell);
          this.#seen({ what: "answer", bytes: answer.length });
          return answer;
        }, signal);
      } catch (error) {
        if (!again || ConnectError.from(error).code !== Code.NotFound) throw error;
        pair.hash = undefined;
      }
    }
  }

  async #sendKey({ keys }: Pair, tell: (progress: Asking) => void, signal: AbortSignal | undefined): Promise<Bytes> {
    tell({ stage: "making", what: "key", done: 0, total: 1 });
    const pieces: Blob[] = [];
    const made = keys.makeKey(PIECE, (piece: Bytes) => pieces.push(new Blob([piece])));
    const [file, keyHash] = [new Blob(pieces), new Uint8Array(made.hash)];
    const sent = (done: number) => {
      this.#seen({ what: "key", done, total: file.size });
      tell({ stage: "sending", what: "key", done, total: file.size });
    };
    await sendFile(this.#pdq, file, keyHash, sent, signal);
    await patiently(() => this.#pdq.keepKey({ keyHash }, stopping(signal)), signal);
    return keyHash;
  }
}

function problem(kind: Problem["kind"], message: string): Error {
  return Object.assign(new Error(message), { kind });
}

function isDepth(error: unknown): boolean {
  return error instanceof Error && "kind" in error && error.kind === "depth";
}

async function outcome<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.Unimplemented) {
      return { problem: { kind: "tables", message: "This server has no tables." } };
    }
    const { message, kind = "other", from, to, found } = error as Partial<Problem>;
    const places = Object.entries({ from, to, found }).filter(([, value]) => value !== undefined);
    return { problem: { kind, message: message ?? String(error), ...Object.fromEntries(places) } };
  }
}
