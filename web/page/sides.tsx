// What the server sees beside what she sees.
import type { Seen } from "../src/index.js";
import type { Desk } from "./desk.js";
import type { Entry } from "./ledger.js";
import { perSquare, Picture } from "./pictures.js";
import { clock, grouped, several, size } from "./words.js";

type Of<What> = Extract<Seen, { what: What }>;

export function Sides({ desk }: { desk: Desk }) {
  const { ledger } = desk;
  const messages = ledger.board?.messages ?? 0;
  return (
    <aside aria-labelledby="sides">
      <h2 id="sides">Both sides</h2>
      <div class="pair">
        <Theirs desk={desk} messages={messages} />
        <Yours desk={desk} messages={messages} />
      </div>
      <p class="legend">
        <span class="key asked">asked for at the last visit</span> <span class="key mine">of a letter to you</span>{" "}
        <span class="key sent">from you</span>
        {perSquare(messages) > 1 && <> Each square stands for {perSquare(messages)} posts.</>}
      </p>
      <Log entries={ledger.entries} />
      <details>
        <summary>What else the server sees</summary>
        <p>
          When you call, and your network address, as with every server. That all visits with your keys are of one
          person. Where you look up an address to write to, that somebody at your network address asked for it. A visit
          also asks once more for earlier posts, by a rule that knows nothing of letters, in case there was no room for
          all. A query is sealed and always as long, whether it asks for letters or for nothing. The server does not see
          which posts are for you, how many there are, or whether a visit brought one; so the page never does anything
          because a letter came.
        </p>
        <p>
          The page’s own scripts come from a server as well. One that gave you others could read what you read; the
          command <code>omr</code> needs no such trust.
        </p>
      </details>
    </aside>
  );
}

/** The newest visit that asked for something, and the newest that has a digest. */
function visits(entries: Entry[]): { asking: Entry | undefined; given: Entry | undefined } {
  const newest = (is: (one: Seen) => boolean) => entries.find(({ deed, seen }) => deed === "visit" && seen.some(is));
  return { asking: newest(isRange), given: newest(isOf("digest")) };
}

type Range = Of<"request" | "scan" | "query">;

function isRange(seen: Seen): seen is Range {
  return seen.what === "request" || seen.what === "scan" || seen.what === "query";
}

function isOf<What extends Seen["what"]>(what: What): (seen: Seen) => seen is Of<What> {
  return (seen): seen is Of<What> => seen.what === what;
}

/** The keys that came since the page was opened. */
function sent(entries: Entry[]): Of<"key">[] {
  return entries.flatMap(({ seen }) => seen.filter(isOf("key")));
}

interface Side {
  desk: Desk;
  messages: number;
}

function Theirs({ desk, messages }: Side) {
  const { board, entries } = desk.ledger;
  const { asking, given } = visits(entries);
  const asked = (asking?.seen ?? []).filter(isRange);
  const digests = (given?.seen ?? []).filter(isOf("digest"));
  const came = ["request", "scan", "query"].flatMap((kind) => digests.find(({ of }) => of === kind) ?? []);
  const keys = sent(entries);
  // While it works, as far as it has come.
  const { visit } = desk.busy;
  const reached = visit?.stage === "working" && visit.total > 0 ? (messages * visit.done) / visit.total : messages;
  const isAsked = (from: number, to: number) =>
    from < reached && asked.some(({ start, end }) => from < end && start < to);
  const told = board === undefined ? "Nothing yet" : `${several(messages, "post")}, each of ${size(board.bytes)}`;
  return (
    <figure class="theirs">
      <figcaption>The server sees</figcaption>
      <Picture
        messages={messages}
        mark={(from, to) => (isAsked(from, to) ? "sealed asked" : "sealed")}
        label={`${told}, none different from another, and what the server gave, closed.`}
        digest={given && 0}
        opened={false}
        keys={keys}
      />
      <p>{told}</p>
      {given === undefined ? <p>Nothing given yet</p> : came.map((digest) => <p key={digest.of}>{words(digest)}</p>)}
      {keys.length > 0 && <p>{`Keys, ${size(keys.reduce((sum, { done }) => sum + done, 0))}`}</p>}
    </figure>
  );
}

