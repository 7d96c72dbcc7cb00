// Parts of letters and their sealing: docs/wire.md, section 10.
import { Chacha20Poly1305 } from "@hpke/chacha20poly1305";
import { CipherSuite, HkdfSha256 } from "@hpke/core";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";
import { XWing } from "@hpke/hybridkem-x-wing";
import { type Bytes, join, kdf, utf8 } from "./stream.js";

/** A way in which letters are sealed. */
export interface Sealing {
  name: "hpke-x25519" | "x-wing";
  tag: number;
  overhead: number;
  keyBytes: number;
}

const SEALINGS: readonly Sealing[] = [
  { name: "hpke-x25519", tag: 1, overhead: 48, keyBytes: 32 },
  { name: "x-wing", tag: 2, overhead: 1136, keyBytes: 1216 },
];

/** The sealing of a name or a tag. */
export function sealingOf(found: string | number): Sealing {
  const sealing = SEALINGS.find(({ name, tag }) => name === found || tag === found);
  if (sealing === undefined) throw new Error(`expected sealing hpke-x25519 or x-wing, found ${found}`);
  return sealing;
}

/** The payload of a plaintext. */
export async function seal({ name }: Sealing, key: Bytes, aad: Bytes, plaintext: Bytes): Promise<Bytes> {
  const kem = name === "x-wing" ? new XWing() : new DhkemX25519HkdfSha256();
  const suite = new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Chacha20Poly1305() });
  const recipientPublicKey = await suite.kem.deserializePublicKey(key);
  const sender = await suite.createSenderContext({ recipientPublicKey, info: utf8("omr seal v1") });
  const sealed = await sender.seal(plaintext, aad);
  return join(new Uint8Array(sender.enc), new Uint8Array(sealed));
}

const MOST_NAME = 4088;
const MOST_PARTS = 2 ** 24;
const FILE_NAME = 1;

function varint(x: number): Bytes {
  const bytes: number[] = [];
  for (let left = x; ; left = Math.floor(left / 128)) {
    if (left < 128) return Uint8Array.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}

/** The parts of a file, of `capacity` bytes each. */
export function split(name: string | undefined, content: Uint8Array, capacity: number): Bytes[] {
  if (name === undefined || name === "") return fragments(content, capacity);
  const text = utf8(name);
  if (text.length > MOST_NAME) throw new Error(`expected a name of at most ${MOST_NAME} bytes, found ${text.length}`);
  const field = join(varint(FILE_NAME), varint(text.length), text);
  const parts = fragments(join(varint(field.length), field, content), capacity - 2);
  // The name is left out where the file fits one part only without it.
  if (parts.length > 1 && fits(content, capacity)) return fragments(content, capacity);
  return parts.map((part) => join(Uint8Array.of(0, 1), part));
}

function fits(file: Uint8Array, capacity: number): boolean {
  return varint(2 * file.length + 1).length + file.length <= capacity;
}

function fragments(file: Uint8Array, capacity: number): Bytes[] {
  const padded = (...parts: readonly Uint8Array[]) => {
    const whole = new Uint8Array(capacity);
    whole.set(join(...parts));
    return whole;
  };
  if (fits(file, capacity)) return [padded(varint(2 * file.length + 1), file)];
  let total = 2;
  let most = 0;
  for (let needed = Infinity; needed > total; ) {
    most = capacity - varint(2 * capacity).length - 2 * varint(total).length - 24;
    if (most < 1) throw new Error(`expected payloads with room for a letter's parts, found room for ${capacity} bytes`);
    needed = Math.ceil(file.length / most);
    if (needed > total) {
      total = needed;
      needed = Infinity;
    }
  }
  if (total > MOST_PARTS) throw new Error(`expected a letter of at most ${MOST_PARTS} parts, found ${total}`);
  const id = crypto.getRandomValues(new Uint8Array(8));
  const hash = kdf("omr fragment v1 file", file).subarray(0, 16);
  return Array.from({ length: total }, (_, index) => {
    const piece = file.subarray(index * most, (index + 1) * most);
    return padded(varint(2 * piece.length), id, varint(total), varint(index), hash, piece);
  });
}
