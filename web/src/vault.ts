// Secrets at rest: AES-GCM under a key that a passphrase gives and no script can read.
import type { Bytes } from "./types.js";

/** What is kept of a secret. */
export interface Sealed {
  iv: Bytes;
  data: Bytes;
}

/** Rounds of PBKDF2 with SHA-256, for new vaults. */
const ROUNDS = 600_000;
/** Most rounds that are tried: a file may name any number. */
const MOST_ROUNDS = 100 * ROUNDS;

/** What is kept of a vault itself. */
export interface Lock {
  salt: Bytes;
  rounds: number;
}

/** Says that a passphrase is wrong, or that what it locks was changed. */
export class WrongPassphrase extends Error {
  override name = "WrongPassphrase";
  constructor() {
    super("the passphrase is wrong, or the identity was changed: expected the one that the secret was locked with");
  }
}

export function newLock(): Lock {
  return { salt: crypto.getRandomValues(new Uint8Array(16)), rounds: ROUNDS };
}

/** Locks and unlocks secrets. */
export class Vault {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  static async open(passphrase: string, lock: Lock): Promise<Vault> {
    if (passphrase === "") throw new Error("expected a passphrase of at least one character, found none");
    if (lock.rounds < ROUNDS || lock.rounds > MOST_ROUNDS) {
      throw new Error(`expected ${ROUNDS} to ${MOST_ROUNDS} rounds for the passphrase, found ${lock.rounds}`);
    }
    const bytes = new TextEncoder().encode(passphrase);
    const base = await crypto.subtle.importKey("raw", bytes, "PBKDF2", false, ["deriveKey"]);
    bytes.fill(0);
    const how = { name: "PBKDF2", hash: "SHA-256", salt: lock.salt, iterations: lock.rounds };
    const kind = { name: "AES-GCM", length: 256 };
    return new Vault(await crypto.subtle.deriveKey(how, base, kind, false, ["encrypt", "decrypt"]));
  }

  /** Locks a secret for a purpose, and wipes the array that it was given; opens with the same `beside` alone. */
  async seal(purpose: string, secret: Bytes, beside = ""): Promise<Sealed> {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const data = await crypto.subtle.encrypt(parameters(iv, purpose, beside), this.#key, secret);
    secret.fill(0);
    return { iv, data: new Uint8Array(data) };
  }

  /** The secret, which who calls this wipes. */
  async open(purpose: string, sealed: Sealed, beside = ""): Promise<Bytes> {
    try {
      return new Uint8Array(await crypto.subtle.decrypt(parameters(sealed.iv, purpose, beside), this.#key, sealed.data));
    } catch {
      throw new WrongPassphrase();
    }
  }
}

function parameters(iv: Bytes, purpose: string, beside: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(`omr ${purpose} v1\n${beside}`) };
}
