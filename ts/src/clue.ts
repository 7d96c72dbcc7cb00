// Clue keys and bound clues: docs/wire.md, sections 1, 7 and 8.
import { ed25519 } from "@noble/curves/ed25519.js";
import { type Bytes, bits, equal, join, kdf, le32, pack, residues, unpack, utf8, words } from "./stream.js";

export const SEED_BYTES = 32;
const X25519_BYTES = 32;
const X_WING_BYTES = 1216;
const BOUND = 2;
/** Residues of an offset, and the coordinates of the address from which it is made. */
const OFFSETS = 8;

/** The part of a parameter set that senders need. */
interface ParameterSet {
  name: string;
  /** The dimension, and the number of coefficients of x that are not 0. */
  n: number;
  weight: number;
  /** The least words of errors of magnitude 1, 2, ..; none where residues are halved. */
  thresholds: readonly bigint[];
  /** The coordinates of a clue. */
  coordinates: number;
  /** The clue secrets, and so the betas. */
  secrets: number;
  modulus: number;
}

const HALVED = { thresholds: [], modulus: 4188161 };
const ROUNDED = {
  thresholds: [7538572897413798467n, 9221034113024803944n, 9223371996401604628n, 9223372036854767091n],
  modulus: 786433,
};

/** All sets of version 1. */
export const SETS: readonly ParameterSet[] = [
  { name: "sophomr-v5", n: 1024, weight: 316, coordinates: 2, secrets: 1, ...HALVED },
  { name: "hybrid-v4", n: 1024, weight: 316, coordinates: 6, secrets: 2, ...HALVED },
  { name: "instantomr-v2", n: 1024, weight: 140, coordinates: 5, secrets: 1, ...ROUNDED },
  { name: "insecure-tiny-v4", n: 64, weight: 16, coordinates: 2, secrets: 1, ...HALVED },
  { name: "insecure-tiny-hybrid-v4", n: 64, weight: 16, coordinates: 6, secrets: 2, ...HALVED },
];

function tag(set: ParameterSet): Bytes {
  return kdf("omr params tag v1", utf8(set.name)).subarray(0, 4);
}

function isHalved(set: ParameterSet): boolean {
  return set.thresholds.length === 0;
}

/** Width in bits and modulus of posted residues. */
function posted(set: ParameterSet): { width: number; modulus: number } {
  return isHalved(set) ? { width: 21, modulus: (set.modulus + 1) / 2 } : { width: 10, modulus: 1024 };
}

function post(set: ParameterSet, x: number): number {
  return isHalved(set) ? x >>> 1 : Math.floor((1024 * x + 393216) / 786433) % 1024;
}

/** The content of a file clue.key. */
export interface ClueKey {
  set: ParameterSet;
  seed: Bytes;
  betas: number[][];
  x25519: Bytes;
  xWing: Bytes;
}

/** Reads a file clue.key for bound clues. */
export function readClueKey(file: Bytes): ClueKey {
  const { name, body } = readFrame(file);
  const set = SETS.find((one) => one.name === name);
  if (set === undefined) throw new Error(`expected a parameter set of version 1, found ${name}`);
  const width = bits(set.modulus);
  const count = set.n * set.secrets;
  const end = 1 + SEED_BYTES + Math.ceil((width * count) / 8);
  const expected = end + X25519_BYTES + X_WING_BYTES;
  if (body.length !== expected) throw new Error(`expected a clue key of ${expected} bytes, found ${body.length}`);
  if (body[0] !== BOUND) throw new Error(`expected an address for bound clues (kind ${BOUND}), found kind ${body[0]}`);
  const packed = body.subarray(1 + SEED_BYTES, end);
  const all = unpack(width, count, packed);
  if (all.some((x) => x >= set.modulus) || !equal(pack(width, all), packed)) {
    throw new Error("expected residues of the set in the clue key, found others");
  }
  return {
    set,
    seed: body.slice(1, 1 + SEED_BYTES),
    betas: Array.from({ length: set.secrets }, (_, i) => all.slice(i * set.n, (i + 1) * set.n)),
    x25519: body.slice(end, end + X25519_BYTES),
    xWing: body.slice(end + X25519_BYTES),
  };
}

/** Checks the frame of a file clue.key. */
function readFrame(file: Bytes): { name: string; body: Bytes } {
  const wrong = (expected: string) => new Error(`expected ${expected}, found another file of ${file.length} bytes`);
  const before = 9;
  if (file.length < before || !equal(file.subarray(0, 8), utf8("OMRF\x01\0\x02\0"))) throw wrong("a clue.key of version 1");
  const header = before + file[8]! + 24;
  if (file.length < header + 40) throw wrong("a whole clue.key");
  const length = new DataView(file.buffer, file.byteOffset).getBigUint64(header - 8, true);
  if (length !== BigInt(file.length - header - 40)) throw wrong("a clue.key with the length that it states");
  const end = file.length - 32;
  const sums = [
    equal(kdf("omr file v1 header", file.subarray(0, header)).subarray(0, 8), file.subarray(header, header + 8)),
    equal(kdf("omr file v1", file.subarray(0, end)), file.subarray(end)),
  ];
  if (sums.includes(false)) throw wrong("a clue.key with the checksums of its content");
  const name = String.fromCharCode(...file.subarray(before, before + file[8]!));
  return { name, body: file.slice(header + 8, end) };
}

