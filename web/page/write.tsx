// Writing: a text and files, each of which is a letter.
import { useRef, useState } from "preact/hooks";
import type { Recipient } from "../src/index.js";
import type { Desk } from "./desk.js";
import { Failure, Title } from "./parts.js";
import { reason, several, short, UNREACHED } from "./words.js";

/** What is being written; it stays while other places are looked at. */
export interface Draft {
  to: string;
  subject: string;
  text: string;
  /** The conversation of the letter that it answers. */
  thread: string | undefined;
  signed: boolean;
}

export const EMPTY: Draft = { to: "", subject: "", text: "", thread: undefined, signed: false };

interface Props {
  me: Recipient;
  desk: Desk;
  draft: Draft;
  change: (draft: Draft) => void;
}

/** Why a letter was not sent; the policy of a page that its server gives forbids it others. */
function why(error: unknown, to: string, me: Recipient): string {
  const [there, here] = [to, me.address].map((address) => address.trim().split("@")[1]);
  const text = reason(error);
  if (text !== UNREACHED || there === undefined || there === here) return text;
  const advice = "Write from a page of that server, or with the command omr.";
  return `The address is at ${there}, and this page may call ${here} alone. ${advice}`;
}

export function Write({ me, desk, draft, change }: Props) {
  const { to, subject, text, signed } = draft;
  const [failure, setFailure] = useState<string>();
  const [done, setDone] = useState<string>();
  const [works, setWorks] = useState(false);
  const files = useRef<HTMLInputElement>(null);

  async function send(): Promise<void> {
    const chosen = [...(files.current?.files ?? [])];
    if (!to.trim().startsWith("omr1")) throw new Error("Please give an address: it begins with omr1.");
    if (text === "" && chosen.length === 0) throw new Error("Please write something, or choose a file.");
    const about = { signed, subject: subject || undefined, thread: signed ? draft.thread : undefined };
    // All of one letter's files belong to its conversation.
    if (text !== "") about.thread = (await desk.send(to, text, about)).thread;
    change({ ...draft, text: "" });
    for (const file of chosen) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      about.thread = (await desk.send(to, bytes, about, file.name)).thread;
    }
    if (files.current !== null) files.current.value = "";
    setDone(`${several(chosen.length + (text === "" ? 0 : 1), "letter")} sent to ${short(to)}`);
  }

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (works) return;
    [setFailure, setDone].forEach((set) => set(undefined));
    setWorks(true);
    await send().catch((error: unknown) => setFailure(why(error, to, me)));
    setWorks(false);
  }

  return (
    <>
      <Title>Write</Title>
      <form class="card" onSubmit={(event) => void submit(event)} noValidate>
        <label>
          To
          <input
            required
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            placeholder="omr1…@https://…"
            value={to}
            onInput={(event) => change({ ...draft, to: event.currentTarget.value, thread: undefined })}
          />
        </label>
        <label>
          Subject
          <input
            dir="auto"
            autocomplete="off"
            value={subject}
            onInput={(event) => change({ ...draft, subject: event.currentTarget.value })}
          />
        </label>
        <label>
          Text
          <textarea
            rows={8}
            dir="auto"
            value={text}
            onInput={(event) => change({ ...draft, text: event.currentTarget.value })}
          />
        </label>
        <label>
          Files
          <input ref={files} type="file" multiple aria-describedby="files-hint" />
        </label>
        <p id="files-hint" class="hint">
          Up to some 140 kB each, and each a letter of its own. A long letter takes several posts, so its length shows,
          to the nearest post.
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={signed}
            disabled={!me.signs}
            onChange={(event) => change({ ...draft, signed: event.currentTarget.checked })}
          />
          Sign
        </label>
        <p class="hint">
          {me.signs
            ? "Your reader then sees that you wrote it and when, can answer you, and can prove it to others. A server sees no difference."
            : "An identity of an older version of this page cannot sign."}{" "}
          {signed && draft.thread !== undefined && "This is an answer: it joins the conversation."}
        </p>
        <Failure text={failure} />
        <p class="buttons">
          <button class="main" disabled={works}>
            {works ? "Sealing and sending…" : "Send"}
          </button>
          <span role="status" class="done">
            {done}
          </span>
        </p>
      </form>
      <p class="hint">
        A letter cannot be called back, and the page keeps no copy. Sign it, or say who you are, if your reader should
        know: the letter itself does not.
      </p>
    </>
  );
}
