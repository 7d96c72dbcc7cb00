// An open recipient: letters, writing, her address, and both sides' views beside them.
import { useEffect, useState } from "preact/hooks";
import type { Listed, Progress, Recipient } from "../src/index.js";
import { type Desk, keysNews, useDesk } from "./desk.js";
import type { Feed } from "./feed.js";
import { Inbox, Reading } from "./letters.js";
import { Part, useHash } from "./part.js";
import { Bar, Failure, Header } from "./parts.js";
import { keep, type Settings, settings as kept } from "./settings.js";
import { Sides } from "./sides.js";
import { clock } from "./words.js";
import { type Draft, EMPTY, Write } from "./write.js";
import { You } from "./you.js";

const PLACES = { letters: "Letters", write: "Write", you: "Address", tables: "Queries" } as const;
type Place = keyof typeof PLACES;

/** The place and, of a letter, its number that the address bar names. */
function named(hash: string): { place: Place; number: number | undefined } {
  const [place = "", number] = hash.slice(1).split("/");
  const known = Object.hasOwn(PLACES, place) ? (place as Place) : "letters";
  return { place: known, number: number === undefined ? undefined : Number(number) };
}

export function Mailbox({ me, feed, lock }: { me: Recipient; feed: Feed; lock: () => void }) {
  const [settings, setSettings] = useState(kept);
  const at = named(useHash());
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const desk = useDesk(me, feed, settings);
  useEffect(() => {
    document.title = at.place === "letters" ? "Letters" : `${PLACES[at.place]} – Letters`;
  }, [at.place]);
  const change = (settings: Settings) => {
    keep(settings);
    setSettings(settings);
  };
  const answer = ({ sender, thread, subject }: Listed) => {
    setDraft({ to: sender ?? "", text: "", subject: subject ?? "", thread, signed: me.signs });
    location.hash = "write";
  };
  const unread = desk.letters.filter(({ read }) => !read).length;
  return (
    <>
      <Header>
        <Visits desk={desk} />
        <button type="button" onClick={lock}>
          Lock
        </button>
      </Header>
      <nav aria-label="Places">
        {Object.entries(PLACES).map(([place, name]) => (
          <a key={place} href={`#${place}`} aria-current={at.place === place ? "page" : undefined}>
            {name}
            {place === "letters" && unread > 0 && <Count unread={unread} />}
          </a>
        ))}
      </nav>
      {at.place === "tables" ? (
        <Part />
      ) : (
        <div class={at.place === "letters" ? "desk reads" : "desk"}>
          <main>
            <Keys desk={desk} />
            {at.place === "letters" && (
              <div class={at.number === undefined ? "letter-places" : "letter-places open"}>
                <Inbox desk={desk} open={at.number} />
                {at.number === undefined ? (
                  desk.letters.length > 0 && <p class="empty pane">Choose a letter, to read it here.</p>
                ) : (
                  <Reading key={at.number} me={me} desk={desk} number={at.number} answer={answer} />
                )}
              </div>
            )}
            {at.place === "write" && <Write me={me} desk={desk} draft={draft} change={setDraft} />}
            {at.place === "you" && <You me={me} settings={settings} change={change} />}
          </main>
          <Sides desk={desk} />
        </div>
      )}
      <p class="hidden" role="status">
        {desk.news}
      </p>
    </>
  );
}

function Count({ unread }: { unread: number }) {
  return (
    <span class="count">
      {unread}
      <span class="hidden"> unread</span>
    </span>
  );
}

function Visits({ desk }: { desk: Desk }) {
  const { busy, ready, next } = desk;
  if (!ready) return <p class="visits">Getting ready</p>;
  return (
    <p class="visits">{busy.visit === undefined ? `Next visit at ${clock(new Date(next))}` : stage(busy.visit)}</p>
  );
}

function stage({ stage, what, done, total }: Progress): string {
  if (stage === "waiting") return total > 0 ? `Visiting: ${total} before you` : "Visiting the server";
  if (what === "prepare" || what === "fetch") return "The server answers a query that it cannot read";
  return `The server looks through the board: ${total > 0 ? Math.round((100 * done) / total) : 0} %`;
}

/** The keys that are made and sent, once. */
function Keys({ desk }: { desk: Desk }) {
  const { keys } = desk.busy;
  if (desk.stuck !== undefined) {
    return (
      <section class="card" aria-label="Your keys">
        <Failure text={`Your keys are not at the server yet, so it cannot look for letters. ${desk.stuck}`} />
        <button type="button" onClick={() => void desk.prepare()}>
          Try again
        </button>
      </section>
    );
  }
  if (keys === undefined) return null;
  return (
    <section class="card" aria-label="Your keys">
      <Bar label={keysNews(keys)} progress={keys} />
      <p class="hint">
        {desk.lost ? "The server has lost the keys that it had." : "Once, before the first letter."} You may write meanwhile;
        if you close the page, it goes on later.
      </p>
    </section>
  );
}
