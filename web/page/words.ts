// Figures and times as people read them.

const THIN = "\u202f";

export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** Bytes: in full below a million, as the difference of two lengths is what somebody looks for. */
export function size(bytes: number): string {
  return bytes < 1e6 ? `${grouped(bytes)} bytes` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function several(count: number, one: string, more: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : more}`;
}

export function clock(at: Date): string {
  return at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

export function day(at: Date): string {
  const date = at.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
  return `${date}, ${clock(at)}`;
}

/** A short address without its server, for places where it only has to be recognised. */
export function short(address: string): string {
  return `${address.trim().slice(0, 12)}…`;
}

export const UNREACHED = "The server cannot be reached.";

/** What went wrong, for a person. */
export function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/failed to fetch|networkerror|load failed/i.test(text)) return UNREACHED;
  // Without the code of the call before it.
  return text.replace(/^\[[a-z_]+\] /, "");
}

/** A file name as a stranger chose it, without what would hide its ending or name another folder. */
export function fileName(number: number, name: string | undefined): string {
  const kept = (name ?? "letter.bin").replace(/[\p{C}\p{Zl}\p{Zp}/\\:*?"<>|]/gu, "_").slice(-100);
  return `${number}-${kept}`;
}
