// Fields for a passphrase: a new one with a hint of its strength, and one that is known.
import { useId, useState } from "preact/hooks";
import { strength, suggestion } from "./strength.js";

interface Field {
  value: string;
  change: (passphrase: string) => void;
}

export function Choice({ value, change }: Field) {
  const [shown, setShown] = useState(false);
  const id = useId();
  const { score, words } = strength(value);
  const suggest = () => {
    setShown(true);
    change(suggestion());
  };
  return (
    <div class="field">
      <div class="head">
        <label for={id}>Passphrase</label>
        <button type="button" class="plain" onClick={suggest}>
          Suggest
        </button>
        <button type="button" class="plain" aria-pressed={shown} onClick={() => setShown(!shown)}>
          Show
        </button>
      </div>
      <input
        id={id}
        {...(shown ? { type: "text" as const } : { type: "password" as const })}
        autocomplete="new-password"
        spellcheck={false}
        autocapitalize="off"
        required
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
        aria-describedby={`${id}-strength ${id}-warning`}
      />
      <div class="strength" data-score={score} aria-hidden="true">
        <i />
        <i />
        <i />
        <i />
      </div>
      <p id={`${id}-strength`} class="hint" aria-live="polite">
        {value === "" ? "It locks your letters on this device." : words}
      </p>
      <p id={`${id}-warning`} class="warning">
        <strong>Nothing recovers a lost passphrase.</strong> Write it down.
      </p>
    </div>
  );
}

export function Known({ value, change, hint }: Field & { hint: string }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Passphrase</label>
      <input
        id={id}
        type="password"
        autocomplete="current-password"
        required
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
        aria-describedby={`${id}-hint`}
      />
      <p id={`${id}-hint`} class="hint">
        {hint}
      </p>
    </div>
  );
}
