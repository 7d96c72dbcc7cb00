// Which of the page's states is shown: a start, a locked recipient, an open one.
import { useEffect, useState } from "preact/hooks";
import { Recipient } from "../src/index.js";
import { Feed } from "./feed.js";
import { Unlock, Welcome } from "./gate.js";
import { Mailbox } from "./mailbox.js";
import { Part, useHash } from "./part.js";
import { Header } from "./parts.js";
import { reason } from "./words.js";

type State =
  | { at: "start" }
  | { at: "new" }
  | { at: "locked"; server: string }
  | { at: "open"; me: Recipient; feed: Feed }
  | { at: "closed"; why: string };

/** Takes sets for tests; the page that is served does not. */

export interface Opening {
  passphrase: string;
  server?: string;
  file?: Uint8Array;
}

const LOCK = "omr-mail";

export function App() {
  const [state, setState] = useState<State>({ at: "start" });
  const queries = useHash() === "#tables";

  useEffect(() => {
    void begin().then(setState);
  }, []);

  async function open(options: Opening): Promise<void> {
    const feed = new Feed();
    const me = await Recipient.open(options, feed.push);
    // Else a browser that runs out of room may drop her letters.
    void navigator.storage.persist?.();
    setState({ at: "open", me, feed });
  }

  async function lock(me: Recipient): Promise<void> {
    await me.close();
    setState({ at: "locked", server: me.address.split("@")[1] ?? "" });
  }

  // Queries need no identity.
  if (queries && state.at !== "open") return <Part alone />;
  switch (state.at) {
    case "start":
      return <Header />;
    case "new":
      return <Welcome open={open} />;
    case "locked":
      return <Unlock open={open} server={state.server} />;
    case "open":
      return <Mailbox me={state.me} feed={state.feed} lock={() => void lock(state.me)} />;
    case "closed":
      return (
        <>
          <Header />
          <main class="narrow">
            <p role="alert">{state.why}</p>
          </main>
        </>
      );
  }
}

async function begin(): Promise<State> {
  if (!isSecureContext)
    return {
      at: "closed",
      why: "Browsers keep secrets on pages with https:// alone: open this page under such an address.",
    };
  if (!(await alone()))
    return {
      at: "closed",
      why: "Your letters are open in another tab of this browser. Close one of the two, then reload.",
    };
  try {
    const server = await Recipient.server();
    return server === undefined ? { at: "new" } : { at: "locked", server };
  } catch (error) {
    return { at: "closed", why: `This browser keeps nothing for the page: ${reason(error)}` };
  }
}

/** Whether no other tab has the letters; the lock is held until this one is closed. */
function alone(): Promise<boolean> {
  return new Promise((resolve) => {
    void navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}
