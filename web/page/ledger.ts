// What happened, as the server saw it beside what it was: every line is of calls that were made.
import type { Seen } from "../src/index.js";

/** What a person did, or the page for her. */
export type Deed = "keys" | "visit" | "letter";

export interface Entry {
  id: number;
  at: Date;
  deed: Deed;
  seen: Seen[];
  /** What it was for her, once it is known. */
  outcome: string | undefined;
  /** Letters that a visit brought. */
  fresh: number | undefined;
}

export interface Ledger {
  /** Newest first. */
  entries: Entry[];
  /** Messages on the board, and the bytes of each, as the server told last. */
  board: { messages: number; bytes: number } | undefined;
}

export const EMPTY: Ledger = { entries: [], board: undefined };

export type Change =
  | { do: "begin"; deed: Deed; at: Date }
  | { do: "see"; seen: Seen }
  | { do: "end"; deed: Deed; outcome: string; fresh?: number };

/** Entries that are shown. */
const MOST = 30;

export function changed(ledger: Ledger, change: Change): Ledger {
  switch (change.do) {
    case "begin": {
      const id = (ledger.entries[0]?.id ?? 0) + 1;
      const entry = { id, at: change.at, deed: change.deed, seen: [], outcome: undefined, fresh: undefined };
      return { ...ledger, entries: [entry, ...ledger.entries].slice(0, MOST) };
    }
    case "see": {
      const { seen } = change;
      const entries = within(ledger.entries, deedOf(seen), (entry) => ({ ...entry, seen: added(entry.seen, seen) }));
      return { entries, board: boardAfter(ledger.board, seen) };
    }
    case "end": {
      const { deed, outcome, fresh } = change;
      return { ...ledger, entries: within(ledger.entries, deed, (entry) => ({ ...entry, outcome, fresh })) };
    }
  }
}

/** Changes the newest entry of a deed that goes on. */
function within(entries: Entry[], deed: Deed | undefined, change: (entry: Entry) => Entry): Entry[] {
  const at = entries.findIndex((entry) => entry.deed === deed && entry.outcome === undefined);
  return entries.map((entry, i) => (i === at ? change(entry) : entry));
}

function deedOf(seen: Seen): Deed | undefined {
  switch (seen.what) {
    case "key":
    case "published":
      return "keys";
    case "post":
    case "asked":
      return "letter";
    case "request":
    case "scan":
    case "query":
    case "digest":
      return "visit";
    case "other":
      return seen.call === "GetBoard" || seen.call === "GetSeeds" ? "visit" : undefined;
    case "board":
      return undefined;
  }
}

/** A further piece of a key takes the place of the one before. */
function added(all: Seen[], seen: Seen): Seen[] {
  const others = seen.what === "key" ? all.filter((one) => one.what !== "key" || one.key !== seen.key) : all;
  return [...others, seen];
}

function boardAfter(board: Ledger["board"], seen: Seen): Ledger["board"] {
  if (seen.what === "board") return { messages: seen.messages, bytes: seen.bytes };
  if (seen.what === "post") return { messages: (board?.messages ?? 0) + seen.messages, bytes: seen.bytes };
  return board;
}
