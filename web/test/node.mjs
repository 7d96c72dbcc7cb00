// The module in node: frozen files byte for byte, sizes, errors. `cargo xtask web` runs it.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { collect } from "./figures.mjs";

const [web, testdata] = [process.env.OMR_WEB, process.env.OMR_TESTDATA];
const module = await import(pathToFileURL(join(web, "src/wasm/omr_wasm.js")));
const { crc32c, Form, Header, Identity, Inbox, initSync, sealingTag, shortAddress, shortFingerprint, Stored, Writer } = module;
const MODULE = "omr_wasm_bg.wasm";
initSync({ module: await readFile(join(web, "dist", MODULE)) });

// Bytes after gzip -9.
const MOST_MODULE = 494_000;
/** protobuf-es brings JSON and descriptions of its own options, which no call here has, to each worker: 7 kB. */
const MOST_SCRIPTS = 79_000;
const MOST_QUERIES = 720_000;
/** What Node takes has no part in what browsers load. */
const NODE = "node.js";
/** What letters take; the rest is loaded with the part for tables alone. */
const ENTRIES = ["index.js", "main.js", "worker.js", "maker.js", "sw.js"];

/** The tag of the scheme of two rounds. */
const ROUNDS = 6;

const frozen = (name) => readFile(join(testdata, "wire/v1", name));
const array = async (name) => new Uint8Array(await frozen(name));
// An error of ours: a panic would be a RuntimeError.
const told = (text) => (error) => error.constructor === Error && text.test(error.message);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const listed = (found) => found.map(({ index, payload }) => `${index} ${hex(payload)}\n`).join("");

test("digests of every scheme give the messages that they held when they were frozen", async () => {
  const plain = Identity.fromBytes(await array("plain-v4/secret.key"));
  const messages = (await frozen("plain-v4/messages.txt")).toString();
  assert.equal(listed(plain.retrieve(await array("plain-v4/digest.bin"))), messages);
  const opened = Identity.fromBytes(await array("opened-v4/secret.key"));
  const found = opened.retrieve(await array("opened-v4/digest.bin"));
  const payloads = new Map(found.map((one) => [one.index, one.payload]));
  for (const index of [0, 1, 2047, 2048, 2300, 2499]) assert.equal(hex(payloads.get(index)), payload(index));
  const instant = Identity.fromBytes(await array("instant-v4/secret.key"));
  const lists = [];
  for (const name of (await readdir(join(testdata, "wire/v1/instant-v4"))).filter((name) => /^digest/.test(name))) {
    lists.push(listed(instant.retrieve(await array(`instant-v4/${name}`))));
  }
  assert.equal(lists[0].trim().split("\n").length, 4);
  assert.deepEqual(new Set(lists).size, 1, "all encodings hold the same");
});

// The payload of a message of the frozen board, evidence/e2e/tests/detector/packed.rs.
function payload(index) {
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64LE(BigInt(index));
  bytes.writeBigUInt64LE(~BigInt(index) & 0xffffffffffffffffn, 8);
  return hex(bytes.subarray(0, 12));
}

test("identities are written as they were read", async () => {
  const secret = await array("opened-v4/secret.key");
  const identity = Identity.fromBytes(secret.slice());
  assert.equal(hex(identity.toBytes()), hex(secret));
  assert.equal(hex(identity.clueKey), hex(await array("opened-v4/clue.key")));
  assert.equal(identity.params, "insecure-tiny-v4");
  assert.throws(() => Identity.generate("hybrid-v1", false), told(/hybrid-v1/));
  const fresh = [1, 2].map(() => Identity.generate("insecure-tiny-v4", true).toBytes());
  assert.notEqual(hex(fresh[0]), hex(fresh[1]));
});

test("two rounds are the scheme of new identities where the server has them, with one key", async () => {
  const identity = Identity.fromBytes(await array("instant-v4/secret.key"));
  assert.deepEqual([0, 1, 65_536].map((messages) => identity.newScheme(messages)), [0, ROUNDS, ROUNDS]);
  assert.equal(Identity.generate("instantomr-v2").newScheme(65_536), 0);
  assert.deepEqual(identity.keyNames(0), ["detection.key", "instant.key"]);
  assert.deepEqual(identity.keyNames(ROUNDS), ["rounds.key"]);
  assert.throws(() => identity.keyNames(7), told(/scheme, or 0, found 7/));
});

