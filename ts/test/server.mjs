// Letters to a running server, read by the command. The variable OMR_COMMAND names `omr`.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readClueKey } from "../dist/clue.js";
import { parseAddress, Server } from "../dist/index.js";
import { write } from "../dist/server.js";
import { scene, WORK } from "./scene.mjs";

const X_WING = '[board]\nsealing = "x-wing"\npayload_bytes = 2048\n';
const DAY = 86_400;
const bytes = (text) => new TextEncoder().encode(text);

for (const [sealing, config] of [["hpke-x25519", WORK], ["x-wing", WORK + X_WING]]) {
  test(`letters sealed by ${sealing} arrive`, async (t) => {
    const { url, omr, inbox, address } = await scene(t, config);
    const short = (await omr("id", "publish", "--home", "ann")).split(/\s/)[0];
    const server = new Server(url);
    const to = await server.find(short);
    const mail = `Dear Bob,\n> ${(await address()).replaceAll("\n", "\r\n> ")}`;
    assert.deepEqual(parseAddress(mail).fingerprint, to.fingerprint);
    assert.equal(to.server, url);
    const long = "a long letter\n".repeat(500);
    await server.send(to, { content: bytes("hello from TypeScript") });
    assert.ok((await server.send(to, { name: "long.txt", content: bytes(long) })).length > 1);
    assert.deepEqual(await inbox(), [[null, "hello from TypeScript"], ["long.txt", long]]);
  });
}

test("the program of the front page sends a letter", async (t) => {
  const { url, omr, inbox } = await scene(t);
  const short = (await omr("id", "publish", "--home", "ann")).split(/\s/)[0];
  const page = await readFile(join(process.env.OMR_ROOT, "ts/README.md"), "utf8");
  let program = page.match(/```ts\n([^]*?)```/)[1];
  for (const [shown, meant] of [["oblivious-omr-sender", "../dist/index.js"], ["https://mail.example.org:7600", url], ["omr1..", short]]) {
    assert.ok(program.includes(shown), shown);
    program = program.replace(shown, meant);
  }
  const file = new URL("front-page.js", import.meta.url);
  await writeFile(file, program);
  await import(file);
  assert.deepEqual(await inbox(), [["hello.txt", "hello"]]);
});

test("letters are sealed to the key of the present period", async (t) => {
  const { address } = await scene(t);
  const to = parseAddress(await address());
  const key = readClueKey(to.terms.clueKey);
  const now = Date.now() / 1000;
  const at = (days) => Buffer.from(to.sealingKey(key, now + days * DAY)).toString("hex");
  const permanent = Buffer.from(key.x25519).toString("hex");
  assert.equal(at(0), at(0));
  assert.notEqual(at(0), permanent);
  assert.notEqual(at(31), at(0));
  assert.notEqual(at(31), permanent);
  assert.equal(at(-31), permanent);
  assert.equal(at(1000), permanent);
});

test("changed addresses are refused", async (t) => {
  const { url, address } = await scene(t);
  const lines = (await address()).split("\n");
  for (const [at, line] of lines.entries()) {
    const without = lines.toSpliced(at, 1).join("\n");
    if (line === "") parseAddress(without);
    else assert.throws(() => parseAddress(without), Error, line);
  }
  for (const wrong of ["", "omr1", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"]) {
    await assert.rejects(new Server(url).find(wrong), /expected a short address/);
  }
});

test("a server cannot change what an address states", async (t) => {
  const { address } = await scene(t);
  const to = parseAddress(await address());
  const now = Date.now() / 1000;
  const { set } = readClueKey(to.terms.clueKey);
  const board = {
    boardId: new Uint8Array(16),
    paramsId: set.name,
    sealing: "hpke-x25519",
    clues: 2,
    clueBytes: 0,
    payloadBytes: 612,
    time: BigInt(Math.floor(now)),
  };
  const refused = (change, expected, content = bytes("hello")) =>
    assert.rejects(write({ ...board, ...change }, to, { content }, now), expected);
  await refused({}, /clues of 0 bytes, found/);
  await refused({ sealing: "none" }, /letters sealed by hpke-x25519/);
  await refused({ paramsId: "sophomr-v5" }, /a board of insecure-tiny/);
  await refused({ clues: 1 }, /bound clues/);
  await refused({ time: board.time - 50_000n }, /difference of 13 hours/);
  await refused({ payloadBytes: 90 }, /room for 10 bytes/, new Uint8Array(100));
});

test("messages that somebody copied stop no others, and a call ends by its signal", async (t) => {
  const { url, address, inbox } = await scene(t, "");
  const to = parseAddress(await address());
  const text = "a long letter\n".repeat(100);
  // What the server sees of a post is posted again by somebody else, before the server does.
  const original = globalThis.fetch;
  t.after(() => (globalThis.fetch = original));
  let copies = 0;
  globalThis.fetch = async (input, init) => {
    if (String(input).endsWith("/PostMessages") && copies === 0) {
      copies += 1;
      await original(input, { ...init, body: init.body.slice() });
      const lost = new Uint8Array(init.body);
      // Another id, as the copy has: its last byte.
      lost[5 + 2 + 15] ^= 1;
      return original(input, { ...init, body: lost });
    }
    return original(input, init);
  };
  const sent = await new Server(url).send(to, { content: bytes(text) });
  assert.deepEqual([sent, copies], [[], 1]);
  assert.deepEqual(await inbox(), [[null, text]]);
  const ended = new Server(url, { signal: AbortSignal.abort() });
  await assert.rejects(ended.send(to, { content: bytes("late") }), /abort|cancel/i);
});
