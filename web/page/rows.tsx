// Rows that a question found, as a table and as a file.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Answer } from "../src/tables.js";
import { save } from "./save.js";
import { grouped, several, size } from "./words.js";

export function Found({ answer, table }: { answer: Answer; table: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), [answer]);
  const { columns, numbers, rows, csv, bytesUp, bytesDown, seconds } = answer;
  return (
    <section class="card" aria-labelledby="found">
      <h2 id="found" ref={heading} tabIndex={-1}>
        {rows.length === 0 ? "No row matches" : `${several(rows.length, "row")} found`}
      </h2>
      {rows.length > 0 && (
        <>
          <div class="wide" tabIndex={0} role="region" aria-label="Rows that were found">
            <table class="plain">
              <thead>
                <tr>
                  {numbers && <th scope="col">row</th>}
                  {columns.map((name, i) => (
                    <th key={i} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, at) => (
                  <tr key={at}>
                    {numbers && <th scope="row">{grouped(numbers[at] ?? 0)}</th>}
                    {row.map((value, i) => (
                      <td key={i}>{value ?? <span class="hint">absent</span>}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="buttons">
            <button type="button" onClick={() => save(csv, `${table.replace(/[^\p{L}\p{N}_-]/gu, "_")}.csv`)}>
              Save as CSV
            </button>
          </p>
        </>
      )}
      <p class="hint">{`${size(bytesUp)} up, ${size(bytesDown)} down, ${seconds.toFixed(1)} seconds.`}</p>
    </section>
  );
}
