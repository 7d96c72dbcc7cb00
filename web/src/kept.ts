// What is kept of a recipient, in the database and in her file: vouched for as a whole under her passphrase.
import type { Bytes } from "./types.js";
import type { Lock, Sealed, Vault } from "./vault.js";

/** A detection key. */
export interface KeptKey {
  name: string;
  /** When it was made, in seconds since 1970: its masks are those of that epoch. */
  made: number;
  /** What it follows from, until it is registered. */
  seed: Sealed | null;
  hash: Bytes | null;
  registered: boolean;
}

/** A recipient. */
export interface Kept {
  server: string;
  params: string;
  boardId: Bytes;
  /** Tag of the sealing that letters to her have. */
  sealing: number;
  /** Tag of the scheme of her requests; 0: that of her keys, which make digests. */
  scheme: number;
  bound: number;
  /** Messages that a letter to her may take. */
  parts: number;
  /** The board's length when she was made: no letter is before. */
  begins: number;
  /** The running hash of the board's log at that length. */
  logHash: Bytes;
  clueKey: Bytes;
  /** What verifies her signatures; empty where her address is of an older version, which does not have it. */
  verifyingKey: Bytes;
  lock: Lock;
  secret: Sealed;
  keys: KeptKey[];
}

/** A recipient with the proof that nobody changed a field of hers who does not have her passphrase. */
export interface Proven extends Kept {
  /** An empty text, sealed with all other fields as associated data. */
  proof: Sealed;
}

const SECRET = "secret";
const PROOF = "proof";
/** Tag of letters that everybody can read (docs/wire.md). */
const UNSEALED = 0;

/** Says that what is kept was changed by somebody without the passphrase. */
export class Changed extends Error {
  override name = "Changed";
  constructor() {
    super("this identity was changed since it was locked: expected what its passphrase vouches for, found something else");
  }
}

/** All fields but the proof as text, each at its place: two records with one text are the same. */
function canonical(kept: Kept): string {
  const { server, params, boardId, sealing, scheme, bound, parts, begins, logHash, clueKey, verifyingKey, ...more } = kept;
  const { lock, secret, keys, ...others } = more;
  // A field that is not listed does not compile.
  const none: Record<string, never> = others;
  if (Object.keys(none).length > 0) throw new Changed();
  const sealed = ({ iv, data }: Sealed) => [text(iv), text(data)];
  // Texts of older versions have no scheme, and theirs was 0; those of later ones have no verifying key.
  const chosen = [...(scheme === 0 ? [] : [scheme]), ...(verifyingKey.length === 0 ? [] : [text(verifyingKey)])];
  return JSON.stringify([
    [server, params, text(boardId), sealing, bound, parts, begins, text(logHash), text(clueKey), ...chosen],
    [text(lock.salt), lock.rounds],
    sealed(secret),
    keys.map(({ name, made, seed, hash, registered }) => [
      name,
      made,
      seed === null ? null : sealed(seed),
      hash === null ? null : text(hash),
      registered,
    ]),
  ]);
}

function text(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Seals a secret as `Kept.secret`, and wipes the array that it was given. */
export async function lockSecret(vault: Vault, secret: Bytes): Promise<Sealed> {
  return await vault.seal(SECRET, secret);
}

/** The recipient as she is now, to be kept or given away. */
export async function proven(vault: Vault, kept: Kept): Promise<Proven> {
  // Nothing may change between the proof and what it is for.
  const now = structuredClone(kept);
  return { ...now, proof: await vault.seal(PROOF, new Uint8Array(), canonical(now)) };
}

/**
 * The recipient's fields, once her passphrase vouches for all of them.
 *
 * Errors: `WrongPassphrase`; `Changed`; letters that are not sealed, which no recipient agrees to.
 */
export async function checked(vault: Vault, { proof, ...kept }: Proven): Promise<Kept> {
  // A wrong passphrase opens nothing; with the right one the proof shows whether anything else was changed.
  (await vault.open(SECRET, kept.secret)).fill(0);
  try {
    await vault.open(PROOF, proof, canonical(kept));
  } catch {
    throw new Changed();
  }
  if (kept.sealing === UNSEALED) throw new Error("expected an identity of sealed letters, found one that everybody can read");
  return kept;
}

/** The secret. Who calls this wipes it. */
export async function openSecret(vault: Vault, kept: Kept): Promise<Bytes> {
  return await vault.open(SECRET, kept.secret);
}
