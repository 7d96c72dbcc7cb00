// Pages that are closed at any time: what they had begun goes on in the next one.
import assert from "node:assert/strict";
import { bend, open, read, register, send, text } from "./people.mjs";

/** Bytes of a chunk of a key, so that the smallest has several. */
const CHUNK = 1 << 18;

/** Times at which a page is closed, by turns: in a fetch three times, then while a digest is decoded. */
const ENDS = [
  // Before the server answers.
  (page) => new Promise((resolve) => setTimeout(resolve, 20)),
  // At the first request for a digest, and while one is sent.
  (page) => page.waitForRequest(/CreateJob/),
  (page) => page.waitForRequest(/FetchDigest/),
  decoding,
];

/** When the digest was decoded whose end the worker waits for: what it held is not kept yet, and never will be. */
async function decoding(page, round) {
  const [worker] = page.workers();
  await worker.evaluate((before) => {
    const { delete: remove } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.delete = function (key) {
      if (key[0] !== "digests" || before-- > 0) return remove.call(this, key);
      new BroadcastChannel("decoded").postMessage("");
      for (;;);
    };
  }, round % 2);
  return page.evaluate(() => new Promise((resolve) => (new BroadcastChannel("decoded").onmessage = () => resolve())));
}

/** In what a page was closed, by what it left. */
async function closedIn(page) {
  return await page.evaluate(async () => {
    const asked = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const db = await asked(indexedDB.open("omr-recipient"));
    const rows = await asked(db.transaction("inbox").objectStore("inbox").getAll());
    db.close();
    // Each job that was answered has a digest until that is decoded.
    const count = (name) => rows.filter(({ table }) => table === name).length;
    if (count("jobs") > count("digests")) return "fetch";
    return count("digests") > 0 ? "decode" : "between";
  });
}

/** Her keys are sent by pages of which each ends after some chunks. */
export async function interrupted(person, server, times, bent) {
  let [address, sent] = [undefined, undefined];
  for (let i = 0; i <= times; i++) {
    const page = await person.page();
    if (i > 0) {
      await assert.rejects(open(page, { server, passphrase: "wrong" }), /the passphrase is wrong/);
    }
    const now = await open(page, { server });
    assert.equal(address ?? now, now);
    address = now;
    assert.equal(await page.evaluate(() => globalThis.me.ready()), false);
    if (i === times) {
      const told = await register(page);
      const again = told.find(({ stage, what }) => stage === "sending" && what === sent.what);
      assert.equal(again.done, sent.done, "nothing is sent again");
      return { page, address };
    }
    // One chunk passes, no other arrives.
    let chunks = 0;
    await bend(page, bent, "CapabilityService/GetCapabilities", ({ limits }) => (limits.chunkBytes = CHUNK));
    await page.route("**/omr.v1.KeyService/UploadChunk", (route) => (chunks++ === 0 ? route.continue() : route.abort()));
    sent = await page.evaluate(async () => {
      const told = [];
      const failed = globalThis.me.register((progress) => told.push(progress)).then(() => false, () => true);
      if (!(await failed)) throw new Error("all chunks arrived");
      return told.findLast(({ stage, done, total }) => stage === "sending" && done > 0 && done < total);
    });
    await page.close();
  }
}

/** Letters come once each, wherever in a fetch or in decoding her page is closed; how often it was where. */
export async function closed(alice, server, writer, times) {
  const before = (await read(alice.open)).letters.length;
  const counts = { fetch: 0, decode: 0, between: 0 };
  for (let i = 0; i < times; i++) {
    await send(writer, alice.address, `letter ${i}`);
    const [turn, round] = [i % ENDS.length, Math.floor(i / ENDS.length)];
    const end = Promise.resolve(ENDS[turn](alice.open, round)).catch(() => {});
    const fetched = alice.open.evaluate(() => globalThis.me.fetch()).catch(() => {});
    await Promise.race([end, fetched]);
    await alice.open.close();
    alice.open = await alice.page();
    const kind = await closedIn(alice.open);
    if (ENDS[turn] === decoding) assert.equal(kind, "decode");
    counts[kind] += 1;
    await open(alice.open, { server });
  }
  assert.ok(counts.fetch > 0 && counts.decode > 0, JSON.stringify(counts));
  const { letters } = await read(alice.open);
  const texts = letters.slice(before).map(text);
  assert.deepEqual(texts, Array.from({ length: times }, (_, i) => `letter ${i}`));
  return counts;
}
