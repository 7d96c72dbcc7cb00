// Addresses: docs/wire.md, sections 7 and 26.
import { ed25519 } from "@noble/curves/ed25519.js";
import { base64, bech32m, hex } from "@scure/base";
import type { ClueKey } from "./clue.js";
import { type Sealing, sealingOf } from "./letter.js";
import { type Bytes, equal, join, kdf, le32, le64, utf8 } from "./stream.js";

const BEGIN = "-----BEGIN OMR ADDRESS-----";
const END = "-----END OMR ADDRESS-----";
/** Added to the tag of the sealing in the fingerprint of an address with keys of periods. */
const HAS_PERIODS = 64;
const FINGERPRINT_BYTES = 16;
const SIGNATURE_BYTES = 64;
const MOST_TEXT = 2 ** 20;
const MOST_PERIOD_BYTES = 8192;
const PERIOD_HEAD = 6;
/** The beginning of period 0, and the length of a period, in seconds. */
const PERIOD_BEGIN = 1788480000;
const PERIOD_SECONDS = 2592000;

/** What an address contains. */
export interface Terms {
  /** The URL of the recipient's server; empty if the address names none. */
  server: string;
  sealing: Sealing;
  /** The highest number of the recipient's messages in one digest. */
  bound: number;
  /** The highest number of messages of one letter. */
  parts: number;
  clueKey: Bytes;
  /** Verifies the owner's signatures; empty if there is none. */
  signer: Bytes;
  /** The signed list of keys of periods; empty if there is none. */
  periods: Bytes;
}

/** Where letters go. Its fingerprint and the signature of its keys are checked. */
export class Address {
  readonly #terms: Terms;

  /** @internal */
  constructor(terms: Terms, fingerprint: Uint8Array) {
    this.#terms = terms;
    this.#check(fingerprint);
  }

  /** The URL of the recipient's server; empty if the address names none. */
  get server(): string {
    return this.#terms.server;
  }

  /** The highest number of messages of one letter. */
  get parts(): number {
    return this.#terms.parts;
  }

  /** @internal */
  get terms(): Terms {
    return this.#terms;
  }

  /** 128 bits over everything that the address contains, of its keys of periods only that there are some. */
  get fingerprint(): Bytes {
    const { server, sealing, bound, parts, clueKey, signer, periods } = this.#terms;
    const url = utf8(server);
    const tag = sealing.tag | (periods.length > 0 ? HAS_PERIODS : 0);
    const terms = join(le64(BigInt(url.length)), url, Uint8Array.of(tag), le32(bound), le32(parts), clueKey);
    const print = kdf("omr address v1", terms).slice(0, FINGERPRINT_BYTES);
    return signer.length === 0 ? print : kdf("omr signing address v1", signer, print).slice(0, FINGERPRINT_BYTES);
  }

  #check(fingerprint: Uint8Array): void {
    const { signer, periods } = this.#terms;
    if (signer.length !== 0 && signer.length !== 32) {
      throw new Error(`expected a verifying key of 32 bytes, found ${signer.length}`);
    }
    if (!equal(this.fingerprint, fingerprint)) {
      throw new Error("expected the address of this fingerprint, found another: do not trust it");
    }
    if (periods.length === 0) return;
    const list = periods.length - SIGNATURE_BYTES;
    if (list < PERIOD_HEAD || periods.length > MOST_PERIOD_BYTES || signer.length === 0) {
      throw new Error(`expected signed keys of periods of at most ${MOST_PERIOD_BYTES} bytes, found ${periods.length}`);
    }
    const signed = kdf("omr period v1 list of keys", periods.subarray(0, list));
    if (!ed25519.verify(periods.subarray(list), signed, signer, { zip215: false })) {
      throw new Error("expected keys of periods that the owner of the address signed, found others");
    }
    if (periods[0] !== 1) throw new Error(`expected keys of periods of version 1, found version ${periods[0]}`);
  }

  /**
   * The public key to which letters are sealed at a time in seconds since 1970: that of its period, or the permanent one.
   * @internal
   */
  sealingKey({ x25519, xWing }: ClueKey, seconds: number): Bytes {
    const { sealing, periods } = this.#terms;
    if (periods.length > 0 && periods[1] === sealing.tag) {
      const first = new DataView(periods.buffer, periods.byteOffset).getUint32(2, true);
      const place = Math.floor(Math.max(0, seconds - PERIOD_BEGIN) / PERIOD_SECONDS) - first;
      const keys = periods.slice(PERIOD_HEAD, periods.length - SIGNATURE_BYTES);
      const key = keys.slice(place * sealing.keyBytes, (place + 1) * sealing.keyBytes);
      if (place >= 0 && key.length === sealing.keyBytes) return key;
    }
    return sealing.name === "x-wing" ? xWing : x25519;
  }
}

/** Finds the address in a text, such as a mail that contains what `omr address` prints. */
export function parseAddress(text: string): Address {
  if (text.length > MOST_TEXT) throw new Error(`expected at most ${MOST_TEXT} characters, found ${text.length}`);
  const lines = text.split("\n").map((line) => line.replace(/^[\s>\ufeff]+|[\s>]+$/g, ""));
  const [begin, end] = [lines.indexOf(BEGIN), lines.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("expected an address between its first and its last line, found none");
  const fields = new Map<string, string>();
  let body = "";
  let periods = "";
  for (const line of lines.slice(begin + 1, end)) {
    const [, name, value] = line.match(/^([^:]*):\s*(.*)$/) ?? [];
    if (name === undefined || value === undefined) body += line;
    else if (name === "Periods") periods += value;
    else if (fields.has(name)) throw new Error(`expected one line ${name} in the address, found several`);
    else fields.set(name, value);
  }
  const field = (name: string) => fields.get(name) ?? "";
  if (field("Version") !== "1") throw new Error(`expected an address of version 1, found ${field("Version")}`);
  const number = (name: string) => {
    const found = /^[0-9]{1,10}$/.test(field(name)) ? Number(field(name)) : 0;
    if (found < 1 || found >= 2 ** 32) throw new Error(`expected a line ${name} with a number above 0, found ${field(name)}`);
    return found;
  };
  const bytes = (coded: string) => new Uint8Array(base64.decode(coded));
  const terms = {
    server: field("Server"),
    sealing: sealingOf(field("Sealing")),
    bound: number("Bound"),
    parts: number("Parts"),
    clueKey: bytes(body),
    signer: bytes(field("Signer")),
    periods: bytes(periods),
  };
  return new Address(terms, hex.decode(field("Fingerprint").replaceAll(" ", "").toLowerCase()));
}

/** The fingerprint in a short address, `omr1..` or `omr1..@https://host`. */
export function shortFingerprint(short: string): Bytes {
  const code = short.trim().split("@")[0] ?? "";
  const found = bech32m.decodeUnsafe(code);
  const fingerprint = found?.prefix === "omr" ? bech32m.fromWordsUnsafe(found.words) : undefined;
  if (fingerprint === undefined || fingerprint.length !== FINGERPRINT_BYTES) {
    throw new Error(`expected a short address such as omr1.. or omr1..@https://host, found ${JSON.stringify(short)}`);
  }
  return new Uint8Array(fingerprint);
}
