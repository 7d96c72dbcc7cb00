// Private queries of a server's tables, for pages.
import { proxy, type Remote, wrap } from "comlink";
import type { Asker, Outcome } from "./asker.js";
import type { AskingWorker } from "./asking.js";
import { passSignals } from "./signals.js";
import type { Answer, Asking, Listing, Plan, Problem, Schema, SeenQuery, TablesOptions } from "./query.js";

export type { Answer, Asking, Column, Listing, Plan, Problem, Schema, SeenQuery, TablesOptions } from "./query.js";

/** Why a question cannot be asked, or gave no rows. */
export class QueryError extends Error implements Problem {
  override name = "QueryError";
  readonly kind: Problem["kind"];
  readonly from?: number;
  readonly to?: number;
  readonly found?: number;

  constructor({ message, kind, ...rest }: Problem) {
    super(message);
    this.kind = kind;
    Object.assign(this, rest);
  }
}

/** The tables of a server. Keys, plans and all arithmetic stay in a worker. */
export class Tables {
  readonly #worker: Worker;
  readonly #asker: Remote<Asker>;

  private constructor(worker: Worker, asker: Remote<Asker>) {
    this.#worker = worker;
    this.#asker = asker;
  }

  /** Loads the module; `seen` receives each call as the server sees it. */
  static async open(options: TablesOptions, seen: (seen: SeenQuery) => void = () => {}): Promise<Tables> {
    passSignals();
    const worker = new Worker(new URL("asking.js", import.meta.url), { type: "module", name: "omr-queries" });
    try {
      const asker = (await wrap<AskingWorker>(worker).open(options, proxy(seen))) as unknown as Remote<Asker>;
      return new Tables(worker, asker);
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  /** Its tables. A `QueryError` of the kind `tables` where it has none. */
  async list(): Promise<Listing[]> {
    return value(await this.#asker.list());
  }

  /** What is public about a table. */
  async schema(table: string): Promise<Schema> {
    return value(await this.#asker.schema(table));
  }

  /** What a question would be; a `QueryError` for a text that is none. Nothing but the schema is asked for. */
  async plan(table: string, sql: string): Promise<Plan> {
    return value(await this.#asker.plan(table, sql));
  }

  /**
   * Asks, with a new key at the first time. A `QueryError` of the kind `overflow` says how many rows match. A signal
   * has the server stop to work on it; its reason is then the error.
   */
  async ask(
    table: string,
    sql: string,
    progress: (progress: Asking) => void = () => {},
    signal?: AbortSignal,
  ): Promise<Answer> {
    const answer = await this.#asker.ask(table, sql, proxy(progress), signal);
    if ("problem" in answer) signal?.throwIfAborted();
    return value(answer);
  }

  /** Ends the worker, and with it all memory that had the secret: what is asked later is not linked to what was before. */
  close(): void {
    this.#worker.terminate();
  }
}

function value<T>(outcome: Outcome<T>): T {
  if ("problem" in outcome) throw new QueryError(outcome.problem);
  return outcome.value;
}
