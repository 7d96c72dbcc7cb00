// The package in Node against a running server: `cargo xtask web` runs it.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startServer } from "../../tests/browser/server.mjs";

const SCRIPT = pathToFileURL(join(process.env.OMR_WEB, "dist/node.js")).href;
const { Recipient, RecipientError } = await import(SCRIPT);
const PASSPHRASE = "seven quiet herons at dusk";
/** How often a process is killed while it sends keys, and while it fetches. */
const KILLS = 4;

let server;
let folder;
before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "omr-node-"));
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const options = (name) => ({ server: server.url, passphrase: PASSPHRASE, folder: join(folder, name) });
const kind = (expected, message) => (error) =>
  error instanceof RecipientError && error.kind === expected && message.test(error.message);

async function letters(me) {
  const texts = [];
  for (const { number } of await me.letters()) texts.push(Buffer.from((await me.read(number)).bytes).toString());
  return texts;
}

/** Files below a folder. */
async function files(path) {
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test("letters arrive in folders that their owners alone can read, and stay there", async () => {
  const [alice, bob] = [await Recipient.open(options("alice")), await Recipient.open(options("bob"))];
  assert.equal(await alice.ready(), false);
  for (const me of [alice, bob]) await me.register();
  assert.equal(await alice.ready(), true);
  await bob.send(alice.address, "hello Alice");
  const file = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) % 251);
  await bob.send(alice.address, file, "a file.bin", { signed: true });
  await alice.fetch();
  const listed = await alice.letters();
  assert.deepEqual(listed.map(({ name, sender }) => [name, sender]), [[undefined, undefined], ["a file.bin", bob.address]]);
  assert.deepEqual((await alice.read(listed[1].number)).bytes, file);
  await alice.send(bob.address, "hello Bob");
  await Promise.all([bob.fetch(), alice.mute(bob.address)]);
  assert.deepEqual(await letters(bob), ["hello Bob"]);
  await Promise.all([alice.close(), bob.close()]);
  for (const path of await files(folder)) assert.equal((await stat(path)).mode & 0o777, 0o600, path);
  for (const name of ["alice", "bob"]) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o700);
  const again = await Recipient.open({ passphrase: PASSPHRASE, folder: join(folder, "alice") });
  assert.deepEqual([again.address, await again.ready()], [alice.address, true]);
  assert.deepEqual((await again.letters()).map(({ read }) => read), [false, true]);
  // Nothing that was written shows a letter or the secret.
  for (const path of await files(join(folder, "alice"))) assert.ok(!(await readFile(path)).includes("hello"), path);
  await again.close();
});