function Yours({ desk, messages }: Side) {
  const { given } = visits(desk.ledger.entries);
  const within = (places: number[], from: number, to: number) => places.some((place) => from <= place && place < to);
  const mine = desk.letters.flatMap(({ index, further }) => [index, ...further]);
  const kind = (from: number, to: number) =>
    within(mine, from, to) ? "mine" : within(desk.sent, from, to) ? "sent" : "other";
  const told = `${several(desk.letters.length, "letter")} to you${desk.sent.length > 0 ? `, ${grouped(desk.sent.length)} from you` : ""}`;
  const fresh = given?.fresh ?? 0;
  const keys = sent(desk.ledger.entries);
  return (
    <figure class="yours">
      <figcaption>You see</figcaption>
      <Picture
        messages={messages}
        mark={kind}
        label={`${told}, among ${several(messages, "post")}.`}
        digest={given && fresh}
        opened={true}
        keys={keys}
      />
      <p>{told}</p>
      <p>
        {given === undefined ? "Nothing came yet" : fresh === 0 ? "Nothing new in it" : `${grouped(fresh)} new in it`}
      </p>
      {keys.length > 0 && <p>Your secret, which stays here</p>}
    </figure>
  );
}

/** Lines of the log; older ones are of no help. */
const SHOWN = 8;

const NAMES = { keys: "Your keys are made and sent", visit: "You ask for all that is new", letter: "You write" };

function Log({ entries }: { entries: Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <table>
      <caption class="hidden">What happened, newest first</caption>
      <thead>
        <tr>
          <th scope="col">The server saw</th>
          <th scope="col">It was</th>
        </tr>
      </thead>
      <tbody>
        {entries.slice(0, SHOWN).map((entry) => (
          <tr key={entry.id}>
            <td>
              <time dateTime={entry.at.toISOString()}>{clock(entry.at)}</time>
              {lines(entry.seen).map((line) => (
                <p key={line}>{line}</p>
              ))}
            </td>
            <td>{entry.outcome ?? `${NAMES[entry.deed]}…`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What was seen, in words; what is alike is counted. */
function lines(all: Seen[]): string[] {
  const counts = new Map<string, number>();
  for (const seen of all) {
    const line = words(seen);
    if (line !== undefined) counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line}, ${count} times`));
}

const GIVEN = { request: "A digest", scan: "A scan", query: "An answer" };
const OTHERS: Record<string, string> = {
  GetBoard: "A request for the length of the board",
  GetSeeds: "A request for what every query of these posts begins with",
};

function words(seen: Seen): string | undefined {
  switch (seen.what) {
    case "post":
      return `${several(seen.messages, "post")} of ${size(seen.bytes)}${seen.messages === 1 ? "" : " each"}, for somebody`;
    case "key":
      return seen.done < seen.total
        ? `${size(seen.done)} of ${size(seen.total)} of a key`
        : `A key of ${size(seen.total)}`;
    case "request":
      return `A request to search posts ${grouped(seen.start)} to ${grouped(seen.end)} for up to ${seen.bound} letters`;
    case "scan":
      return `A request to scan posts ${grouped(seen.start)} to ${grouped(seen.end)}`;
    case "query":
      return `A sealed query of ${size(seen.bytes)} about posts ${grouped(seen.start)} to ${grouped(seen.end)}`;
    case "digest":
      return `${GIVEN[seen.of]} of ${size(seen.bytes)}`;
    case "published":
      return "An address that is published";
    case "asked":
      return "A request for the key of one address";
    case "other":
      return OTHERS[seen.call];
    case "board":
      return undefined;
  }
}
