// Identities as they are kept and given away: whoever changes a field is found out. `cargo xtask web` runs it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

const tested = pathToFileURL(join(process.env.OMR_WEB, "tested/kept.js"));
const {
  about, checked, Code, ConnectError, conversations, create, encodeBinaryHeader, from, fromFile, lockSecret, newLock, openSecret,
  PostRefusalSchema, postSome, proven, toFile, Vault,
} = await import(tested);

const PASSPHRASE = "seven quiet herons at dusk";
const SECRET = [1, 2, 3, 4];
const CHANGED = /^Changed: this identity was changed since it was locked/;
const WRONG = /^WrongPassphrase: the passphrase is wrong, or the identity was changed/;

const bytes = (...values) => new Uint8Array(values);

// A recipient with one key that is registered and one that is not.
async function made(vault, lock, fields = {}) {
  const seed = async (of) => await vault.seal("seed", bytes(of, of));
  return {
    server: "https://omr.example.org",
    params: "insecure-tiny-v4",
    boardId: bytes(4, 4),
    sealing: 1,
    scheme: 6,
    bound: 50,
    parts: 250,
    begins: 1000,
    logHash: bytes(3, 3),
    clueKey: bytes(5, 6),
    verifyingKey: bytes(1, 2),
    lock,
    secret: await lockSecret(vault, bytes(...SECRET)),
    keys: [
      { name: "instant.key", made: 1_790_000_000, seed: null, hash: bytes(7, 8), registered: true },
      { name: "detection.key", made: 1_790_000_000, seed: await seed(9), hash: null, registered: false },
    ],
    ...fields,
  };
}

const lock = newLock();
const vault = await Vault.open(PASSPHRASE, lock);
const file = toFile(await proven(vault, await made(vault, lock)));
const opened = async (file, passphrase = PASSPHRASE) => {
  const found = fromFile(file);
  const vault = await Vault.open(passphrase, found.lock);
  return await openSecret(vault, await checked(vault, found));
};
const changed = (change) => {
  const all = JSON.parse(new TextDecoder().decode(file));
  change(all);
  return new TextEncoder().encode(JSON.stringify(all));
};

test("an identity that nobody changed opens with its passphrase alone, and is written as it was read", async () => {
  assert.deepEqual([...(await opened(file))], SECRET);
  assert.deepEqual([...(await opened(changed(() => {})))], SECRET, "spaces and line ends do not count");
  await assert.rejects(opened(file, "another"), WRONG);
  assert.deepEqual([...toFile(fromFile(file))], [...file]);
});

test("an identity from before two rounds opens, with the scheme that it had", async () => {
  const older = new Uint8Array(await readFile(join(process.env.OMR_TESTDATA, "web/identity.json")));
  assert.deepEqual([...(await opened(older))], SECRET);
  const found = fromFile(older);
  assert.equal(found.scheme, 0);
  assert.deepEqual(found.keys.map(({ name }) => name), ["instant.key", "detection.key"]);
  assert.deepEqual([...(await opened(toFile(found)))], SECRET, "as it is kept now");
  await assert.rejects(opened(toFile({ ...found, scheme: 6 })), CHANGED);
  assert.deepEqual([...found.verifyingKey], []);
  // A newer one does not pass for an older one.
  await assert.rejects(opened(changed((all) => delete all.scheme)), CHANGED);
  await assert.rejects(opened(changed((all) => delete all.verifyingKey)), CHANGED);
});

/** The paths of all values in a file. */
function paths(value, path = []) {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => paths(inner, [...path, name]));
}

/** Another value of the same kind. */
function other(value) {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (value === null) return null;
  // Base 64 stays base 64 of as many bytes.
  return (value[0] === "A" ? "B" : "A") + value.slice(1);
}