/** Makes bound clues for one address on one board. */
export class Clues {
  readonly #key: ClueKey;
  readonly #board: Bytes;
  /** What stands for the address in hashes. */
  readonly address: Bytes;
  readonly #alpha: number[];
  readonly #offsets: number[];

  constructor(key: ClueKey, board: Bytes) {
    const { set, seed, betas } = key;
    this.#key = key;
    this.#board = board;
    this.address = kdf("omr bound clue address v1", tag(set), seed, ...betas.flat().map(le32));
    this.#alpha = residues(set.modulus, "omr clue key alpha v1", seed, set.n);
    this.#offsets = residues(set.modulus, "omr clue key offset v1", seed, OFFSETS);
  }

  /** The clue of a payload that contains `seed`; undefined for one of 2^16, which boards refuse. */
  clue(seed: Bytes, payload: Bytes): Bytes | undefined {
    const { set, betas } = this.#key;
    const { n, coordinates, modulus } = set;
    const sample = kdf("omr bound clue sample v1", seed, this.address);
    const drawn = words("omr bound clue randomness v1", sample, isHalved(set) ? n : 2 * n + coordinates);
    const x = ternary(set, drawn.slice(0, n));
    const e1 = errors(set, drawn.slice(n, 2 * n));
    const e2 = errors(set, drawn.slice(2 * n));
    const a = multiply(this.#alpha, x, modulus).map((sum, i) => post(set, (sum + (e1[i] ?? 0)) % modulus));
    let bodies = multiply(betas[0]!, x, modulus).slice(0, coordinates);
    if (betas[1] !== undefined) bodies = [...bodies.slice(0, 2), ...multiply(betas[1], x, modulus).slice(0, coordinates - 2)];
    const { width, modulus: small } = posted(set);
    const secret = kdf("omr bound clue key v1", seed, this.address, payload);
    const oneTime = new Uint8Array(ed25519.getPublicKey(secret));
    const hash = kdf("omr bound clue hash v1", tag(set), this.#board, oneTime, pack(width, a), payload);
    const rows = residues(modulus, "omr bound clue rows v1", hash, OFFSETS * coordinates);
    const b = bodies.map((body, j) => {
      const start = body + (e2[j] ?? 0);
      return post(set, this.#offsets.reduce((sum, w, k) => (sum + rows[OFFSETS * j + k]! * w) % modulus, start) % modulus);
    });
    const packed = pack(width, [...a, ...b]);
    const signed = kdf("omr bound clue signature v1", this.#board, oneTime, tag(set), packed, payload);
    const clue = join(Uint8Array.of(BOUND), tag(set), packed, oneTime, ed25519.sign(signed, secret));
    return isAccepted(a, small) ? clue : undefined;
  }
}

/** The coefficients -1, 0 and 1 of x, of the set's weight. */
function ternary({ weight }: ParameterSet, drawn: BigUint64Array): number[] {
  const marked = drawn.map((word, i) => (word & ~1n) | (i < weight ? 1n : 0n)).sort();
  return Array.from(marked, (word) => [0, 1, 0, -1][Number(word & 3n)]!);
}

/** Narrow Gaussian errors as residues. */
function errors({ thresholds, modulus }: ParameterSet, drawn: BigUint64Array): number[] {
  return Array.from(drawn, (word) => {
    const magnitude = thresholds.filter((threshold) => threshold <= word >> 1n).length;
    return (word & 1n) === 1n ? (modulus - magnitude) % modulus : magnitude;
  });
}

/** The product with x modulo X^n + 1 and the modulus. */
function multiply(of: readonly number[], x: readonly number[], modulus: number): number[] {
  const n = of.length;
  const sums = new Float64Array(n);
  x.forEach((sign, shift) => {
    if (sign === 0) return;
    for (let i = 0; i < n; i++) {
      const at = i + shift;
      if (at < n) sums[at]! += sign * of[i]!;
      else sums[at - n]! -= sign * of[i]!;
    }
  });
  return Array.from(sums, (sum) => ((sum % modulus) + modulus) % modulus);
}

/** Whether boards accept the norm of a clue's vector. */
function isAccepted(a: readonly number[], modulus: number): boolean {
  const [least, most] = a.length >= 1024 ? [0.65, 1.12] : [0.25, 2];
  const norm = a.reduce((sum, x) => sum + (2 * x > modulus ? x - modulus : x) ** 2, 0);
  const mean = (a.length * modulus * modulus) / 12;
  return least * mean <= norm && norm <= most * mean;
}
