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
      <label for={id}>Passphrase</label>
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
        {value === "" ? "It locks your identity on this device." : words}
      </p>
      <p class="buttons">
        <button type="button" onClick={suggest}>
          Suggest one
        </button>
        <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
          Show
        </button>
      </p>
      <p id={`${id}-warning`} class="warning">
        <strong>Nothing recovers a lost passphrase.</strong> No server has it, and nobody can reset it. Write it down
        and keep it where you keep such things.
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
