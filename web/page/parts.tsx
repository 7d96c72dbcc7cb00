// Small pieces that several places show.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Progress } from "../src/index.js";

export function Header({ children }: { children?: ComponentChildren }) {
  return (
    <header>
      <p class="brand">
        <Envelope /> Letters
      </p>
      {children}
    </header>
  );
}

export function Envelope() {
  return (
    <svg class="envelope" viewBox="0 0 24 18" aria-hidden="true">
      <path d="M1 1h22v16H1z" />
      <path d="m1 1 11 8L23 1" />
    </svg>
  );
}

/** A short address, whose server matters less. */
export function Short({ address }: { address: string }) {
  const [code, server] = address.split("@");
  return (
    <code class="short">
      {code}
      <span class="at">@{server}</span>
    </code>
  );
}

/** A heading that gets the focus where a view is new, so that readers and keys begin there. */
export function Title({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // With the view itself: later it would take the focus from a field that somebody is in.
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

export function Failure({ text }: { text: string | undefined }) {
  return <div role="alert">{text !== undefined && <p class="failure">{text}</p>}</div>;
}

/** How far something is; without an end where none is known. */
export function Bar({ label, progress }: { label: string; progress: Progress }) {
  const known = progress.total > 0 && (progress.stage === "sending" || progress.stage === "working");
  return (
    <label class="bar">
      <span>{label}</span>
      {known ? <progress max={progress.total} value={progress.done} /> : <progress />}
    </label>
  );
}
