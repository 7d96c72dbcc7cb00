// Private queries in Chromium, at a server of tables that has the page, as `cargo xtask web` calls this; `--real`: of the
// set that servers have, with figures and a picture.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "../../tests/browser/server.mjs";
import { launch } from "../../tests/browser/tools.mjs";
import { collect } from "./figures.mjs";
import { watched } from "./memory.mjs";
import { Person } from "./person.mjs";
import { shoot } from "./pictures.mjs";
import { startSite } from "./site.mjs";

const real = process.argv.includes("--real");
const ROWS = real ? 65_536 : 1500;
const run = promisify(execFile);
const passed = (what) => console.log(`web: queries: ${what}: ok`);
const FIRST = ["Ann", "Bob", "Carl", "Dora", "Eve", "Frank", "Gina"];
const people = Array.from({ length: ROWS }, (_, i) => ({
  name: `${FIRST[(i * 31) % FIRST.length]} ${(i * 7) % 1000}`,
  age: (i * 37) % 90,
}));

const folder = await mkdtemp(join(tmpdir(), "omr-queries-"));
const site = await startSite(process.env.OMR_WEB);
const mail = join(process.env.OMR_WEB, real ? "mail" : "mail-tests");
let [server, browser] = [];
try {
  const csv = people.map(({ name, age }, id) => `${id},${name},${age}\n`).join("");
  await writeFile(join(folder, "people.csv"), `id,name,age\n${csv}`);
  await run(process.env.OMR_COMMAND, ["pdq", "import", "people.csv", "--out", "people.table"], { cwd: folder });
  const params = real ? null : "insecure-tiny-pdq-v1,insecure-tiny-pdq-deep-v1";
  server = await startServer({ mail, origins: [site.origin], tables: [join(folder, "people.table")], params });
  site.allow([server.url]);
  browser = await launch();
  const alice = await Person.of(browser, server.url);
  if (real) await figures(alice);
  else await all(alice);
  alice.check();
} catch (error) {
  console.error(server?.log());
  const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
  for (const page of pages) console.error(await page.locator("body").ariaSnapshot());
  throw error;
} finally {
  await browser?.close();
  await server?.stop();
  await Promise.all([site.stop(), rm(folder, { recursive: true })]);
}

async function all(alice) {
  const asked = [];
  alice.context.on("request", (request) => asked.push({ path: new URL(request.url()).pathname, body: request.postDataBuffer() }));
  await keyboard(alice, asked);
  await file(alice);
  await wrong(alice);
  await alike(alice, asked);
  await ends(alice);
  await api();
}

function field(page) {
  return page.getByLabel("Question");
}

function heading(page, count) {
  return page.getByRole("heading", { level: 2, name: `${count} row${count === 1 ? "" : "s"} found` });
}

/** Rows that a test lets pass, with their numbers. */
function matching(test) {
  return people.flatMap(({ name, age }, id) => (test(name, age) ? [[id, name, age]] : []));
}

async function ask(page, condition) {
  await field(page).fill(`SELECT * FROM people WHERE ${condition}`);
  await page.getByRole("definition").first().waitFor();
  await page.getByRole("button", { name: "Ask" }).click();
}

