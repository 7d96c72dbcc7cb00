// Known answers: testdata/clue/bound, and the examples of docs/wire.md. The variable OMR_ROOT names the repository.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Clues, readClueKey, SETS } from "../dist/clue.js";
import { split } from "../dist/letter.js";

const VECTORS = join(process.env.OMR_ROOT, "testdata/clue/bound");
const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));
const hex = (found) => Buffer.from(found).toString("hex");
const known = async (name) => JSON.parse(await readFile(join(VECTORS, `${name}.json`), "utf8"));

for (const { name } of SETS) {
  test(`clues of ${name} are the known answers`, async () => {
    const { clue_key, board_id, clue_seed, payload, address, clue } = await known(name);
    const clues = new Clues(readClueKey(bytes(clue_key)), bytes(board_id));
    assert.equal(hex(clues.address), address);
    assert.equal(hex(clues.clue(bytes(clue_seed), bytes(payload))), clue);
  });
}

test("damaged clue keys are refused", async () => {
  const file = bytes((await known("insecure-tiny-v4")).clue_key);
  for (let at = 0; at < file.length; at++) {
    const changed = file.slice();
    changed[at] ^= 1;
    assert.throws(() => readClueKey(changed), /^Error: expected/, `byte ${at}`);
    assert.throws(() => readClueKey(file.slice(0, at)), /^Error: expected/, `${at} bytes`);
  }
});

test("parts are those of the document", () => {
  const hello = new TextEncoder().encode("hello");
  assert.deepEqual(split(undefined, hello, 16).map(hex), ["0b68656c6c6f00000000000000000000"]);
  assert.deepEqual(split("a", hello, 16).map(hex), ["0001130301016168656c6c6f00000000"]);
  for (const length of [0, 529, 530, 531, 1000, 100_000]) {
    const parts = split(undefined, new Uint8Array(length).fill(7), 532);
    assert.ok(parts.every((part) => part.length === 532));
    assert.equal(parts.length === 1, length <= 530, `${length}`);
  }
  assert.throws(() => split(undefined, new Uint8Array(100), 20), /room for 20 bytes/);
  assert.throws(() => split("x".repeat(4089), hello, 9000), /at most 4088 bytes, found 4089/);
});
