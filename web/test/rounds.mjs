// What a server sees of two rounds: the same calls of the same sizes, whatever a scan contained.
import assert from "node:assert/strict";
import { bend, open, read, register, send } from "./people.mjs";
import { recorder } from "./calls.mjs";

/** Messages that an answer has room for, in the sets for tests. */
const ROOM = 14;
/** Messages for those who have many: more than there is room for in four answers. */
const MANY = 60;
/** Bytes of a letter of so many messages. */
const bytesOf = (messages) => messages * 500;

/** People who differ in what is on the board for them, and in what happens to the first scan. */
const PEOPLE = {
  nobody: { messages: 0 },
  some: { messages: ROOM - 2 },
  many: { messages: MANY },
  // The first or the second answer of the first fetch is damaged: a scan, or what a query gave.
  damaged: { messages: MANY, damage: 1 },
  unanswered: { messages: MANY, damage: 2 },
  // Their pages are closed when the query of the first fetch is sent.
  nobodyCut: { messages: 0, cut: true },
  manyCut: { messages: MANY, cut: true },
};

export async function rounds(server, somebody, writer, { bent, shown }) {
  const people = [];
  for (const [name, of] of Object.entries(PEOPLE)) {
    const one = await somebody();
    one.open = await one.page();
    const address = await open(one.open, { server: server.url });
    await register(one.open);
    people.push({ ...one, ...of, name, address, taken: recorder(one.context, shown), queries: recorder(one.context, query) });
  }
  for (const { address, messages } of people) {
    if (messages === 0) continue;
    const { indices } = await send(writer, address, "x".repeat(bytesOf(messages)));
    assert.equal(indices.length, messages);
  }
  const letters = {};
  const waiting = {};
  for (let sync = 0; sync < MANY / ROOM; sync++) {
    const logs = {};
    for (const one of people) {
      one.taken();
      await first(one, sync, server, bent);
      letters[one.name] = (await read(one.open)).letters.length;
      (waiting[one.name] ??= []).push((await one.open.evaluate(() => globalThis.me.waiting())).messages);
      logs[one.name] = [one.taken(), await one.open.evaluate(() => globalThis.given.splice(0))];
    }
    for (const name of ["some", "many", "damaged", "unanswered"]) assert.deepEqual(logs[name], logs.nobody, `${name}, fetch ${sync}`);
    assert.deepEqual(logs.manyCut, logs.nobodyCut, `a page that was closed, fetch ${sync}`);
    assert.ok(logs.nobody[0].some((call) => call.startsWith("GetSeeds")), logs.nobody[0].join("\n"));
  }
  assert.deepEqual(letters, { nobody: 0, some: 1, many: 1, damaged: 0, unanswered: 0, nobodyCut: 0, manyCut: 1 });
  assert.deepEqual(waiting.nobody, [0, 0, 0, 0, 0]);
  assert.deepEqual(waiting.some, [0, 0, 0, 0, 0]);
  near(waiting.many, [46, 32, 18, 4, 0]);
  assert.deepEqual(waiting.damaged, [0, 0, 0, 0, 0]);
  assert.equal(waiting.unanswered[0], MANY);
  near(waiting.unanswered, [60, 46, 32, 18, 4]);
  // A query that was sent before its page was closed is sent again as it was.
  for (const { name, queries } of people) {
    const sent = queries().filter((one) => one !== undefined);
    const expected = PEOPLE[name].cut ? 1 : 0;
    assert.equal(sent.length - new Set(sent).size, expected, name);
    assert.equal(new Set(sent.map((one) => one.length)).size, 1, name);
  }
  // A person has the damaged scan made once more, with all that it found.
  const unanswered = people.find(({ name }) => name === "unanswered").open;
  assert.equal((await read(unanswered)).letters.length, 1);
  const damaged = people.find(({ name }) => name === "damaged").open;
  assert.equal(await damaged.evaluate(() => globalThis.me.retryDamaged()), 1);
  let found = 0;
  for (let sync = 0; sync <= MANY / ROOM; sync++) found = (await read(damaged)).letters.length;
  assert.equal(found, 1);
  assert.deepEqual(await damaged.evaluate(() => globalThis.me.keptRanges()), []);
  for (const one of people) await one.open.close();
}

/**
 * Checks how many messages wait after each fetch. A few of these small queries leave one message out, and a bucket without
 * a message to ask for asks for a random place, which may by chance be the place of one that waits.
 */
function near(found, expected) {
  const isNear = expected.every((count, sync) => Math.abs(found[sync] - count) <= Math.min(count, 2 * (sync + 1)));
  assert.ok(isNear, `expected about ${expected}, found ${found}`);
}

/** What befalls a page in the first fetch. */
async function first(one, sync, server, bent) {
  if (sync > 0) return;
  if (one.damage) {
    let digests = 0;
    await bend(one.open, bent, "DetectionService/FetchDigest", (digest) => {
      digests += 1;
      if (digests === one.damage) digest.data[digest.data.length >> 1] ^= 1;
    });
  }
  if (one.cut) {
    // The server has the query, and the page is closed before it receives the answer.
    const sent = new Promise((resolve, reject) => {
      one.open.route("**/omr.v1.DetectionService/CreateJob", async (route) => {
        const body = route.request().postDataBuffer();
        if (query(route.request().url(), body) === undefined) return route.continue();
        await route.fetch().then(resolve, reject);
      });
    });
    const fetched = one.open.evaluate(() => globalThis.me.fetch()).catch(() => {});
    await sent;
    await one.open.close();
    await fetched;
    one.open = await one.page();
    await open(one.open, { server: server.url });
  }
}

/** The body of a request for the answer to a query, as text; nothing of another call. */
function query(path, body) {
  return /CreateJob$/.test(path) && body.length > 2000 ? body.toString("base64") : undefined;
}
