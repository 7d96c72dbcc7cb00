// The package in Chromium against a running server, as `cargo xtask web` calls it; `--real`: of the default set.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startServer } from "../../tests/browser/server.mjs";
import { launch } from "../../tests/browser/tools.mjs";
import { collect } from "./figures.mjs";
import { closed, interrupted } from "./kills.mjs";
import { malice } from "./malice.mjs";
import { watched } from "./memory.mjs";
import { older, open, person, read, register, send, text } from "./people.mjs";
import { rounds } from "./rounds.mjs";
import { same } from "./same.mjs";
import { startSite } from "./site.mjs";

const real = process.argv.includes("--real");
/** How often a page is closed while it sends keys, and while it fetches. */
const [UPLOADS, KILLS] = real ? [3, 40] : [1, 4];
/** Most bytes that a page has while keys are made. */
const MEMORY = 100e6;
/** Fetches of one page after its first: engines compile what is used often once more. */
const LATER = real ? 9 : 1;
/** Messages of a scan at full size. */
const SCANNED = 65_536;
const run = promisify(execFile);
const { bent, shown } = await import(pathToFileURL(join(process.env.OMR_WEB, "tested/wire.js")));
const figure = (what, value) => console.log(`web: ${what}: ${value}`);

const site = await startSite(process.env.OMR_WEB);
const params = real ? null : "insecure-tiny-hybrid-v4";
const listing = () => startServer({ origins: [site.origin], params });
const servers = [await listing(), await listing(), await startServer({ params })];
const [server, quiet, deaf] = servers;
site.allow(servers.map(({ url }) => url));
const folder = await mkdtemp(join(tmpdir(), "omr-web-"));
const complaints = [];
let browser;
try {
  browser = await launch();
  const known = servers.map(({ url }) => url);
  const somebody = () => person(browser, site, known, complaints);
  const [alice, bob, olga] = [await somebody(), await somebody(), await somebody()];
  await step("a page calls where its origin is listed, and not elsewhere", async () => refusals(await alice.page()));
  await step("keys are made and sent", () => keys(alice));
  await step("an upload goes on where the page was closed", async () => {
    const { page, address } = await interrupted(bob, server.url, UPLOADS, bent);
    Object.assign(bob, { open: page, address });
  });
  await step("letters of one page are read by another", () => letters(alice, bob));
  if (real) await step("both rounds are opened at full size", () => full(alice, bob.open));
  await step(`${KILLS} letters of ${KILLS} come once, as often as the page is closed`, async () => {
    const { fetch, decode, between } = await closed(alice, server.url, bob.open, KILLS);
    figure("closed in a fetch; while it decodes; between them", `${fetch}; ${decode}; ${between}`);
    await collect({ closed: KILLS });
  });
  await step("what a malicious server answers is told, not shown, and what it hid comes later", () =>
    malice(alice, bob.open, bent, true),
  );
  await step("a recipient from before two rounds goes on with digests", () => digests(olga, bob.open));
  if (!real) {
    await step("a server sees the same of two rounds, whatever they find", async () => {
      const writer = await (await somebody()).page();
      await open(writer, { server: quiet.url });
      await rounds(quiet, somebody, writer, { bent, shown });
    });
  }
  await writeFile(join(folder, "letter.txt"), "hello from the command");
  await writeFile(join(folder, "long.txt"), "a letter of many parts\n".repeat(100));
  await step("page and command write to each other, and an exported secret is the same recipient", () => natives(alice));
  const dora = await somebody();
  await step("a server is asked the same by a page and by the command", () =>
    same(server, dora, bob.open, alice.address, (...args) => omr("dora", ...args), shown, folder),
  );
  assert.deepEqual(complaints, []);
} catch (error) {
  console.error(server.log());
  throw error;
} finally {
  await browser?.close();
  await Promise.all([...servers.map((one) => one.stop()), site.stop(), rm(folder, { recursive: true })]);
}

async function step(what, run) {
  const start = Date.now();
  await run();
  console.log(`web: ${what}: ok, ${seconds(start)}`);
}

function seconds(start) {
  return `${((Date.now() - start) / 1000).toFixed(1)} s`;
}