test("keys are made byte for byte as natively, in chunks of any size", async () => {
  for (const folder of ["opened-v4", "instant-v4"]) {
    const identity = Identity.fromBytes(await array(`${folder}/secret.key`));
    for (const name of [...identity.keyNames(0), ...identity.keyNames(ROUNDS)]) {
      const expected = (await frozen(`${folder}/made.${name}.b3`)).toString();
      for (const size of [1 << 20, 100_003]) {
        const chunks = [];
        const take = (chunk) => chunks.push(Buffer.from(chunk));
        const made = identity.makeKey(name, new Uint8Array(16).fill(4), 226 * 91 * 86_400, seed(), size, take);
        assert.equal(`${hex(made.hash)} ${made.bytes}\n`, expected, name);
        const lengths = chunks.map((chunk) => chunk.length);
        assert.equal(lengths.reduce((sum, length) => sum + length), made.bytes);
        assert.ok(lengths.slice(0, -1).every((length) => length === size));
      }
    }
    assert.throws(() => identity.makeKey("other.key", new Uint8Array(16), 0, seed(), 9, () => {}), /other\.key/);
    const stop = () => {
      throw new Error("enough");
    };
    assert.throws(() => identity.makeKey(identity.keyNames(0)[0], new Uint8Array(16), 0, seed(), 9, stop), /stopped/);
  }
});

function seed() {
  return new Uint8Array(32).fill(7);
}

test("letters are of the board's sizes and as the address wants them", async () => {
  const clueKey = await array("opened-v4/clue.key");
  const tag = sealingTag("hpke-x25519");
  const clueBytes = (await frozen("opened-v4/clue.bin")).length;
  const writer = (agreed, params, sealing, bytes) =>
    new Writer(clueKey, agreed, new Uint8Array(16), params, sealing, bytes, 612);
  const [one] = writer(tag, "insecure-tiny-v4", "hpke-x25519", clueBytes).write("a.txt", Buffer.from("hello"));
  assert.deepEqual([one.clue.length, one.payload.length], [clueBytes, 612]);
  const many = writer(tag, "insecure-tiny-v4", "hpke-x25519", clueBytes).write(undefined, new Uint8Array(5000));
  assert.equal(many.length, 10);
  assert.equal(new Set(many.map(({ clue }) => hex(clue))).size, 10);
  assert.throws(() => writer(tag, "insecure-tiny-v4", "none", clueBytes), told(/hpke-x25519.*none/));
  assert.throws(() => writer(tag, "hybrid-v4", "hpke-x25519", clueBytes), /insecure-tiny-v4.*hybrid-v4/);
  assert.throws(() => writer(tag, "insecure-tiny-v4", "hpke-x25519", 1), new RegExp(`${clueBytes} bytes.* 1$`));
});

test("letters that say who wrote them have the sizes of others", async () => {
  const identity = Identity.fromBytes(await array("opened-v4/secret.key"));
  const clueBytes = (await frozen("opened-v4/clue.bin")).length;
  const tag = sealingTag("hpke-x25519");
  const place = [new Uint8Array(16), "insecure-tiny-v4", "hpke-x25519", clueBytes, 612];
  const writer = new Writer(await array("opened-v4/clue.key"), tag, ...place);
  const thread = "07".repeat(16);
  const list = Buffer.concat([Buffer.from([1, 1, 0, 0, 0, 0]), Buffer.alloc(64)]);
  const other = new Writer(await array("opened-v4/clue.key"), tag, ...place);
  assert.throws(() => other.inPeriod(list, identity.verifyingKey, 1_800_000_000), told(/owner of the address signed/));
  const write = (text, ...fields) => {
    const signer = identity.signer("https://mail.example.org", tag, 50, 4096);
    return writer.write(undefined, Buffer.from(text), new Header(...fields), signer);
  };
  const [signed, ...none] = write("hello", 1_800_000_000, thread, "Dinner", "text/plain");
  assert.deepEqual([signed.clue.length, signed.payload.length, none], [clueBytes, 612, []]);
  assert.equal(identity.verifyingKey.length, 32);
  assert.throws(() => write("hello", 0, "7".repeat(31)), told(/32 hexadecimal digits of a conversation/));
  assert.throws(() => write("hello", 0, thread, "a\nb"), told(/visible characters in the subject/));
  assert.throws(() => write("hello", 0, thread, "x".repeat(257)), told(/256 bytes of the subject, found 257/));
  assert.throws(() => identity.signer(`https://${"x".repeat(250)}`, tag, 50, 4096), told(/URL of a server/));
});

