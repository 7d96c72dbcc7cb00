// What the server saw of questions, beside what their asker sees.
import type { SeenQuery } from "../src/tables.js";
import type { Asks } from "./asks.js";
import { several, size } from "./words.js";

/** Lines of the list; older ones are of no help. */
const SHOWN = 12;

export function QuerySides({ asks }: { asks: Asks }) {
  const { answer, sql, seen } = asks;
  const asked = seen.findLast((one) => one.what === "question");
  const given = seen.findLast((one) => one.what === "answer");
  const keyed = seen.some(({ what }) => what === "key");
  return (
    <aside aria-label="What both sides see">
      <div class="pair">
        <figure class="theirs">
          <figcaption>The server sees</figcaption>
          <p>
            <code>{asked === undefined ? "No question yet" : asked.shape}</code>
          </p>
          <p>{given === undefined ? "No answer yet" : `A closed answer of ${size(given.bytes)}`}</p>
        </figure>
        <figure class="yours">
          <figcaption>You see</figcaption>
          <p>
            <code>{sql}</code>
          </p>
          <p>{answer === undefined ? "No rows yet" : several(answer.rows.length, "row")}</p>
        </figure>
      </div>
      {seen.length > 0 && (
        <table>
          <caption class="hidden">What the server saw, newest first</caption>
          <thead>
            <tr>
              <th scope="col">The server saw</th>
            </tr>
          </thead>
          <tbody>
            {lines(seen)
              .reverse()
              .slice(0, SHOWN)
              .map((line, i) => (
                <tr key={i}>
                  <td>{line}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
      {keyed && (
        <p>
          <button type="button" onClick={() => void asks.forget()}>
            Forget my key
          </button>
        </p>
      )}
      <p class="hint">
        All questions of one key are known to be one person’s. The key ends with this page, or when you forget it. The
        server sees when you ask, and how often; it cannot read the values between the operators, nor the rows.
      </p>
    </aside>
  );
}

/** What was seen, in words; of a key's pieces the last alone. */
function lines(seen: SeenQuery[]): string[] {
  const shown = seen.filter((one, i) => one.what !== "key" || seen[i + 1]?.what !== "key");
  return shown.map(words);
}

function words(seen: SeenQuery): string {
  switch (seen.what) {
    case "tables":
      return "A request for the names of the tables";
    case "schema":
      return `A request for the columns of ${seen.table}`;
    case "key":
      return seen.done < seen.total ? `${size(seen.done)} of ${size(seen.total)} of a key` : `A key of ${size(seen.total)}`;
    case "question":
      return `${seen.shape}, at most ${several(seen.bound, "row")}: ${size(seen.bytes)}`;
    case "answer":
      return `An answer of ${size(seen.bytes)}, which it cannot open`;
  }
}
