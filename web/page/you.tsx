// Her address, when visits are, and her identity as a file.
import { useState } from "preact/hooks";
import type { Recipient } from "../src/index.js";
import { Short, Title } from "./parts.js";
import { Code } from "./code.js";
import { save } from "./save.js";
import { EVERY, type Settings } from "./settings.js";

interface Props {
  me: Recipient;
  settings: Settings;
  change: (settings: Settings) => void;
}

export function You({ me, settings, change }: Props) {
  return (
    <>
      <Title>Your address</Title>
      <Address address={me.address} />
      <section class="card" aria-labelledby="visits">
        <h2 id="visits">Visits</h2>
        <label>
          While this page is open, it asks for all new letters
          <select
            value={settings.minutes}
            onChange={(event) => change({ ...settings, minutes: Number(event.currentTarget.value) })}
          >
            {EVERY.map((minutes) => (
              <option key={minutes} value={minutes}>
                {minutes === 1 ? "every minute" : minutes === 60 ? "every hour" : `every ${minutes} minutes`}
              </option>
            ))}
          </select>
        </label>
        <p class="hint">
          By the clock, whatever came before: a visit that followed a letter would tell the server that there was one.
          That is why there is no button for it.
        </p>
      </section>
      <section class="card" aria-labelledby="file">
        <h2 id="file">Your identity on another device</h2>
        <p>
          The file is locked with your passphrase. Whoever has both can read every letter to you, those of the past too.
          It holds no letters: the other device asks the server for them again.
        </p>
        <button type="button" onClick={() => void me.file().then((file) => save(file, "identity.json"))}>
          Save the identity file
        </button>
      </section>
    </>
  );
}

function Address({ address }: { address: string }) {
  const [copied, setCopied] = useState(false);
  const shares = "share" in navigator;
  async function share(): Promise<void> {
    // Who thinks better of it has not shared it.
    await navigator.share({ text: address }).catch(() => {});
  }
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 3000);
  }
  return (
    <section class="card address" aria-label="Address">
      <div>
        <p>
          <Short address={address} />
        </p>
        <p class="buttons">
          {shares && (
            <button type="button" class="main" onClick={() => void share()}>
              Share
            </button>
          )}
          <button type="button" class={shares ? undefined : "main"} onClick={() => void copy()}>
            Copy
          </button>
          <span role="status" class="done">
            {copied && "Copied"}
          </span>
        </p>
        <p class="hint">
          Give it to everybody who may write to you. It is the fingerprint of your key, so nobody can put another key in
          its place.
        </p>
      </div>
      <Code text={address} />
    </section>
  );
}
