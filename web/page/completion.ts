// What may come next in a question: names of the table, and the few words of SQL that questions have.
import type { Column } from "../src/tables.js";

/** Words by what stands before them. */
const CLAUSES = ["SELECT", "FROM", "WHERE", "LIMIT"];
const JOINS = ["AND", "OR", "NOT"];
const TESTS = ["=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL"];
const MOST = 12;

export interface Names {
  table: string;
  columns: Column[];
}

export interface Completions {
  /** Where the word begins that one of them stands for, and where it ends. */
  from: number;
  to: number;
  options: string[];
}

const NONE: Completions = { from: 0, to: 0, options: [] };

/** What the word at a place may be, or a word that is not begun yet; nothing inside of a string. */
export function completions(sql: string, at: number, { table, columns }: Names): Completions {
  const before = sql.slice(0, at);
  if ((before.match(/'/g) ?? []).length % 2 === 1) return NONE;
  const word = /"?[\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? "";
  const from = at - word.length;
  const names = columns.map(({ name }) => quoted(name));
  const typed = word.replace('"', "").toLowerCase();
  const options = candidates(sql.slice(0, from), quoted(table), names)
    .filter((option) => {
      const plain = option.replace('"', "").toLowerCase();
      return plain.startsWith(typed) && plain !== typed;
    })
    .slice(0, MOST);
  return { from, to: at, options };
}

function candidates(before: string, table: string, names: string[]): string[] {
  const words = before.toUpperCase().match(/[\p{L}\p{N}_]+|"[^"]*"|'[^']*'|[^\s]/gu) ?? [];
  const last = words.at(-1) ?? "";
  const clause = words.findLast((word) => CLAUSES.includes(word));
  if (clause === undefined) return ["SELECT"];
  if (last === "FROM") return [table];
  if (clause === "FROM") return ["WHERE"];
  if (clause === "LIMIT") return [];
  if (/[<>=]/.test(last) || ["BETWEEN", "IN", "LIKE", "ILIKE"].includes(last)) return [];
  if (last === "IS") return ["NULL", "NOT NULL"];
  const isName = names.some((name) => name.toUpperCase() === last);
  if (clause === "SELECT") {
    if (last === "SELECT") return ["*", ...names];
    return last === "," ? names : ["FROM"];
  }
  if (["WHERE", "(", ...JOINS].includes(last)) return [...names, "NOT"];
  return isName ? TESTS : ["AND", "OR", "LIMIT"];
}

/** A name as SQL has it: with quotes where it is no plain word, or one of the language's own. */
export function quoted(name: string): string {
  const isPlain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !RESERVED.has(name.toUpperCase());
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`;
}

const RESERVED = new Set([...CLAUSES, ...JOINS, "BETWEEN", "IN", "LIKE", "ILIKE", "IS", "NULL", "TRUE", "FALSE", "ORDER", "GROUP", "BY"]);