// She asks without a mouse; nothing of the part is loaded before, and the plan is there before anything is sent.
async function keyboard(alice, asked) {
  const page = await alice.visit();
  await page.getByRole("heading", { level: 1 }).waitFor();
  const of = (pattern) => asked.filter(({ path }) => pattern.test(path)).length;
  assert.equal(of(/tables|asking|pdq/i), 0, "nothing is loaded");
  await alice.tab("Ask tables");
  await page.keyboard.press("Enter");
  await field(page).waitFor();
  await alice.accessible("tables");
  await alice.tab("Question");
  await page.keyboard.press("Control+End");
  await page.keyboard.type("na");
  await page.getByRole("option", { name: "name", selected: true }).waitFor();
  await alice.accessible("completion");
  await page.keyboard.press("Enter");
  await page.keyboard.type("li");
  await page.keyboard.press("Enter");
  await page.keyboard.type("'Ann 1%' AND age > 60");
  await page.getByText(/^SELECT .*name LIKE '\?{5}%' AND age >= \?/).first().waitFor();
  assert.equal(of(/PdqService.(UploadPart|Ask)/), 0, "nothing is sent");
  await alice.accessible("a plan");
  await alice.tab("Ask");
  await page.keyboard.press("Enter");
  const expected = matching((name, age) => name.startsWith("Ann 1") && age > 60);
  assert.ok(expected.length > 0 && expected.length <= 16);
  await heading(page, expected.length).waitFor();
  const row = page.getByRole("row").filter({ has: page.getByRole("cell", { name: expected[0][1], exact: true }) });
  await row.first().waitFor();
  await alice.accessible("rows");
  assert.equal(of(/Ask$/), 1);
  passed("with the keyboard alone: completed, planned, asked, found");
}

async function file(alice) {
  const { page } = alice;
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as CSV" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "people.csv");
  const rows = matching((name, age) => name.startsWith("Ann 1") && age > 60);
  const lines = rows.map(([id, ...rest]) => [id, id, ...rest].join(",") + "\n");
  assert.equal(await readFile(await download.path(), "utf8"), ["row,id,name,age\n", ...lines].join(""));
  passed("rows as a file");
}

// What is wrong is told where it is, before anything is sent; too many rows with their number.
async function wrong(alice) {
  const { page } = alice;
  await field(page).fill("SELECT *\nFROM people WHERE agee = 3");
  await page.getByText(/^Line 2, column 19: there is no column `agee`; did you mean `age`/).waitFor();
  assert.equal(await page.locator("mark").textContent(), "agee");
  assert.equal(await page.getByRole("button", { name: "Ask" }).isDisabled(), true);
  await alice.accessible("what is wrong");
  const many = matching((_, age) => age < 20).length;
  await ask(page, "age < 20");
  await page.getByRole("alert").getByText(new RegExp(`^${many} rows match, .*LIMIT ${many}`)).waitFor();
  await ask(page, `age < 20 LIMIT ${many}`);
  await heading(page, many).waitFor();
  await ask(page, "name LIKE '%ina 99%'");
  await heading(page, matching((name) => name.includes("ina 99")).length).waitFor();
  passed("what is wrong is told, and asked again");
}

// Two questions of one shape look alike, and nothing of what is asked for leaves the page.
async function alike(alice, asked) {
  const { page } = alice;
  const sizes = [];
  for (const name of ["Eve 3%", "Bob 7%"]) {
    asked.splice(0);
    await ask(page, `name LIKE '${name}' LIMIT 300`);
    await heading(page, matching((found) => found.startsWith(name.slice(0, -1))).length).waitFor();
    const calls = asked.filter(({ path }) => /PdqService/.test(path));
    for (const { body } of calls) assert.ok(!body.includes(name.slice(0, 5)), "a constant left the page");
    sizes.push(calls.map(({ path, body }) => `${path} ${body.length}`));
  }
  assert.deepEqual(sizes[0], sizes[1]);
  assert.match(sizes[0].join(), /UploadPart.*Ask/);
  passed("two questions of one shape look alike");
}

// A question that is stopped, a key that the server forgot, and one that she forgets.
async function ends(alice) {
  const { page } = alice;
  const keys = () => page.getByRole("cell", { name: /^A key of/ }).count();
  const calls = "**/omr.v1.PdqService/Ask";
  await page.route(calls, () => {});
  await ask(page, "id = 7");
  await page.getByText("Others go first").or(page.getByText("Your question goes to the server")).first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("alert").getByText("Stopped.").waitFor();
  await page.unroute(calls);
  const before = await keys();
  const headers = { "content-type": "application/grpc-web+proto", "grpc-status": "5", "grpc-message": "no key" };
  await page.route(calls, (route) => route.fulfill({ headers }), { times: 1 });
  await ask(page, "id = 8");
  await heading(page, 1).waitFor();
  assert.equal(await keys(), before + 1, "the key is sent again, as the page says");
  await page.getByRole("button", { name: "Forget my key" }).click();
  await page.getByRole("cell", { name: /^A key of/ }).first().waitFor({ state: "detached" });
  await field(page).waitFor();
  await ask(page, "id = 9");
  await heading(page, 1).waitFor();
  await page.close();
  passed("a question that is stopped, a key that is forgotten");
}