test("an identity with any other field is refused", async () => {
  const all = paths(JSON.parse(new TextDecoder().decode(file)));
  const tried = [];
  for (const path of all.filter(([name]) => name !== "format")) {
    const bent = changed((all) => {
      const holder = path.slice(0, -1).reduce((at, name) => at[name], all);
      const last = path.at(-1);
      // What is not there yet becomes something of its kind.
      const absent = last === "seed" ? all.secret : "AAAA";
      holder[last] = holder[last] === null ? absent : other(holder[last]);
    });
    const error = path[0] === "lock" || path[0] === "secret" ? WRONG : CHANGED;
    await assert.rejects(opened(bent), error, path.join("."));
    tried.push(path.join("."));
  }
  for (const name of ["server", "boardId", "sealing", "scheme", "bound", "parts", "begins", "logHash", "verifyingKey", "keys.1.made", "keys.1.seed.data"]) {
    assert.ok(tried.includes(name), name);
  }
  for (const change of [
    (all) => all.keys.reverse(),
    (all) => all.keys.pop(),
    (all) => all.keys.push(all.keys[0]),
    (all) => Object.assign(all.keys[1], { seed: null }),
    // An empty text of another purpose.
    (all) => Object.assign(all, { proof: all.keys[1].seed }),
  ]) {
    await assert.rejects(opened(changed(change)), CHANGED, String(change));
  }
  await assert.rejects(opened(changed((all) => delete all.proof)), /expected an object as proof/);
});

test("an identity of letters that everybody can read is refused, whoever vouches for it", async () => {
  const open = toFile(await proven(vault, await made(vault, lock, { sealing: 0 })));
  await assert.rejects(opened(open), /expected an identity of sealed letters/);
});

test("a passphrase is tried with as many rounds as are safe and no more than are bearable", async () => {
  for (const rounds of [0, 1, 599_999, 60_000_001]) {
    await assert.rejects(opened(changed((all) => (all.lock.rounds = rounds))), /expected 600000 to 60000000 rounds.*found/);
  }
});

// A board whose first answers are refusals that name these positions.
function refusing(answers) {
  const posts = [];
  const refusal = (positions) => {
    const usedKeys = positions.map((position) => ({ position, index: 0n }));
    const header = encodeBinaryHeader(create(PostRefusalSchema, { usedKeys }), PostRefusalSchema);
    return new ConnectError("used", Code.AlreadyExists, { "post-refusal-bin": header });
  };
  const postMessages = async ({ messages }) => {
    posts.push(messages.map(({ clue }) => clue[0]));
    assert.ok(posts.length < 10, "posts go on for ever");
    const positions = answers[posts.length - 1];
    if (positions !== undefined) throw refusal(positions);
    return { firstIndex: 100n };
  };
  return { postMessages, posts };
}

test("messages that others posted first are left out, and a server that names none of them ends the post", async () => {
  const parts = [0, 1, 2].map((at) => ({ clue: bytes(at), payload: bytes(at) }));
  const copied = refusing([[1], [1]]);
  assert.deepEqual(await postSome(copied, parts), [100, undefined, undefined]);
  assert.deepEqual(copied.posts, [[0, 1, 2], [0, 2], [0]]);
  for (const positions of [[3], [4_000_000_000, 3], []]) {
    const board = refusing(Array(9).fill(positions));
    await assert.rejects(postSome(board, parts), /used/);
    assert.equal(board.posts.length, 1);
  }
});

test("letters are listed by conversation, and under nobody whose signature does not match", () => {
  const letter = (number, fields) => ({ number, index: number, forged: false, ...fields });
  const letters = [
    letter(1, { thread: "a", subject: "Dinner", sender: "omr1ann@https://a" }),
    letter(2, {}),
    letter(3, { thread: "a", subject: "Lunch", sender: "omr1bob" }),
    letter(4, { thread: "b", forged: true }),
    letter(5, {}),
  ];
  const groups = conversations(letters);
  assert.deepEqual(groups.map((group) => group.map(({ number }) => number)), [[5], [4], [3, 1], [2]]);
  assert.deepEqual(groups.map(about), ["no subject", "no subject", "Dinner", "no subject"]);
  assert.deepEqual(letters.map(from), ["omr1ann", undefined, "omr1bob", "(forged)", undefined]);
});