async function refusals(page) {
  await assert.rejects(open(page, { server: deaf.url, database: "deaf" }), /fetch|origin/i);
  for (const passphrase of ["", "seven77", "cafe\u0301 au"])
    await assert.rejects(open(page, { server: server.url, database: "empty", passphrase }), /at least 8 characters/);
  await page.close();
}

async function keys(alice) {
  const page = await alice.page();
  const start = performance.now();
  const address = await open(page, { server: server.url });
  assert.match(address, new RegExp(`^omr1[a-z0-9]+@${server.url}$`));
  const memory = await watched(browser, () => register(page));
  const ready = (performance.now() - start) / 1000;
  figure("ready to receive", `${ready.toFixed(1)} s`);
  figure("memory of a page at most", `${(memory / 1e6).toFixed(0)} MB`);
  await collect({ ready_s: ready, page_bytes: memory });
  assert.ok(memory <= MEMORY, `${memory} bytes`);
  assert.equal(await page.evaluate(() => globalThis.me.ready()), true);
  Object.assign(alice, { open: page, address });
}

// Another person's page writes to her, a text and a file of many parts; hers reads them.
async function letters(alice, bob) {
  const page = bob.open;
  const sent = await page.evaluate(async (address) => {
    const text = await globalThis.me.send(address, "hello Alice");
    const file = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) % 251);
    return [text, await globalThis.me.send(address, file, "a file.bin")].map(({ indices }) => indices);
  }, alice.address);
  assert.deepEqual(sent, [[0], Array.from({ length: sent[1].length }, (_, i) => i + 1)]);
  await assert.rejects(send(page, `x${alice.address}`, "x"), /omr1/);
  const first = await read(alice.open);
  const { letters } = first;
  assert.deepEqual(letters.map(({ index, name }) => [index, name]), [[0, undefined], [1, "a file.bin"]]);
  assert.equal(text(letters[0]), "hello Alice");
  assert.deepEqual(letters[1].bytes, Array.from({ length: 5000 }, (_, i) => (i * 7) % 251));
  const decoded = [first];
  for (let i = 1; i <= LATER; i++) {
    await send(page, alice.address, "once more");
    decoded.push(await read(alice.open));
    assert.equal(decoded.at(-1).letters.length, 2 + i);
  }
  figure("a scan with its payloads opened, the first by a new page", decoded.map(opened).join(", "));
  const waited = decoded.map(({ shown, digests }) => `${shown.toFixed(0)} ms of ${digests}`);
  figure("from the last answer until letters are listed, and of how many", waited.join(", "));
  const seal = await page.evaluate(async (url) => {
    await import("/tested/page.js");
    return await globalThis.sealing(url, "/dist/omr_wasm_bg.wasm", 50);
  }, server.url);
  figure("a message sealed with its clue", `${seal.toFixed(2)} ms`);
  await collect({ sealed_ms: seal });
}

function opened({ milliseconds, digests }) {
  return `${milliseconds.toFixed(1)} ms of ${digests}`;
}

// Strangers' messages fill the board; then each fetch has both rounds.
async function full(alice, writer) {
  await omr("dave", "id", "new", "--server", server.url);
  const { stdout } = await omr("dave", "id", "publish");
  await writeFile(join(folder, "much.bin"), Buffer.alloc(SCANNED * 500));
  await omr("dave", "send", "--to", stdout.match(/omr1\S+/)[0], "much.bin");
  for (let i = 0; i < 3; i++) await send(writer, alice.address, `letter ${i}`);
  const before = (await alice.open.evaluate(() => globalThis.me.letters())).length;
  await alice.open.close();
  alice.open = await alice.page();
  await open(alice.open, { server: server.url });
  const fetched = [];
  for (let i = 0; i <= LATER; i++) fetched.push(await read(alice.open));
  assert.equal(fetched[0].letters.length, before + 3);
  const [scan, answer] = await alice.open.evaluate(() => globalThis.given.map(({ bytes }) => bytes));
  figure("bytes of a scan and an answer", `${scan}, ${answer}`);
  figure("both rounds opened by a new page, then queries and answers alone", fetched.map(opened).join(", "));
  const [opened_ms, ...later] = fetched.map(({ milliseconds }) => milliseconds);
  const later_ms = later.sort((a, b) => a - b)[later.length >> 1];
  await collect({ messages: SCANNED, scan_bytes: scan, answer_bytes: answer, opened_ms, later_ms });
}

