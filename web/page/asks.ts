// What is asked of tables: the connection, the question as it is written, its plan, its answer.
import { useEffect, useReducer } from "preact/hooks";
import { type Answer, type Asking, type Listing, type Plan, QueryError, type Schema, type SeenQuery, Tables } from "../src/tables.js";
import { quoted } from "./completion.js";
import { reason } from "./words.js";

/** Takes sets for tests; the page that is served does not. */
declare const INSECURE_SETS: boolean;

export interface Asks {
  server: string;
  tables: Listing[] | undefined;
  table: string;
  schema: Schema | undefined;
  sql: string;
  plan: Plan | undefined;
  problem: QueryError | undefined;
  busy: Asking | undefined;
  answer: Answer | undefined;
  failure: string | undefined;
  /** What the server saw, oldest first. */
  seen: SeenQuery[];
  connect(server: string): Promise<void>;
  choose(table: string): Promise<void>;
  write(sql: string): void;
  ask(): Promise<void>;
  stop(): void;
  forget(): Promise<void>;
}

/** Milliseconds without a key before a question is planned. */
const PAUSE = 300;

type State = Omit<Asks, "connect" | "choose" | "write" | "ask" | "stop" | "forget">;

const START = {
  tables: undefined,
  table: "",
  schema: undefined,
  sql: "",
  plan: undefined,
  problem: undefined,
  busy: undefined,
  answer: undefined,
  failure: undefined,
  seen: [],
};

/** One for the page: what is asked goes on while letters are read. */
class Desk {
  state: State = { server: location.origin, ...START };
  #open: Promise<Tables> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tell: () => void = () => {};
  #stop = new AbortController();

  listen(tell: () => void): void {
    this.#tell = tell;
    if (this.#open === undefined) void this.connect(this.state.server);
  }

  #set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    this.#tell();
  }

  /** Ends what there is of an earlier connection, and with it its keys. */
  async connect(server: string): Promise<void> {
    await this.#end();
    this.state = { ...START, server };
    this.#tell();
    try {
      const insecure = INSECURE_SETS;
      const seen = (seen: SeenQuery) => this.#set({ seen: [...this.state.seen, seen] });
      this.#open = Tables.open({ server: new URL(server).origin, insecure }, seen);
      const tables = await (await this.#open).list();
      const [first] = tables;
      if (first === undefined) throw new QueryError({ kind: "tables", message: "This server has no tables." });
      this.#set({ tables });
      await this.choose(first.name);
    } catch (error) {
      this.#set({ failure: reason(error) });
    }
  }

  async #end(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.then((tables) => tables.close()).catch(() => {});
  }

  async choose(table: string): Promise<void> {
    this.#set({ table, schema: undefined, plan: undefined, problem: undefined, answer: undefined, failure: undefined });
    try {
      const schema = await (await this.#open)?.schema(table);
      if (this.state.table !== table) return;
      this.#set({ schema, sql: `SELECT * FROM ${quoted(table)} WHERE ` });
    } catch (error) {
      this.#set({ failure: reason(error) });
    }
  }

  readonly write = (sql: string): void => {
    this.#set({ sql, plan: undefined, problem: undefined });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#planned(), PAUSE);
  };

  async #planned(): Promise<void> {
    const { table, sql } = this.state;
    // Nobody has asked anything yet.
    if (/\bWHERE\s*$/i.test(sql) || sql.trim() === "") return;
    let found: Partial<State> = {};
    try {
      found = { plan: await (await this.#open)?.plan(table, sql) };
    } catch (error) {
      if (error instanceof QueryError && error.kind !== "other") found = { problem: error };
      else found = { failure: reason(error) };
    }
    if (this.state.sql === sql && this.state.table === table) this.#set(found);
  }

  async ask(): Promise<void> {
    const { table, sql, plan, busy } = this.state;
    if (plan === undefined || busy !== undefined) return;
    this.#set({ answer: undefined, failure: undefined, busy: { stage: "waiting", what: "question", done: 0, total: 0 } });
    this.#stop = new AbortController();
    try {
      const progress = (busy: Asking) => this.state.busy && this.#set({ busy });
      const answer = await (await this.#open)?.ask(table, sql, progress, this.#stop.signal);
      this.#set({ answer, plan: this.state.plan && { ...this.state.plan, keyBytes: 0 } });
    } catch (error) {
      this.#set({ failure: why(error) });
    }
    this.#set({ busy: undefined });
  }

  readonly stop = (): void => this.#stop.abort();
}

/** Why a question gave no rows. */
function why(error: unknown): string {
  if (error instanceof QueryError && error.kind === "overflow") {
    const rows = error.found ?? 0;
    return `${rows} rows match, more than the answer can hold. Ask for fewer, or put LIMIT ${rows} at the question’s end; the server sees either.`;
  }
  return error instanceof Error && error.name === "AbortError" ? "Stopped." : reason(error);
}

const desk = new Desk();

export function useAsks(): Asks {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    desk.listen(() => redraw());
    return () => desk.listen(() => {});
  }, []);
  return {
    ...desk.state,
    connect: (server) => desk.connect(server),
    choose: (table) => desk.choose(table),
    write: desk.write,
    ask: () => desk.ask(),
    stop: desk.stop,
    forget: () => desk.connect(desk.state.server),
  };
}
