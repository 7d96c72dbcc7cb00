// The recipient as the page uses her: letters, visits, and what is told of them.
import { useCallback, useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { About, KeptRange, Listed, Progress, Recipient, Sent, Waiting } from "../src/index.js";
import type { Feed } from "./feed.js";
import { changed, EMPTY, type Change, type Ledger } from "./ledger.js";
import { isStale, nextVisit, notePublished, type Settings } from "./settings.js";
import { reason, several, short } from "./words.js";

/** What goes on. */
export interface Busy {
  keys: Progress | undefined;
  visit: Progress | undefined;
}

export interface Desk {
  letters: Listed[];
  /** Posts whose digests gave no letters. */
  kept: KeptRange[];
  /** Posts for her that were found and come later. */
  waiting: Waiting;
  ledger: Ledger;
  busy: Busy;
  /** Whether the server can look for her letters. */
  ready: boolean;
  /** Why it cannot, if it was tried. */
  stuck: string | undefined;
  /** Whether it could before, and has her keys no more. */
  lost: boolean;
  prepare(): Promise<void>;
  /** What is said aloud. */
  news: string;
  /** When the next visit is, in milliseconds since 1970. */
  next: number;
  /** Places on the board of what she sent since the page was opened. */
  sent: number[];
  send(to: string, content: string | Uint8Array, about: About, name?: string): Promise<Sent>;
  reload(): Promise<Listed[]>;
  /** Removes a letter. */
  remove(number: number): Promise<void>;
  /** Short addresses of muted senders, without their servers. */
  muted: string[];
  /** Mutes a sender, or ends that. */
  mute(sender: string, muted: boolean): Promise<void>;
  /** Has the next visit ask once more for posts whose digests were damaged. */
  retry(): Promise<void>;
}

/** What is said of keys that are made and sent. */
export function keysNews({ stage }: Progress): string {
  return stage === "making" ? "Your device makes keys" : "Your keys go to the server";
}

export function useDesk(me: Recipient, feed: Feed, settings: Settings): Desk {
  const [letters, setLetters] = useState<Listed[]>([]);
  const [kept, setKept] = useState<KeptRange[]>([]);
  const [waiting, setWaiting] = useState<Waiting>({ messages: 0, fetches: 0 });
  const [muted, setMuted] = useState<string[]>([]);
  const [ledger, tell] = useReducer<Ledger, Change>(changed, EMPTY);
  const [keys, setKeys] = useState<Progress>();
  const [visit, setVisit] = useState<Progress>();
  const [stuck, setStuck] = useState<string>();
  const [lost, setLost] = useState(false);
  const [ready, setReady] = useState(false);
  const [news, setNews] = useState("");
  const [sent, setSent] = useState<number[]>([]);
  const [next, setNext] = useState(() => nextVisit(Date.now(), settings));
  const visiting = useRef(false);

  const reload = useCallback(async () => {
    const found = await me.letters();
    setLetters(found);
    setKept(await me.keptRanges());
    setWaiting(await me.waiting());
    setMuted(await me.muted());
    return found;
  }, [me]);

  useEffect(() => {
    feed.listen((seen) => tell({ do: "see", seen }));
    void reload();
    void prepare();
    return () => feed.listen(undefined);
  }, [me]);

  // Keys are made once, and again from where they were when the page was closed; the address is published with them.
  async function prepare(): Promise<void> {
    setStuck(undefined);
    const had = await me.ready();
    setReady(had);
    if (had && !isStale(Date.now())) return;
    tell({ do: "begin", deed: "keys", at: new Date() });
    try {
      await me.register((progress) => {
        setKeys(progress);
        setNews(keysNews(progress));
      });
      tell({
        do: "end",
        deed: "keys",
        outcome: "The server can look for your letters, without learning which they are.",
      });
      notePublished(Date.now());
      setReady(true);
      if (!had) setNews("Your address is ready. The server can look for your letters.");
    } catch (error) {
      tell({ do: "end", deed: "keys", outcome: reason(error) });
      if (!had) setStuck(reason(error));
    }
    setKeys(undefined);
  }

  // One visit at the start, then at moments that the clock alone decides.
  useEffect(() => {
    if (ready) void look();
  }, [ready]);
  useEffect(() => {
    if (!ready) return;
    let timer: ReturnType<typeof setTimeout>;
    const wait = (after: number) => {
      const at = nextVisit(Math.max(after, Date.now()), settings);
      setNext(at);
      timer = setTimeout(() => (void look(), wait(at)), at - Date.now());
    };
    wait(0);
    return () => clearTimeout(timer);
  }, [ready, settings.minutes]);

  async function look(): Promise<void> {
    if (visiting.current) return;
    visiting.current = true;
    setVisit({ stage: "waiting", what: "queue", done: 0, total: 0 });
    tell({ do: "begin", deed: "visit", at: new Date() });
    let [outcome, fresh] = ["", 0];
    try {
      const before = new Set((await me.letters()).map(({ number }) => number));
      const { warnings } = await me.fetch(setVisit);
      // Those of muted senders are read already, and do not count as new.
      fresh = (await reload()).filter(({ number, read }) => !read && !before.has(number)).length;
      const found = fresh === 0 ? "No new letter." : `${several(fresh, "new letter")}.`;
      outcome = [...warnings.map((warning) => `Warning: ${warning}.`), found].join(" ");
    } catch (error) {
      const gone = !(await me.ready());
      outcome = `${reason(error)} ${gone ? "They are made and sent again." : "The next visit asks the same again."}`;
      setLost(gone);
      if (gone) void prepare();
    }
    tell({ do: "end", deed: "visit", outcome, fresh });
    setNews(outcome);
    setVisit(undefined);
    visiting.current = false;
  }

  async function send(to: string, content: string | Uint8Array, about: About, name?: string): Promise<Sent> {
    tell({ do: "begin", deed: "letter", at: new Date() });
    try {
      const found = await me.send(to, content, name, about);
      setSent((before) => [...before, ...found.indices.filter((index) => index !== undefined)]);
      tell({ do: "end", deed: "letter", outcome: `Your letter to ${short(to)}` });
      return found;
    } catch (error) {
      tell({ do: "end", deed: "letter", outcome: `Not sent: ${reason(error)}` });
      throw error;
    }
  }

  async function retry(): Promise<void> {
    await me.retryDamaged();
    await reload();
  }

  async function remove(number: number): Promise<void> {
    await me.delete(number);
    await reload();
  }

  async function mute(sender: string, muted: boolean): Promise<void> {
    await (muted ? me.mute(sender) : me.unmute(sender));
    await reload();
  }

  const busy = { keys, visit };
  const state = { letters, kept, waiting, muted, ledger, busy, ready, stuck, lost, news, next, sent };
  return { ...state, prepare, send, reload, remove, mute, retry };
}
