// What the page keeps beside the recipient: when it visits.

export interface Settings {
  /** Minutes between two visits. */
  minutes: number;
  /** Seconds after the hour at which they are counted, so that not everybody comes at once. */
  offset: number;
}

export const EVERY = [1, 5, 15, 60] as const;
const NAME = "omr-mail";

export function settings(): Settings {
  const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "{}");
  const found = typeof kept === "object" && kept !== null ? (kept as Partial<Settings>) : {};
  const minutes = EVERY.find((one) => one === found.minutes) ?? 5;
  const { offset } = found;
  if (typeof offset === "number" && offset >= 0 && offset < 3600) return { minutes, offset };
  const fresh = { minutes, offset: (crypto.getRandomValues(new Uint16Array(1))[0] ?? 0) % 3600 };
  keep(fresh);
  return fresh;
}

export function keep(settings: Settings): void {
  localStorage.setItem(NAME, JSON.stringify(settings));
}

/** The next visit after a moment, both in milliseconds: a function of clock and settings alone. */
export function nextVisit(now: number, { minutes, offset }: Settings): number {
  const [step, first] = [minutes * 60_000, offset * 1000];
  return (Math.floor((now - first) / step) + 1) * step + first;
}
