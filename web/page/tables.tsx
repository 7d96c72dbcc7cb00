// Private queries: a table is chosen, a question written, its plan and cost seen, rows shown and saved.
import { useEffect, useState } from "preact/hooks";
import { Editor } from "./editor.js";
import { Failure, Header, Title } from "./parts.js";
import { Found } from "./rows.js";
import { QuerySides } from "./query-sides.js";
import { type Asks, useAsks } from "./asks.js";
import { several, size } from "./words.js";

export default function TablesPart({ alone }: { alone: boolean }) {
  const asks = useAsks();
  useEffect(() => {
    if (!alone) return;
    document.title = "Private queries";
    return () => void (document.title = "Letters");
  }, [alone]);
  return (
    <>
      {alone && (
        <Header>
          <a href="#letters">Letters</a>
        </Header>
      )}
      <View asks={asks} />
    </>
  );
}

function View({ asks }: { asks: Asks }) {
  return (
    <div class="desk">
      <main>
        <Title>Private queries</Title>
        <p class="lead">
          Ask a table of this server. It answers without learning which values you ask for, or which rows it found.
        </p>
        {asks.tables === undefined ? <Closed asks={asks} /> : <Ask asks={asks} />}
        {asks.answer !== undefined && <Found answer={asks.answer} table={asks.table} />}
      </main>
      <QuerySides asks={asks} />
    </div>
  );
}

/** Before the tables are known, or where there are none. */
function Closed({ asks }: { asks: Asks }) {
  const [server, setServer] = useState(asks.server);
  const submit = (event: Event) => {
    event.preventDefault();
    void asks.connect(server);
  };
  if (asks.failure === undefined) return <p role="status">Loading the tables…</p>;
  return (
    <form class="card" onSubmit={submit} noValidate>
      <Failure text={asks.failure} />
      <label>
        Server
        <input
          type="url"
          required
          value={server}
          onInput={(event) => setServer(event.currentTarget.value)}
          aria-describedby="tables-hint"
        />
      </label>
      <p id="tables-hint" class="hint">
        Tables have a server of their own, omr pdq serve. A page may call its own server alone, unless both were set up
        otherwise.
      </p>
      <button>Look there</button>
    </form>
  );
}

function Ask({ asks }: { asks: Asks }) {
  const { tables = [], schema, table, sql, problem, plan, busy } = asks;
  const submit = (event: Event) => {
    event.preventDefault();
    void asks.ask();
  };
  return (
    <form class="card" onSubmit={submit} noValidate>
      <label>
        Table
        <select value={table} onChange={(event) => void asks.choose(event.currentTarget.value)}>
          {tables.map(({ name, rows }) => (
            <option key={name} value={name}>
              {`${name}, ${several(rows, "row")}`}
            </option>
          ))}
        </select>
      </label>
      {schema?.encrypted && (
        <p class="warning">
          Not even the server can read this table. Only who has the keys that it was encrypted with can ask it, with the
          command omr pdq query.
        </p>
      )}
      {schema && !schema.encrypted && (
        <>
          <Columns asks={asks} />
          <Editor
            value={sql}
            change={asks.write}
            names={{ table: schema.name, columns: schema.columns }}
            describedBy="plan"
            invalid={problem !== undefined}
          />
          <p class="hint">
            WHERE is needed. Control and space show what may come next; control and enter ask.
          </p>
          <div id="plan" role="status">
            <Wrong asks={asks} />
            <Cost asks={asks} />
          </div>
          <p class="buttons">
            <button class="main" disabled={plan === undefined || busy !== undefined}>
              Ask
            </button>
            {busy !== undefined && (
              <button type="button" onClick={asks.stop}>
                Stop
              </button>
            )}
          </p>
          <Progress asks={asks} />
          <Failure text={asks.failure} />
        </>
      )}
    </form>
  );
}

function Columns({ asks }: { asks: Asks }) {
  return (
    <details>
      <summary>Columns</summary>
      <div class="wide" tabIndex={0} role="region" aria-label="Columns of the table">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
              <th scope="col">Values</th>
            </tr>
          </thead>
          <tbody>
            {asks.schema?.columns.map(({ name, kind, nullable, least, most }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{kind}</td>
                <td>{`${least === undefined ? "any" : `${least} to ${most}`}${nullable ? ", may be absent" : ""}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** What is wrong with the question, and where. */
function Wrong({ asks }: { asks: Asks }) {
  const { problem, sql } = asks;
  if (problem === undefined) return null;
  const { message, from, to } = problem;
  if (from === undefined || to === undefined) return <p class="failure">{message}</p>;
  const begin = sql.lastIndexOf("\n", from - 1) + 1;
  const line = sql.slice(0, begin).split("\n").length;
  const [end = ""] = sql.slice(to).split("\n", 1);
  return (
    <>
      <p class="failure">{`Line ${line}, column ${from - begin + 1}: ${message}`}</p>
      <p class="excerpt">
        {sql.slice(begin, from)}
        <mark>{sql.slice(from, to) || "…"}</mark>
        {end}
      </p>
    </>
  );
}

function Cost({ asks }: { asks: Asks }) {
  const { plan } = asks;
  if (plan === undefined) return null;
  const { shape, bound, bytesUp, bytesDown, seconds, keyBytes } = plan;
  return (
    <dl class="cost">
      <dt>The server sees</dt>
      <dd>
        <code>{shape}</code>
      </dd>
      <dt>Rows</dt>
      <dd>{`at most ${bound}; LIMIT changes it`}</dd>
      <dt>Up</dt>
      <dd>{`${size(bytesUp)}${keyBytes > 0 ? `, and once a key of ${size(keyBytes)}` : ""}`}</dd>
      <dt>Down</dt>
      <dd>{size(bytesDown)}</dd>
      <dt>Takes about</dt>
      <dd>{duration(seconds)}</dd>
    </dl>
  );
}

export function duration(seconds: number): string {
  if (seconds < 1) return "less than a second";
  return seconds < 90 ? several(Math.round(seconds), "second") : several(Math.round(seconds / 60), "minute");
}

function Progress({ asks }: { asks: Asks }) {
  const { busy } = asks;
  const [shown, setShown] = useState(busy);
  // Not with every chunk: a reader would say each.
  useEffect(() => setShown(busy), [busy?.stage, busy?.what]);
  if (busy === undefined) return null;
  const { stage, what, done, total } = busy;
  const says = { making: "Your device makes a key", waiting: "Others go first", working: "The server works" };
  const label = stage === "sending" ? `Your ${what} goes to the server` : says[stage];
  return (
    <>
      <label class="bar">
        <span>{label}</span>
        {total > 0 && stage !== "making" ? <progress max={total} value={done} /> : <progress />}
      </label>
      <p class="hidden" role="status">
        {shown && label}
      </p>
    </>
  );
}
