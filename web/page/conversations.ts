// Letters by conversation, and who wrote them.
import type { Listed } from "../src/index.js";

/** All letters, newest first: those of a conversation together, where its newest one is. */
export function conversations(letters: Listed[]): Listed[][] {
  const groups = new Map<string, Listed[]>();
  for (const letter of letters.toSorted((a, b) => b.index - a.index)) {
    // A letter of no conversation is one by itself.
    const name = letter.thread ?? String(letter.number);
    groups.set(name, [...(groups.get(name) ?? []), letter]);
  }
  return [...groups.values()];
}

/** What a conversation is about: the subject of its first letter that has one. */
export function about(letters: Listed[]): string {
  return letters.findLast(({ subject }) => subject !== undefined)?.subject ?? "no subject";
}

/** A short address without its server, as muted senders are kept. */
export function code(address: string): string {
  return address.split("@")[0] ?? address;
}

/** Who wrote a letter, as far as it proves that; nothing where it names nobody. */
export function from({ sender, forged }: Listed): string | undefined {
  if (forged) return "(forged)";
  return sender === undefined ? undefined : code(sender);
}