// Her keys and requests are those of older versions, also where nothing that is kept has a scheme.
async function digests(olga, writer) {
  const first = await olga.page();
  const address = await older(first, bent, server.url);
  const told = await register(first);
  assert.deepEqual(new Set(told.map(({ what }) => what)), new Set(["instant.key", "detection.key"]));
  await first.evaluate(async () => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const store = (await done(indexedDB.open("omr-recipient"))).transaction("recipient", "readwrite").objectStore("recipient");
    const { scheme, ...rest } = await done(store.get("self"));
    if (scheme !== 0) throw new Error(`expected digests, found scheme ${scheme}`);
    await done(store.put(rest, "self"));
  });
  await first.close();
  const page = await olga.page();
  assert.equal(await open(page, { server: server.url }), address);
  assert.equal(await page.evaluate(() => globalThis.me.ready()), true);
  Object.assign(olga, { open: page, address });
  await send(writer, address, "hello Olga");
  assert.deepEqual((await read(page)).letters.map(text), ["hello Olga"]);
  assert.deepEqual(await page.evaluate(() => globalThis.given.map(({ of }) => of)), ["request"]);
  await assert.rejects(
    writer.evaluate((address) => globalThis.me.send(address, new Uint8Array(200_000)), address),
    /a letter of at most 250 messages/,
  );
  if (real) return;
  // Spare requests of the same fetch do not ask for the letters that get lost: that depends on their places.
  await send(writer, address, "x".repeat(2000));
  await malice(olga, writer, bent, false);
}

/** Runs the command, with a folder of somebody's. */
async function omr(home, ...args) {
  const env = { ...process.env, OMR_HOME: join(folder, home) };
  return await run(process.env.OMR_COMMAND, args, { cwd: folder, env });
}

// The command writes to the page, and reads what the page writes and what it exports.
async function natives(alice) {
  await omr("carl", "send", "--to", alice.address, "letter.txt");
  const last = (await read(alice.open)).letters.at(-1);
  assert.deepEqual([last.name, text(last)], ["letter.txt", "hello from the command"]);
  await omr("carl", "id", "new", "--server", server.url);
  const { stdout } = await omr("carl", "id", "publish");
  const short = stdout.match(/omr1\S+/)[0];
  await send(alice.open, short, "hello Carl");
  await omr("carl", "inbox");
  assert.match((await omr("carl", "inbox", "read", "1")).stdout, /hello Carl/);
  // Each verifies what the other signs, and an answer finds its way.
  const about = { signed: true, subject: "Dinner", mediaType: "text/plain" };
  const { thread } = await send(alice.open, short, "At eight?", undefined, about);
  const { messages } = JSON.parse((await omr("carl", "inbox", "--json")).stdout);
  const { number, header } = messages.at(-1);
  assert.deepEqual([header.subject, header.media_type, header.thread, header.sender.genuine], ["Dinner", "text/plain", thread, true]);
  await omr("carl", "send", "--reply", String(number), "letter.txt");
  await read(alice.open);
  const answer = (await alice.open.evaluate(() => globalThis.me.letters())).at(-1);
  const { sender, forged, subject } = answer;
  assert.deepEqual([sender, forged, subject, answer.thread], [short, false, "Dinner", thread]);
  const secret = await alice.open.evaluate(async () => [...(await globalThis.me.secret())]);
  await writeFile(join(folder, "secret.key"), Buffer.from(secret), { mode: 0o600 });
  const imports = () =>
    alice.open.evaluate((options) => globalThis.open({ ...options, secret: Uint8Array.from(options.secret) }), {
      server: server.url,
      database: "imported",
      secret,
    });
  assert.equal(await imports(), alice.address);
  await assert.rejects(imports(), /without a recipient/);
}
