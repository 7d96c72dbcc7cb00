// What the page keeps beside the recipient: when it visits, and when her address was published.

export interface Settings {
  /** Minutes between two visits. */
  minutes: number;
  /** Seconds after the hour at which they are counted, so that not everybody comes at once. */
  offset: number;
}

export const EVERY = [1, 5, 15, 60] as const;
const NAME = "omr-mail";

/** What is kept, whatever it is. */
function found(): Partial<Settings> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

export function settings(): Settings {
  const kept = found();
  const minutes = EVERY.find((one) => one === kept.minutes) ?? 5;
  const { offset } = kept;
  if (typeof offset === "number" && offset >= 0 && offset < 3600) return { minutes, offset };
  const fresh = { minutes, offset: (crypto.getRandomValues(new Uint16Array(1))[0] ?? 0) % 3600 };
  keep(fresh);
  return fresh;
}

export function keep(settings: Settings): void {
  localStorage.setItem(NAME, JSON.stringify(settings));
}

const PUBLISHED = "omr-mail-published";
/** Servers forget addresses that nobody publishes again, after 90 days by default. */
const STALE = 30 * 86_400_000;

/** Whether her address is to be published again. */
export function isStale(now: number): boolean {
  return !(now - Number(localStorage.getItem(PUBLISHED)) < STALE);
}

export function notePublished(now: number): void {
  localStorage.setItem(PUBLISHED, String(now));
}

/** The next visit after a moment, both in milliseconds: a function of clock and settings alone. */
export function nextVisit(now: number, { minutes, offset }: Settings): number {
  const [step, first] = [minutes * 60_000, offset * 1000];
  return (Math.floor((now - first) / step) + 1) * step + first;
}