// The package on a page of another origin.
async function api() {
  const someone = await Person.of(browser, server.url, `${site.origin}/`);
  const page = await someone.visit();
  const found = await page.evaluate(async (url) => {
    const { QueryError, Tables } = await import("/dist/tables.js");
    const seen = [];
    const tables = await Tables.open({ server: url, insecure: true }, (one) => seen.push(one));
    const [{ name, rows }] = await tables.list();
    const { columns } = await tables.schema(name);
    const failed = await tables.plan(name, "SELECT x FROM people WHERE age = 1").catch((error) => error);
    const sql = "SELECT age, name FROM people WHERE id IN (3, 5) LIMIT 2";
    const plan = await tables.plan(name, sql);
    const answer = await tables.ask(name, sql);
    const secure = await Tables.open({ server: url });
    const refused = await secure.plan(name, sql).catch((error) => error.message);
    for (const one of [tables, secure]) one.close();
    return {
      name,
      rows,
      columns: columns.map((column) => column.name),
      failed: [failed instanceof QueryError, failed.kind, failed.from, failed.to],
      bound: plan.bound,
      keyBytes: plan.keyBytes,
      found: [answer.numbers, answer.columns, answer.rows],
      bytes: [plan.bytesDown, answer.bytesDown],
      seen: seen.map(({ what }) => what).filter((what, i, all) => all[i - 1] !== what),
      refused,
    };
  }, server.url);
  const { bytes, keyBytes, refused, ...rest } = found;
  assert.deepEqual(rest, {
    name: "people",
    rows: ROWS,
    columns: ["id", "name", "age"],
    failed: [true, "syntax", 7, 8],
    bound: 2,
    found: [[3, 5], ["age", "name"], [3, 5].map((id) => [String(people[id].age), people[id].name])],
    seen: ["tables", "schema", "key", "question", "answer"],
  });
  assert.ok(keyBytes > 0 && Math.abs(bytes[0] - bytes[1]) < 200, String(bytes));
  assert.match(refused, /128 bits/);
  someone.check();
  passed("the package on a page of another origin");
}

async function figures(alice) {
  const page = await alice.visit();
  const seconds = async (work) => {
    const start = performance.now();
    await work();
    return (performance.now() - start) / 1000;
  };
  await page.getByRole("link", { name: /Ask tables/ }).click();
  await field(page).waitFor();
  const expected = matching((name, age) => name.startsWith("Ann 12") && age > 85);
  const condition = "name LIKE 'Ann 12%' AND age > 85 LIMIT 20";
  const found = () => heading(page, expected.length).waitFor();
  let first;
  const memory = await watched(browser, async () => {
    first = await seconds(() => ask(page, condition).then(found));
  });
  const cost = await page.getByRole("definition").allTextContents();
  console.log(`web: queries: planned: ${cost.slice(1).join("; ")}`);
  await shoot(page, "queries", { width: 1200, height: 1330 }, "light");
  const later = matching((name, age) => name.startsWith("Ann 34") && age > 85).length;
  const second = await seconds(() => ask(page, condition.replace("12", "34")).then(() => heading(page, later).waitFor()));
  console.log(`web: queries: as it says: ${await page.getByText(/ up, .* down, /).textContent()}`);
  await collect({ queries: { rows: ROWS, first_s: first, later_s: second, page_bytes: memory } });
}