test("senders are muted by their short address", async () => {
  const inbox = await inboxOf(new Map());
  const sender = shortAddress("https://a", 1, 50, 250, Buffer.from("key"), new Uint8Array(32));
  inbox.mute(sender);
  assert.deepEqual(inbox.muted(), [sender.split("@")[0]]);
  const kept = new Map();
  keep(inbox, kept);
  const again = await inboxOf(kept);
  assert.deepEqual(again.muted(), inbox.muted());
  assert.deepEqual([again.unmute(sender), again.unmute(sender), again.muted()], [true, false, []]);
  assert.throws(() => inbox.mute("omr1"), told(/expected an address omr1/));
  assert.throws(() => inbox.delete(1), told(/no message 1/));
});

test("damage and what belongs elsewhere are told, not shown", async () => {
  const identity = Identity.fromBytes(await array("opened-v4/secret.key"));
  const digest = await array("opened-v4/digest.bin");
  for (const at of [0, 20, digest.length >> 1, digest.length - 1]) {
    const bent = digest.slice();
    bent[at] ^= 1;
    assert.throws(() => identity.retrieve(bent), told(/./), `byte ${at}`);
  }
  assert.throws(() => Identity.fromBytes(digest.slice()), told(/./));
  assert.throws(() => identity.retrieve(new Uint8Array()), told(/./));
});

const HASH = new Uint8Array(32).fill(6);

const CALLS = { board: (inbox, { lengths }) => answerBoard(inbox, lengths), limits: (inbox) => inbox.answerLimits(1 << 20, 50, 0, 0, 1 << 16), job: answerJob };

// A board whose running hash is always the same.
function answerBoard(inbox, lengths, { boardId = new Uint8Array(16).fill(4), sealing = "hpke-x25519", end = 2500 } = {}) {
  const place = [boardId, "insecure-tiny-v4", sealing, 12, 0, end];
  const hashes = Array.from(lengths, (length) => (length <= end ? HASH : new Uint8Array()));
  return inbox.answerBoard(...place, HASH, new Uint8Array(16), lengths, hashes);
}

function answerJob(inbox, { start, end }) {
  return inbox.answerJob(Uint8Array.from([start, end].map((at) => at % 251)), HASH);
}

// An inbox of the frozen recipient, as it was kept.
async function inboxOf(kept, scheme = 0) {
  const identity = Identity.fromBytes(await array("opened-v4/secret.key"));
  const form = new Form(new Uint8Array(16).fill(4), sealingTag("hpke-x25519"), scheme, 30, 0, HASH);
  const records = [...kept.values()].map(({ table, name, content }) => new Stored(table, name, content));
  return new Inbox(identity, form, records);
}

function keep(inbox, kept) {
  for (const { table, name, content } of inbox.changes()) {
    const place = `${table} ${hex(name)}`;
    if (content === undefined) kept.delete(place);
    else kept.set(place, { table, name, content });
  }
}

test("an inbox goes on with the same requests after everything but what was kept is lost", async () => {
  const kept = new Map();
  const asked = [];
  const keys = [new Uint8Array(32)];
  for (const lost of ["board", "limits", "job", "watch", "none"]) {
    const inbox = await inboxOf(kept);
    let call = inbox.fetch(keys);
    for (; call !== undefined; keep(inbox, kept)) {
      keep(inbox, kept);
      if (call.kind === "job") asked.push(`${hex(call.id)} ${call.start}..${call.end} ${call.bound}`);
      if (call.kind === lost) break;
      if (call.kind === "watch") call = inbox.answerWatched();
      else if (call.kind === "digest") call = inbox.answerDigest(await array("opened-v4/digest.bin"));
      else call = CALLS[call.kind](inbox, call);
    }
    keep(inbox, kept);
  }
  assert.ok(asked.length >= 3 && asked.every((one) => one === asked[0]), asked.join());
  assert.match(asked[0], / 0\.\.2500 30$/);
  // Its board does not seal, which she did not agree to: kept for her, and nothing is shown.
  const inbox = await inboxOf(kept);
  assert.equal(inbox.takeOne(1), true);
  assert.equal(inbox.takeOne(1), false);
  assert.deepEqual(inbox.list(), []);
});

// What is requested in two rounds of a board of 2500 messages whose server answers with rubbish, until a call of the kind
// `lost`, after which the page is gone.
async function rubbish(kept, lost) {
  const inbox = await inboxOf(kept, ROUNDS);
  const calls = [];
  const fake = new Uint8Array(1000).fill(9);
  const answers = {
    ...CALLS,
    seeds: () => inbox.answerSeeds(Array.from({ length: 53 }, () => new Uint8Array(32).fill(3))),
    watch: () => inbox.answerWatched(),
    digest: () => inbox.answerDigest(fake),
  };
  let call = inbox.fetch([new Uint8Array(32)]);
  while (call !== undefined) {
    keep(inbox, kept);
    const { kind, id, start, end, bound, scheme, query } = call;
    calls.push({ kind, id: hex(id), range: [start, end], bound, scheme, query });
    if (calls.filter((one) => one.kind === kind).length === lost[kind]) return calls;
    call = answers[kind](inbox, call);
  }
  keep(inbox, kept);
  return calls;
}

