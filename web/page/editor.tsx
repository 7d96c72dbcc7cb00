// A field for SQL that offers what may come next.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { completions, type Completions, type Names } from "./completion.js";

interface Props {
  value: string;
  change: (sql: string) => void;
  names: Names;
  /** What is wrong, for readers: the id of where it is told. */
  describedBy: string;
  invalid: boolean;
}

const LIST = "completions";

export function Editor({ value, change, names, describedBy, invalid }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [found, setFound] = useState<Completions>();
  const [chosen, setChosen] = useState(0);
  const caret = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (caret.current === undefined) return;
    field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  }, [value]);

  const close = () => setFound(undefined);
  /** `asked`: before a letter of the word is there, too; else the key for a new line would take one. */
  function offer(asked: boolean): void {
    const { value = "", selectionStart = 0, selectionEnd = 0 } = field.current ?? {};
    setChosen(0);
    const next = completions(value, selectionStart, names);
    const isOne = selectionStart === selectionEnd && next.options.length > 0 && (asked || next.from < next.to);
    setFound(isOne ? next : undefined);
  }
  function take(option: string | undefined): void {
    if (found === undefined || option === undefined) return;
    caret.current = found.from + option.length + 1;
    const rest = value.slice(found.to);
    change(`${value.slice(0, found.from)}${option}${rest.startsWith(" ") ? "" : " "}${rest}`);
    close();
    field.current?.focus();
  }
  function press(event: KeyboardEvent): void {
    if (event.key === " " && event.ctrlKey) return event.preventDefault(), offer(true);
    if (event.key === "Enter" && event.ctrlKey) return event.preventDefault(), field.current?.form?.requestSubmit();
    if (found === undefined) return;
    const count = found.options.length;
    if (event.key === "ArrowDown") setChosen((chosen + 1) % count);
    else if (event.key === "ArrowUp") setChosen((chosen + count - 1) % count);
    else if (event.key === "Enter") take(found.options[chosen]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  }
  return (
    <div class="editor">
      <label>
        Question
        <textarea
          ref={field}
          rows={5}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          value={value}
          aria-autocomplete="list"
          aria-controls={LIST}
          aria-activedescendant={found && `${LIST}-${chosen}`}
          aria-describedby={describedBy}
          aria-invalid={invalid}
          onInput={(event) => (change(event.currentTarget.value), offer(false))}
          onKeyDown={press}
          onClick={close}
          onBlur={close}
        />
      </label>
      <ul id={LIST} role="listbox" aria-label="What may come next" hidden={found === undefined}>
        {found?.options.map((option, i) => (
          <li
            key={option}
            id={`${LIST}-${i}`}
            role="option"
            aria-selected={i === chosen}
            onPointerDown={(event) => (event.preventDefault(), take(option))}
          >
            {option}
          </li>
        ))}
      </ul>
    </div>
  );
}
