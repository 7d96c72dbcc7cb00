// What a server may try: it is told, nothing of it is shown, and what was true comes later.
import assert from "node:assert/strict";
import { bend as bendIn, read, send, text } from "./people.mjs";

/** Messages of a letter that neither a digest of ours nor an answer carries at once. */
const MANY = 60;
/** Bytes of each, at least. */
const BYTES = 500;
/** Fetches in which spare requests ask for every message once more: seven classes, every other time. */
const SPARED = 14;

/** `rounds`: whether she has two rounds, and no digests. */
export async function malice(alice, writer, bent, rounds) {
  const page = alice.open;
  const bend = (call, change) => bendIn(page, bent, call, change);
  const before = (await read(page)).letters;
  const unchanged = async () => {
    assert.equal(await page.evaluate(async () => (await globalThis.me.letters()).length), before.length);
  };

  for (const [fields, error] of [
    [{ sealing: "none" }, /expected letters sealed with hpke-x25519, found none: refused/],
    [{ sealing: "x-wing" }, /expected letters sealed with hpke-x25519, found x-wing/],
    [{ boardId: new Uint8Array(16) }, /expected board [0-9a-f]{32}, found 0{32}/],
    [{ paramsId: "sophomr-v5" }, /expected a board of \S*hybrid-v4, found one of sophomr-v5/],
  ]) {
    const end = await bend("BoardService/GetBoard", ({ board }) => Object.assign(board, fields));
    await assert.rejects(read(page), error);
    await end();
    await unchanged();
  }
  // A board that shrinks is fetched again, with a warning; no letter is lost, and none comes twice.
  const fetched = () => page.evaluate(async () => (await globalThis.me.fetch()).warnings.join());
  const grows = await bend("BoardService/GetBoard", ({ board }) => Object.assign(board, { messages: 0n }));
  assert.match(await fetched(), /another history .*, it has 0\)/);
  await grows();
  await unchanged();
  assert.match(await fetched(), /another history/);
  await unchanged();
  assert.equal(await fetched(), "");
  const end = await bend("AddressService/FindAddress", ({ address }) => (address.clueKey[200] ^= 1));
  await assert.rejects(send(page, alice.address, "to somebody else"), /do not trust that server/);
  await end();
  for (const fields of [{ sealing: "none" }, { sealing: "x-wing" }]) {
    const end = await bend("BoardService/GetBoard", ({ board }) => Object.assign(board, fields));
    await assert.rejects(send(page, alice.address, "to be read by all"), /sealed/);
    await end();
  }

  const kept = () => page.evaluate(() => globalThis.me.keptRanges());
  const tried = async (letter, change, reason) => {
    await send(writer, alice.address, letter);
    const end = await bend("DetectionService/FetchDigest", change);
    await read(page);
    await end();
    await unchanged();
    assert.match((await kept()).at(-1).reason, reason);
  };
  let first;
  await tried("the truth", ({ data }) => {
    first ??= new Uint8Array(data);
    data[data.length >> 1] ^= 1;
  }, /./);
  await tried("the whole truth", (digest) => Object.assign(digest, { data: first, totalBytes: BigInt(first.length) }), /another request/);

  const { indices } = await writer.evaluate(
    ([address, bytes]) => globalThis.me.send(address, new Uint8Array(bytes).fill(7), "long.bin"),
    [alice.address, MANY * BYTES],
  );
  if (rounds) {
    assert.equal(await page.evaluate(() => globalThis.me.retryDamaged()), (await kept()).length);
  } else {
    await read(page);
    await unchanged();
    const overflowed = (await kept()).at(-1);
    assert.deepEqual([overflowed.overflowed, overflowed.end - overflowed.start], [indices.length, indices.length]);
  }
  let letters = [];
  for (let i = 0; i < SPARED && letters.length < before.length + 3; i++) letters = (await read(page)).letters;
  assert.deepEqual(await kept(), []);
  const came = letters.slice(before.length).map((letter) => letter.name ?? text(letter));
  assert.deepEqual(came.sort(), ["long.bin", "the truth", "the whole truth"]);
  assert.equal(letters.find(({ name }) => name === "long.bin").bytes.length, MANY * BYTES);
}