test("two rounds are asked for whatever the first one brought, and a query that may have been sent is sent again", async () => {
  const kept = new Map();
  const calls = await rubbish(kept, {});
  const kinds = calls.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["board", "limits", "job", "watch", "digest", "seeds", "job", "watch", "digest"]);
  const jobs = calls.filter(({ kind }) => kind === "job");
  for (const { range, bound, scheme } of jobs) assert.deepEqual([range, bound, scheme], [[0, 2500], 0, ROUNDS]);
  const [scan, fetch] = jobs;
  assert.equal(scan.query.length, 0);
  assert.ok(fetch.query.length > 3000, String(fetch.query.length));
  // Scan and answer cannot be read: one is kept, the other reported, and nothing waits.
  const inbox = await inboxOf(kept, ROUNDS);
  assert.deepEqual([1, 2, 3].map((now) => inbox.takeOne(now)), [true, true, false]);
  assert.equal(inbox.newDamage().length, 1);
  assert.deepEqual(inbox.newDamage(), []);
  assert.deepEqual(inbox.kept().map(({ start, end, askedAgain }) => [start, end, askedAgain]), [[0, 2500, false]]);
  const { messages, fetches } = inbox.waiting();
  assert.deepEqual([messages, fetches, inbox.list()], [0, 0, []]);
  // A person may have it asked for again.
  assert.equal(inbox.retryDamaged(), 1);
  keep(inbox, kept);
  const again = await rubbish(kept, {});
  assert.deepEqual(again.filter(({ kind }) => kind === "job").map(({ range }) => range), [[0, 2500], [0, 2500], [0, 2500]]);

  // Wherever the page is lost, the next one goes on with the same ids and the same query.
  const others = new Map();
  const seen = [];
  for (const lost of [{ job: 1 }, { digest: 1 }, { seeds: 1 }, { job: 1 }, { watch: 1 }, {}]) seen.push(...(await rubbish(others, lost)));
  const sent = seen.filter(({ kind }) => kind === "job").map(({ id, query }) => `${id} ${hex(query)}`);
  const [scanned, asked, next] = new Set(sent);
  assert.deepEqual(sent, [scanned, scanned, scanned, asked, asked, asked, next], "the last fetch has a query of its own");
  assert.deepEqual([asked, next].map((one) => one.length), [33 + 2 * fetch.query.length, 33 + 2 * fetch.query.length]);
});

test("an inbox goes back where the board has another history, and reports it once", async () => {
  const inbox = await inboxOf(new Map());
  const visit = (end, hash) => {
    let call = inbox.fetch([new Uint8Array(32)]);
    const { lengths } = call;
    const hashes = Array.from(lengths, (length) => (length === 0 ? HASH : length <= end ? hash : new Uint8Array()));
    const place = [new Uint8Array(16).fill(4), "insecure-tiny-v4", "hpke-x25519", 12, 0, end];
    call = inbox.answerBoard(...place, hash, new Uint8Array(16), lengths, hashes);
    const job = inbox.answerLimits(1 << 20, 50, 0, 0, 1 << 16);
    assert.throws(() => inbox.answerFailed("other", "away"), told(/away/));
    return { call: call.kind, range: [job.start, job.end], forks: inbox.newForks() };
  };
  const other = new Uint8Array(32).fill(7);
  assert.deepEqual(visit(5, HASH), { call: "limits", range: [0, 5], forks: [] });
  const { range, forks } = visit(6, other);
  assert.deepEqual(range, [0, 6]);
  assert.match(forks.join(), /another history .*5 messages had been seen, it has 6.* from 0 on/);
  assert.deepEqual(visit(6, other).forks, []);
});

