// The module that asks tables, in node: questions, plans, what is wrong with them. `cargo xtask web` runs it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

const web = process.env.OMR_WEB;
const { hash, initSync, Keys, Question, Set: ParamSet, Table } = await import(
  pathToFileURL(join(web, "src/wasm/omr_wasm_pdq.js"))
);
initSync({ module: await readFile(join(web, "dist/omr_wasm_pdq_bg.wasm")) });

const column = (name, kind, domain = null) => ({ name, kind, nullable: false, domain });
const SCHEMA = {
  name: "people",
  rows: 2200,
  salt: Array(16).fill(1),
  columns: [column("name", { text: { max_bytes: 16 } }), column("age", "integer", { min: 0, max: 120 })],
};
const table = new Table(Buffer.from(JSON.stringify(SCHEMA)));
const tiny = ParamSet.named("insecure-tiny-pdq-v1", true);
const told = (kind, text) => (error) => error.constructor === Error && error.kind === kind && text.test(error.message);

test("a schema is what its owner wrote, and nothing else is one", () => {
  assert.deepEqual([table.name, table.rows, table.encrypted], ["people", 2200, false]);
  const columns = table.columns().map(({ name, kind, least, most }) => [name, kind, least, most]);
  assert.deepEqual(columns, [["name", "text(16)", undefined, undefined], ["age", "integer", "0", "120"]]);
  for (const json of ["", "{}", JSON.stringify({ ...SCHEMA, columns: [] })]) {
    assert.throws(() => new Table(Buffer.from(json)), told("other", /./));
  }
  assert.throws(() => new Table(new Uint8Array(32 << 20)), told("other", /expected a schema of at most/));
});

test("a plan has the question without its constants, and its cost", () => {
  const plan = (sql) => new Question(table, sql).plan(tiny);
  const one = plan("SELECT name FROM people WHERE name LIKE 'Ann%' AND age > 90 LIMIT 20");
  assert.equal(one.bound, 20);
  assert.match(one.shape, /name LIKE '\?\?\?%'/);
  assert.ok(one.queryBytes > 0 && one.answerBytes > 0 && one.seconds(1e-6) > 0);
  const other = plan("SELECT name FROM people WHERE name LIKE 'Bob%' AND age > 17 LIMIT 20");
  const cost = ({ shape, queryBytes, answerBytes }) => [shape, queryBytes, answerBytes];
  assert.deepEqual(cost(one), cost(other));
  const keys = Keys.generate(tiny);
  const files = [one, other].map((plan) => plan.encrypt(keys));
  assert.equal(files[0].length, files[1].length);
  assert.ok(!Buffer.from(files[0]).includes("Ann"));
});

test("what is wrong is told with its place, and what is too deep for a set as that", () => {
  const ask = (sql) => () => new Question(table, sql);
  for (const [sql, text, piece] of [
    ["SELECT nme FROM people WHERE age = 1", /no column `nme`; did you mean `name`/, "nme"],
    ["SELECT 'ä' FROM people WHERE", /./, ""],
    ["SELECT * FROM people WHERE age = 'x'", /cannot be compared/, "'x'"],
  ]) {
    let found;
    assert.throws(ask(sql), (error) => told("syntax", text)((found = error)));
    assert.equal(sql.slice(found.from, found.to), piece, sql);
  }
  assert.throws(ask("SELECT * FROM people WHERE age = 1 LIMIT 5000"), told("plan", /bound of 1 to 4096/));
  const deep = new Question(table, "SELECT * FROM people WHERE name LIKE '%ann%'");
  assert.throws(() => deep.plan(tiny), told("depth", /one after another/));
  assert.ok(deep.plan(ParamSet.named("insecure-tiny-pdq-deep-v1", true)).queryBytes > 0);
  assert.throws(() => ParamSet.named("insecure-tiny-pdq-v1", false), told("other", /128 bits/));
  assert.throws(() => ParamSet.named("pdq-v0", false), told("other", /pdq-v1/));
});

test("the deepest question that is read has room on the stack, and a deeper one is refused", () => {
  const nested = (depth) => `SELECT * FROM people WHERE ${"NOT (".repeat(depth)}age = 1${")".repeat(depth)}`;
  assert.ok(new Question(table, nested(30)).plan(tiny).queryBytes > 0);
  assert.throws(() => new Question(table, nested(40)), told("syntax", /more than 32/));
  const syntax = told("syntax", /./);
  for (const deep of ["NOT ".repeat(200), "-".repeat(300), "(".repeat(32)]) {
    assert.throws(() => new Question(table, `SELECT * FROM people WHERE ${deep}age = 1`), syntax);
  }
  const chain = Array.from({ length: 180 }, (_, i) => `age = ${i}`).join(" OR ");
  assert.throws(() => new Question(table, `SELECT * FROM people WHERE ${chain}`), syntax);
  const many = Array.from({ length: 64 }, (_, i) => `age = ${i}`).join(" OR ");
  assert.ok(new Question(table, `SELECT * FROM people WHERE ${many}`));
});

test("keys come in pieces, under the hash that servers know them by", () => {
  const pieces = [];
  const plan = new Question(table, "SELECT * FROM people WHERE age = 1").plan(tiny);
  const keys = Keys.generate(tiny);
  const made = keys.makeKey(100_000, (piece) => pieces.push(Buffer.from(piece)));
  const file = Buffer.concat(pieces);
  assert.equal(file.length, made.bytes);
  assert.equal(file.length, plan.keyBytes);
  assert.ok(pieces.length > 1);
  assert.deepEqual(Buffer.from(hash(file)), Buffer.from(made.hash));
  const stop = () => {
    throw new Error("enough");
  };
  assert.throws(() => keys.makeKey(9, stop), told("other", /stopped/));
  for (const answer of [new Uint8Array(), file.subarray(0, 1000)]) {
    assert.throws(() => plan.decode(keys, answer), told("other", /./));
  }
});
