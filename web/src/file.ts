// A recipient as a file for another device: JSON, whose secrets are under her passphrase as they are in the database, and
// whose other fields it vouches for.
import type { KeptKey, Proven } from "./kept.js";
import type { Bytes } from "./types.js";
import type { Sealed } from "./vault.js";

const FORMAT = "omr recipient 1";

type Json = { [name: string]: unknown };

export function toFile(kept: Proven): Bytes {
  const text = JSON.stringify(
    { format: FORMAT, ...kept },
    (_, value) => (value instanceof Uint8Array ? base64(value) : value),
    1,
  );
  return new TextEncoder().encode(text);
}

/** Checks every field: a file may be any. */
export function fromFile(file: Uint8Array): Proven {
  const all = parsed(file);
  const lock = object(all, "lock");
  return {
    server: text(all, "server"),
    params: text(all, "params"),
    boardId: bytes(all, "boardId"),
    sealing: whole(all, "sealing"),
    // Files of older versions have no scheme.
    scheme: all["scheme"] === undefined ? 0 : whole(all, "scheme"),
    bound: whole(all, "bound"),
    parts: whole(all, "parts"),
    begins: whole(all, "begins"),
    logHash: bytes(all, "logHash"),
    clueKey: bytes(all, "clueKey"),
    // Nor have they a verifying key.
    verifyingKey: all["verifyingKey"] === undefined ? new Uint8Array() : bytes(all, "verifyingKey"),
    lock: { salt: bytes(lock, "salt"), rounds: whole(lock, "rounds") },
    secret: sealed(all, "secret"),
    keys: list(all, "keys").map(key),
    proof: sealed(all, "proof"),
  };
}

function parsed(file: Uint8Array): Json {
  let all: unknown;
  try {
    all = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file));
  } catch {
    throw new Error("expected the file of an identity, found something else");
  }
  const found = isObject(all) ? all["format"] : undefined;
  if (!isObject(all) || found !== FORMAT) {
    throw new Error(
      `expected the file of an identity, ${FORMAT}, found ${typeof found === "string" ? found : "another"}`,
    );
  }
  return all;
}

function key(of: unknown): KeptKey {
  if (!isObject(of)) throw wrong("keys", "objects");
  return {
    name: text(of, "name"),
    made: whole(of, "made"),
    seed: of["seed"] === null ? null : sealed(of, "seed"),
    hash: of["hash"] === null ? null : bytes(of, "hash"),
    registered: truth(of, "registered"),
  };
}

function sealed(of: Json, name: string): Sealed {
  const found = object(of, name);
  return { iv: bytes(found, "iv"), data: bytes(found, "data") };
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function object(of: Json, name: string): Json {
  const value = of[name];
  if (!isObject(value)) throw wrong(name, "an object");
  return value;
}

function list(of: Json, name: string): unknown[] {
  const value = of[name];
  if (!Array.isArray(value)) throw wrong(name, "a list");
  return value;
}

function text(of: Json, name: string): string {
  const value = of[name];
  if (typeof value !== "string") throw wrong(name, "a text");
  return value;
}

function whole(of: Json, name: string): number {
  const value = of[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw wrong(name, "a whole number");
  return value;
}

function truth(of: Json, name: string): boolean {
  const value = of[name];
  if (typeof value !== "boolean") throw wrong(name, "true or false");
  return value;
}

function base64(value: Uint8Array): string {
  return btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join(""));
}

function bytes(of: Json, name: string): Bytes {
  try {
    return Uint8Array.from(atob(text(of, name)), (char) => char.charCodeAt(0));
  } catch {
    throw wrong(name, "bytes in base 64");
  }
}

function wrong(name: string, expected: string): Error {
  return new Error(`expected ${expected} as ${name} in the file of an identity, found something else`);
}