test("every place of a digest takes its time, with a letter or after those that are", async () => {
  const identity = Identity.fromBytes(await array("opened-v4/secret.key"));
  const digest = await array("opened-v4/digest.bin");
  const open = new Inbox(identity, new Form(new Uint8Array(16).fill(4), sealingTag("none"), 0, 30, 0, HASH), []);
  let call = open.fetch([new Uint8Array(32)]);
  const answers = { ...CALLS, watch: () => open.answerWatched(), digest: () => open.answerDigest(digest) };
  for (; call !== undefined; open.changes()) {
    call = call.kind === "board" ? answerBoard(open, call.lengths, { sealing: "none" }) : answers[call.kind](open, call);
  }
  assert.equal(open.settle(1), 0);
  assert.equal(open.takeOne(1), true);
  const found = identity.retrieve(digest).length;
  assert.deepEqual([1, 1, 30, 1].map((most) => open.settle(most)), [29 - found, 28 - found, 0, 0]);
});

test("an inbox refuses another board, another sealing and answers to nothing", async () => {
  const inbox = await inboxOf(new Map());
  const answer = (board) => () => answerBoard(inbox, inbox.fetch([new Uint8Array(32)]).lengths, board);
  assert.throws(answer({ boardId: new Uint8Array(16) }), told(/board 04040404.*00000000/));
  assert.throws(answer({ sealing: "none" }), told(/sealed|sealing/));
  assert.throws(answer({ boardId: new Uint8Array(3) }), told(/16 bytes, found 3/));
  const idle = await inboxOf(new Map());
  assert.throws(() => idle.answerWatched(), told(/none is made/));
  assert.throws(() => idle.fetch([new Uint8Array(31)]), told(/32 bytes, found 31/));
  const wrong = [new Stored("letters", new Uint8Array(), new Uint8Array())];
  const form = (scheme) => new Form(new Uint8Array(16), 1, scheme, 30, 0, HASH);
  const identity = Identity.fromBytes(await array("opened-v4/secret.key"));
  assert.throws(() => new Inbox(identity, form(0), wrong), told(/table letters/));
  assert.throws(() => new Inbox(identity, form(7), []), told(/found 7/));
});

test("short addresses have the fingerprint and its checksum", () => {
  const key = Buffer.from("key");
  const shortOf = (parts, verifyingKey, periodKeys) => shortAddress("https://a", 1, 50, parts, key, verifyingKey, periodKeys);
  const short = shortOf(250, new Uint8Array());
  const [code, server] = short.split("@");
  assert.equal(server, "https://a");
  assert.deepEqual(shortFingerprint(short), shortFingerprint(code));
  assert.equal(shortOf(250, new Uint8Array(), new Uint8Array()), short);
  for (const other of [
    shortOf(251, new Uint8Array()),
    shortOf(250, new Uint8Array(32)),
    shortOf(250, new Uint8Array(), new Uint8Array(1)),
  ]) {
    assert.notDeepEqual(shortFingerprint(other), shortFingerprint(short));
  }
  assert.throws(() => shortOf(250, new Uint8Array(31)), /31/);
  const typo = code.slice(0, -1) + (code.endsWith("q") ? "p" : "q");
  assert.throws(() => shortFingerprint(typo), /expected an address omr1/);
  assert.throws(() => shortFingerprint("bc1pw5dgrnzv"), told(/./));
});

test("the checksum of chunks is CRC-32C", () => {
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
});

test("package and page are small, and what asks tables is apart", async () => {
  for (const folder of ["dist", "mail"]) {
    const names = (await readdir(join(web, folder))).filter((name) => /\.(js|wasm)$/.test(name) && name !== NODE);
    const own = await imported(folder, ENTRIES.filter((name) => names.includes(name)));
    const sizes = { module: 0, scripts: 0, queries: { module: 0, scripts: 0 } };
    for (const name of names) {
      const packed = gzipSync(await readFile(join(web, folder, name)), { level: 9 }).length;
      const isScript = name.endsWith(".js");
      const of = (isScript ? own.has(name) : name === MODULE) ? sizes : sizes.queries;
      of[isScript ? "scripts" : "module"] += packed;
    }
    console.log(`web: gzip: ${folder}: ${JSON.stringify(sizes)}`);
    if (folder === "mail") await collect({ gzip: sizes });
    const { queries } = sizes;
    assert.ok(sizes.module <= MOST_MODULE && sizes.scripts <= MOST_SCRIPTS, JSON.stringify(sizes));
    assert.ok(queries.module <= MOST_QUERIES && queries.scripts <= MOST_SCRIPTS, JSON.stringify(sizes));
    assert.ok(queries.module > 0 && queries.scripts > 0, "they are there");
  }
});

// Scripts, and those that they load at once.
async function imported(folder, entries) {
  const all = new Set(entries);
  for (const name of all) {
    const text = await readFile(join(web, folder, name), "utf8");
    for (const [, path] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) all.add(path);
  }
  return all;
}
