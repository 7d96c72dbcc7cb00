// Letters: all of them, and one that is read.
import { useEffect, useState } from "preact/hooks";
import type { KeptRange, Letter, Listed, Recipient, Waiting } from "../src/index.js";
import { about, code, conversations, from } from "./conversations.js";
import type { Desk } from "./desk.js";
import { save } from "./save.js";
import { Envelope, Failure, Short, Title } from "./parts.js";
import { day, fileName, grouped, reason as why, several, size } from "./words.js";

/** `open`: the letter that is read beside the list. */
export function Inbox({ desk, open }: { desk: Desk; open: number | undefined }) {
  const groups = conversations(desk.letters);
  return (
    <section class="list" aria-label="All letters">
      {open === undefined ? <Title>Letters</Title> : <h2 class="title">Letters</h2>}
      {groups.length === 0 ? (
        <div class="empty">
          <Envelope />
          <p>
            No letter yet. Give somebody <a href="#you">your address</a>, or <a href="#write">write to yourself</a>.
          </p>
        </div>
      ) : (
        <ul class="letters">
          {groups.map((letters) => (
            <li key={letters[0]?.number}>
              {letters.length > 1 && (
                <p class="conversation">
                  Conversation: <bdi>{about(letters)}</bdi>
                </p>
              )}
              {letters.map((letter) => (
                <Row key={letter.number} letter={letter} open={letter.number === open} />
              ))}
            </li>
          ))}
        </ul>
      )}
      {desk.waiting.messages > 0 && <Later waiting={desk.waiting} />}
      {desk.kept.map((range) => (
        <Kept key={range.start} range={range} desk={desk} />
      ))}
      {desk.muted.length > 0 && (
        <details class="hint">
          <summary>{several(desk.muted.length, "muted sender")}</summary>
          {desk.muted.map((sender) => (
            <p key={sender}>
              {sender} <Mute desk={desk} sender={sender} />
            </p>
          ))}
        </details>
      )}
    </section>
  );
}

/** Has the letters of a sender count as read, or no more. */
function Mute({ desk, sender }: { desk: Desk; sender: string }) {
  const muted = desk.muted.includes(code(sender));
  return (
    <button type="button" onClick={() => void desk.mute(sender, !muted)}>
      {muted ? "Unmute" : "Mute this sender"}
    </button>
  );
}

/** Posts that were found and that an answer had no room for. */
function Later({ waiting: { messages, fetches } }: { waiting: Waiting }) {
  const come = messages === 1 ? "was found and comes" : "were found and come";
  const visits = fetches === 1 ? "the next visit" : `the next ${several(fetches, "visit")}`;
  return (
    <p class="hint">
      {several(messages, "more post")} for you {come} with {visits}. A long letter is shown once all its posts are here.
    </p>
  );
}

/** Posts among which letters may be that no digest gave yet. */
function Kept({ range, desk }: { range: KeptRange; desk: Desk }) {
  const { start, end, overflowed, fetchesLeft, fetchesExpected, askedAgain, expired, reason } = range;
  const later =
    fetchesExpected > 0 ? `They come with the next ${several(fetchesExpected, "visit")}, or a few more.` : "";
  return (
    <details class="hint">
      <summary>
        {overflowed === undefined ? "Some posts could not be read" : "More posts for you than one digest holds"}: posts{" "}
        {grouped(start)} to {grouped(end)}.
      </summary>
      <p>
        {expired ? "The board has forgotten them." : askedAgain ? "The next visit asks for them again." : later} {reason}
      </p>
      {!expired && !askedAgain && overflowed === undefined && fetchesLeft === 0 && (
        <p>
          <button type="button" onClick={() => void desk.retry()}>
            Ask again at the next visit
          </button>{" "}
          The server will see that you missed something there.
        </p>
      )}
    </details>
  );
}

function title({ subject, name, firstLine }: Listed): string {
  return subject ?? name ?? (firstLine === undefined || firstLine === "" ? "Without words" : firstLine);
}

