// What questions of tables take and give.
import type { Bytes } from "./types.js";

/** Where tables are. */
export interface TablesOptions {
  /** URL of the server, such as `https://omr.example.org`. */
  server: string;
  /** Its token, where the server wants one. */
  token?: string;
  /** Takes sets for tests, which hide nothing. */
  insecure?: boolean;
}

/** A table as it is listed. */
export interface Listing {
  name: string;
  rows: number;
  columns: number;
}

/** A column. */
export interface Column {
  name: string;
  /** `boolean`, `integer`, `date`, `timestamp`, `decimal(2)`, `text(32)`. */
  kind: string;
  /** Whether values may be absent. */
  nullable: boolean;
  /** The smallest and the largest value, where there is an order. */
  least: string | undefined;
  most: string | undefined;
}

/** What is public about a table. */
export interface Schema {
  name: string;
  rows: number;
  columns: Column[];
  /** Whether the server cannot read it: only who has the keys that it was encrypted with can ask it. */
  encrypted: boolean;
}

/** What a question will be, before anything is sent. */
export interface Plan {
  /** The question as the server sees it: with `?` for each constant. */
  shape: string;
  /** The parameter set. */
  params: string;
  /** Most rows that the answer can hold: its LIMIT, else 16. */
  bound: number;
  /** Bytes of the question and of its answer. */
  bytesUp: number;
  bytesDown: number;
  /** Seconds that the server is estimated to take, if nobody else asks. */
  seconds: number;
  /** Bytes of the key that goes to the server before; nothing where it is there. */
  keyBytes: number;
}

/** How far a question is. */
export interface Asking {
  stage: "making" | "sending" | "waiting" | "working";
  /** What is made or sent: a key, or the question. */
  what: "key" | "question" | "answer";
  done: number;
  total: number;
}

/** Rows that a question found. */
export interface Answer {
  /** Names of the columns asked for. */
  columns: string[];
  /** The number of each row in the table, counted from 0; nothing where the server keeps them to itself. */
  numbers: number[] | undefined;
  /** Values as text; an absent one is undefined. */
  rows: (string | undefined)[][];
  /** All of it as a file of CSV. */
  csv: Bytes;
  /** Bytes that were sent and that came, without the key. */
  bytesUp: number;
  bytesDown: number;
  /** Seconds between sending the question and its last row. */
  seconds: number;
}

/** What a server sees of a call, beside when it is made and from which network address. */
export type SeenQuery =
  /** Somebody asks which tables there are, or for one's schema. */
  | { what: "tables" }
  | { what: "schema"; table: string }
  /** A key that comes in pieces: all questions under it are from one person. */
  | { what: "key"; done: number; total: number }
  /** A question: its shape, most rows, its bytes. */
  | { what: "question"; table: string; shape: string; bound: number; bytes: number }
  /** The answer that it gave. */
  | { what: "answer"; bytes: number };

/** What is wrong with a question. */
export interface Problem {
  /** The text is no question that the table can be asked; it needs more depth than any set of the server has; it cannot be
   * planned; more rows match than the answer can hold; the answer is no honest one; the server has no tables. */
  kind: "syntax" | "depth" | "plan" | "overflow" | "answer" | "tables" | "other";
  message: string;
  /** Where in the text it is, in units of UTF-16. */
  from?: number;
  to?: number;
  /** Rows that match. */
  found?: number;
}
