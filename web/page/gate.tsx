// Before letters: an identity is made, taken over from a file, or unlocked.
import { useState } from "preact/hooks";
import type { Opening } from "./app.js";
import { Choice, Known } from "./passphrase.js";
import { Failure, Header, Title } from "./parts.js";
import { Explained } from "./pictures.js";
import { isLongEnough, LEAST } from "./strength.js";
import { reason } from "./words.js";

type Open = (options: Opening) => Promise<void>;

export function Welcome({ open }: { open: Open }) {
  const [takes, setTakes] = useState(false);
  return (
    <>
      <Header />
      <main class="narrow welcome">
        <Title>Nobody can tell which letters are yours</Title>
        <Explained />
        <p class="lead">
          Everybody’s letters lie sealed on one board. The server looks through all of them for you, with keys of your
          device, and never learns which are yours, or how many.
        </p>
        {takes ? <TakeOver open={open} /> : <Make open={open} />}
        <p>
          <button type="button" class="plain" onClick={() => setTakes(!takes)}>
            {takes ? "I have no identity yet" : "I have an identity file from another device"}
          </button>
        </p>
        <Queries />
      </main>
    </>
  );
}

/** A form that does something once, and says why it could not. */
function useOnce(act: () => Promise<void>) {
  const [failure, setFailure] = useState<string>();
  const [works, setWorks] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (works) return;
    setFailure(undefined);
    setWorks(true);
    await act().catch((error: unknown) => {
      setFailure(reason(error));
      setWorks(false);
    });
  };
  return { failure, works, submit: (event: Event) => void submit(event) };
}

function Server({ value, change, open }: { value: string; change: (server: string) => void; open: boolean }) {
  return (
    <details open={open}>
      <summary>Another server</summary>
      <label>
        Server
        <input
          type="url"
          required
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
          aria-describedby="server-hint"
        />
      </label>
      <p id="server-hint" class="hint">
        It holds the board and looks for your letters. A page may call its own server alone, unless both were set up
        otherwise.
      </p>
    </details>
  );
}

function Make({ open }: { open: Open }) {
  const [passphrase, setPassphrase] = useState("");
  const [server, setServer] = useState(location.origin);
  const { failure, works, submit } = useOnce(async () => {
    if (!isLongEnough(passphrase)) throw new Error(`Please choose a passphrase of at least ${LEAST} characters.`);
    await open({ passphrase, server: new URL(server).origin });
  });
  return (
    <form class="card" onSubmit={submit} noValidate>
      <Choice value={passphrase} change={setPassphrase} />
      <Failure text={failure} />
      <button class="main" disabled={works}>
        {works ? "Making it…" : "Make my address"}
      </button>
      <Server value={server} change={setServer} open={failure !== undefined} />
    </form>
  );
}

function TakeOver({ open }: { open: Open }) {
  const [passphrase, setPassphrase] = useState("");
  const [file, setFile] = useState<File>();
  const { failure, works, submit } = useOnce(async () => {
    if (file === undefined) throw new Error("Please choose the identity file.");
    await open({ passphrase, file: new Uint8Array(await file.arrayBuffer()) });
  });
  return (
    <form class="card" onSubmit={submit} noValidate>
      <label>
        Identity file
        <input
          type="file"
          accept=".json,application/json"
          onChange={(event) => setFile(event.currentTarget.files?.[0])}
        />
      </label>
      <Known value={passphrase} change={setPassphrase} hint="The one that you had when the file was saved." />
      <Failure text={failure} />
      <button class="main" disabled={works}>
        {works ? "Opening…" : "Use this identity"}
      </button>
    </form>
  );
}

export function Unlock({ open, server }: { open: Open; server: string }) {
  const [passphrase, setPassphrase] = useState("");
  const { failure, works, submit } = useOnce(() => open({ passphrase }));
  return (
    <>
      <Header />
      <main class="narrow">
        <Title>Your identity is locked</Title>
        <p class="lead">Your letters are on this device, encrypted; to read them needs no network.</p>
        <form class="card" onSubmit={submit} noValidate>
          <Known
            value={passphrase}
            change={setPassphrase}
            hint={`Of your identity at ${server}.`}
          />
          <Failure text={failure} />
          <button class="main" disabled={works}>
            {works ? "Unlocking…" : "Unlock"}
          </button>
        </form>
        <Queries />
      </main>
    </>
  );
}

function Queries() {
  return (
    <p>
      <a href="#tables">Ask tables, without an identity</a>
    </p>
  );
}