function Row({ letter, open }: { letter: Listed; open: boolean }) {
  const { number, read, fetched, bytes, name } = letter;
  const sender = from(letter);
  return (
    <a href={`#letters/${number}`} class={read ? "letter" : "letter unread"} aria-current={open ? "true" : undefined}>
      {!read && <span class="hidden">Unread: </span>}
      <bdi class="title">{title(letter)}</bdi>
      <span class="hint">
        {sender !== undefined && `From ${sender}, `}
        {name !== undefined && "File, "}
        {size(bytes)}, {day(new Date(fetched * 1000))}
      </span>
    </a>
  );
}

interface Read {
  me: Recipient;
  desk: Desk;
  number: number;
  answer: (letter: Listed) => void;
}

export function Reading({ me, desk, number, answer }: Read) {
  const [letter, setLetter] = useState<Letter>();
  const [failure, setFailure] = useState<string>();
  const listed = desk.letters.find((one) => one.number === number);
  useEffect(() => {
    me.read(number)
      .then(setLetter, (error: unknown) => setFailure(why(error)))
      .then(desk.reload);
  }, [number]);
  return (
    <article class="pane">
      <p class="back">
        <a href="#letters">← All letters</a>
      </p>
      <Title>
        <bdi>{listed === undefined ? `Letter ${number}` : title(listed)}</bdi>
      </Title>
      {listed !== undefined && (
        <p class="hint">
          Came to this device on {day(new Date(listed.fetched * 1000))}. It lies on the board for all to see, at place{" "}
          {listed.index}; only you can open it. <Author letter={listed} />
        </p>
      )}
      {listed !== undefined && <Acts letter={listed} desk={desk} answer={answer} />}
      <Failure text={failure} />
      {letter !== undefined && <Body letter={letter} number={number} />}
    </article>
  );
}

/** Who wrote a letter and when, as far as it proves or says that. */
function Author({ letter: { sender, forged, written, unreadable } }: { letter: Listed }) {
  if (unreadable !== undefined) return <>Who wrote it cannot be read: {unreadable}.</>;
  const when = written === undefined ? "" : ` It says that it was written on ${day(new Date(written * 1000))}.`;
  if (forged) {
    return (
      <strong>
        (forged) The signature does not match the sender that it names: somebody else wrote it, or it was written to
        somebody else, or altered.{when}
      </strong>
    );
  }
  if (sender === undefined) return <>It does not say who wrote it, unless its text does.{when}</>;
  return (
    <>
      The owner of <Short address={sender} /> signed it for you.{when}
    </>
  );
}

/** What may be done with a letter; a server sees an answer alone, as every letter. */
function Acts({ letter, desk, answer }: { letter: Listed; desk: Desk; answer: (letter: Listed) => void }) {
  const { number, sender } = letter;
  async function remove(): Promise<void> {
    if (!confirm("Delete this letter? Nothing brings it back.")) return;
    await desk.remove(number);
    location.hash = "letters";
  }
  return (
    <p class="buttons">
      {sender !== undefined && (
        <>
          <button type="button" class="main" onClick={() => answer(letter)}>
            Answer
          </button>
          <Mute desk={desk} sender={sender} />
        </>
      )}
      <button type="button" onClick={() => void remove()}>
        Delete
      </button>
    </p>
  );
}

/** The text of bytes, unless they are something else. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /[\u0000-\u0008\u000e-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function Body({ letter, number }: { letter: Letter; number: number }) {
  const text = textOf(letter.bytes);
  return (
    <>
      {text !== undefined && (
        <p class="text card" dir="auto">
          {text}
        </p>
      )}
      {(text === undefined || letter.name !== undefined) && (
        <p>
          <button type="button" onClick={() => save(letter.bytes, fileName(number, letter.name))}>
            Save the file
          </button>{" "}
          <span class="hint">Nobody vouches for a file: open it only if you trust its sender.</span>
        </p>
      )}
    </>
  );
}