test("errors say what can be done", async () => {
  const alice = { passphrase: PASSPHRASE, folder: join(folder, "alice") };
  await assert.rejects(Recipient.open({ ...alice, passphrase: "another" }), kind("passphrase", /passphrase is wrong/));
  await assert.rejects(Recipient.open({ ...alice, server: "http://127.0.0.1:1" }), kind("other", /expected the recipient's server/));
  const self = join(alice.folder, "recipient.json");
  const text = await readFile(self, "utf8");
  await writeFile(self, text.replace('"bound": 50', '"bound": 51'));
  await assert.rejects(Recipient.open(alice), kind("changed", /changed since it was locked/));
  await writeFile(self, text.slice(0, 100));
  await assert.rejects(Recipient.open(alice), kind("other", /expected the file of an identity/));
  await writeFile(self, text);
  const me = await Recipient.open(alice);
  await assert.rejects(Recipient.open(alice), kind("other", /expected a folder that no other process uses/));
  await assert.rejects(me.send("../recipient", "x"), kind("other", /omr1/));
  await me.close();
  // Somewhere nothing answers.
  const nowhere = { ...options("nobody"), server: "http://127.0.0.1:1" };
  await assert.rejects(Recipient.open(nowhere), kind("unreached", /fetch failed/));
  await assert.rejects(Recipient.open({ ...options("new"), passphrase: "short" }), kind("other", /at least 8 characters/));
});

test("a signal stops a call, and the next one goes on", async () => {
  const reason = new Error("enough");
  let [call, stop] = [undefined, new AbortController()];
  const seen = ({ what }) => what === call && stop.abort(reason);
  const alice = await Recipient.open({ passphrase: PASSPHRASE, folder: join(folder, "alice") }, seen);
  await alice.send(alice.address, "a note");
  for (call of ["other", "scan", "digest"]) {
    stop = new AbortController();
    await assert.rejects(alice.fetch(undefined, stop.signal), (error) => error === reason, call);
  }
  await assert.rejects(alice.register(undefined, AbortSignal.abort(reason)), (error) => error === reason);
  await assert.rejects(alice.send(alice.address, "x", undefined, {}, AbortSignal.abort(reason)), (error) => error === reason);
  await alice.fetch();
  assert.deepEqual((await letters(alice)).slice(2), ["a note"]);
  // Also between the tries of a call that no server answers.
  const soon = Recipient.open({ ...options("nobody"), server: "http://127.0.0.1:1" }, undefined, AbortSignal.timeout(100));
  await assert.rejects(soon, { name: "TimeoutError" });
  await alice.close();
});

test("new letters are watched at times of the clock", async () => {
  const times = [];
  const seen = ({ what }) => what === "board" && times.push(Date.now());
  const me = await Recipient.open({ passphrase: PASSPHRASE, folder: join(folder, "alice") }, seen);
  const old = (await me.letters()).length;
  const stop = new AbortController();
  const letters = me.watch(1, stop.signal);
  try {
    const first = letters.next();
    await me.send(me.address, "one");
    assert.equal((await first).value.firstLine, "one");
    await me.send(me.address, "two");
    const before = times.length;
    // The body of a loop takes as long as it wants: fetches go on.
    await new Promise((resolve) => setTimeout(resolve, 3500));
    assert.ok(times.length >= before + 2, `${times.length - before} fetches`);
    assert.equal((await letters.next()).value.firstLine, "two");
    assert.equal((await me.letters()).length, old + 2);
  } finally {
    stop.abort(new Error("enough"));
    await assert.rejects(letters.next(), /enough/);
  }
  const fetches = times.length;
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(times.length, fetches);
  await assert.rejects(me.watch(0).next(), /expected at most .* found 0/);
  await assert.rejects(me.watch(1, AbortSignal.abort(new Error("before"))).next(), /before/);
  await me.close();
});

// What a process of its own does until it is killed.
const WORK = `
  const { Recipient } = await import(process.argv[1]);
  const me = await Recipient.open(JSON.parse(process.argv[2]));
  await me.register(({ stage }) => console.log(stage));
  console.log("fetching");
  await me.fetch(({ stage }) => console.log(stage));
  console.log("over");
`;

/** Runs that, and kills it a while after it said a word; whether it was over before. */
async function killed(options, word, milliseconds) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", WORK, SCRIPT, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (bytes) => {
    said += bytes;
    if (said.includes(word)) setTimeout(() => child.kill("SIGKILL"), milliseconds);
  });
  await new Promise((resolve) => child.on("close", resolve));
  return said.includes("over");
}

test("letters come once, as often as the process is killed", async () => {
  const carol = options("carol");
  for (const word of ["making", "sending"]) assert.equal(await killed(carol, word, 1), false, word);
  const bob = await Recipient.open({ passphrase: PASSPHRASE, folder: join(folder, "bob") });
  let me = await Recipient.open(carol);
  await me.register();
  const sent = [];
  for (let i = 0; i < KILLS; i++) {
    await bob.send(me.address, `letter ${i}`);
    sent.push(`letter ${i}`);
    await me.close();
    await killed(carol, "fetching", 40 * i);
    me = await Recipient.open(carol);
  }
  await me.fetch();
  assert.deepEqual(await letters(me), sent);
  await Promise.all([me.close(), bob.close()]);
});

test("what a process left half written is finished or forgotten", async () => {
  const carol = options("carol");
  const inbox = join(carol.folder, "inbox");
  const [one, ...rest] = (await readdir(inbox)).filter((name) => name.startsWith("bodies-"));
  const content = await readFile(join(inbox, one));
  await rm(join(inbox, one));
  await writeFile(join(inbox, `${rest[0]}.new`), "half");
  await writeFile(join(carol.folder, "changes.json"), JSON.stringify([{ file: one, content: content.toString("hex") }]));
  const me = await Recipient.open(carol);
  assert.equal((await letters(me)).length, KILLS);
  await me.close();
});

test("the document's program reads its own letter", async () => {
  const page = await readFile(new URL("../../docs/web.md", import.meta.url), "utf8");
  const [, program] = /^```js\n(.*?)^```/ms.exec(page);
  const placed = program
    .replace('"oblivious-omr/node"', JSON.stringify(SCRIPT))
    .replace("https://omr.example.org", server.url)
    .replace('"bot"', JSON.stringify(join(folder, "bot")));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", placed]);
  assert.equal(stdout, "a note to myself\n");
});

test("a browser's entry names this one", async () => {
  const browser = await import(pathToFileURL(join(process.env.OMR_WEB, "dist/index.js")));
  await assert.rejects(browser.Recipient.open(options("alice")), /oblivious-omr\/node/);
});
