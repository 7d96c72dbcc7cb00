// Pages that are closed at any time: what they had begun goes on in the next one.
import assert from "node:assert/strict";
import { open, read, register, send, text } from "./people.mjs";

/** Times at which a page is closed while it fetches, by turns. */
const ENDS = [
  // Before the server answers.
  (page) => new Promise((resolve) => setTimeout(resolve, 20)),
  // At the first request for a digest, while one is sent, and while the last one is decoded.
  (page) => page.waitForRequest(/CreateJob/),
  (page) => page.waitForRequest(/FetchDigest/),
  async (page) => {
    for (let i = 0; i < 2; i++) await page.waitForEvent("requestfinished", (request) => /FetchDigest/.test(request.url()));
  },
];

/** Her keys are sent by pages of which each ends after some chunks. */
export async function interrupted(person, server, times) {
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

/** Letters come once each, wherever in a fetch her page is closed. */
export async function closed(alice, server, writer, times) {
  const before = (await read(alice.open)).letters.length;
  for (let i = 0; i < times; i++) {
    await send(writer, alice.address, `letter ${i}`);
    const end = ENDS[i % ENDS.length](alice.open).catch(() => {});
    const fetched = alice.open.evaluate(() => globalThis.me.fetch()).catch(() => {});
    await Promise.race([end, fetched]);
    await alice.open.close();
    alice.open = await alice.page();
    await open(alice.open, { server });
  }
  const { letters } = await read(alice.open);
  const texts = letters.slice(before).map(text);
  assert.deepEqual(texts, Array.from({ length: times }, (_, i) => `letter ${i}`));
}
