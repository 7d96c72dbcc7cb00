// Hashes, streams of public randomness and packed residues: docs/wire.md, sections 2 and 3.
import { chacha20 } from "@noble/ciphers/chacha.js";
import { blake3 } from "@noble/hashes/blake3.js";

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Bytes {
  return new Uint8Array(encoder.encode(text));
}

/** Concatenates. */
export function join(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A number in 4 bytes, little-endian. */
export function le32(x: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, x, true);
  return bytes;
}

/** A number in 8 bytes, little-endian. */
export function le64(x: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, x, true);
  return bytes;
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The 32 bytes of BLAKE3's derive-key mode for parts that follow one another. */
export function kdf(context: string, ...parts: readonly Uint8Array[]): Bytes {
  return new Uint8Array(blake3(join(...parts), { context: utf8(context) }));
}

/** The first words of 8 bytes of a stream. */
export function words(domain: string, seed: Uint8Array, count: number): BigUint64Array<ArrayBuffer> {
  const taken = chacha20(kdf(domain, seed), new Uint8Array(12), new Uint8Array(8 * count));
  const view = new DataView(taken.buffer, taken.byteOffset);
  return BigUint64Array.from({ length: count }, (_, i) => view.getBigUint64(8 * i, true));
}

/** Uniform residues modulo a number below 2^32: words cut to its bits, without those that are not below it. */
export function residues(modulus: number, domain: string, seed: Uint8Array, count: number): number[] {
  const mask = BigInt(2 ** bits(modulus) - 1);
  for (let drawn = 2 * count + 64; ; drawn *= 2) {
    const all = Array.from(words(domain, seed, drawn), (word) => Number(word & mask));
    const found = all.filter((x) => x < modulus);
    if (found.length >= count) return found.slice(0, count);
  }
}

/** The binary length of a number below 2^31. */
export function bits(x: number): number {
  return 32 - Math.clz32(x);
}

/** Writes values in `width` bits each, least significant bit first. */
export function pack(width: number, values: readonly number[]): Bytes {
  const packed = new Uint8Array(Math.ceil((width * values.length) / 8));
  values.forEach((value, i) => {
    for (let bit = 0; bit < width; bit++) {
      const at = width * i + bit;
      packed[at >> 3]! |= ((value >>> bit) & 1) << (at & 7);
    }
  });
  return packed;
}

/** Reads `count` values of `width` bits. */
export function unpack(width: number, count: number, packed: Uint8Array): number[] {
  return Array.from({ length: count }, (_, i) => {
    let value = 0;
    for (let bit = 0; bit < width; bit++) {
      const at = width * i + bit;
      value |= ((packed[at >> 3]! >> (at & 7)) & 1) << bit;
    }
    return value;
  });
}
