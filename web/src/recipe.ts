// Detection keys, made from what they follow from.
import type { Bytes } from "./types.js";
import { crc32c, Identity } from "./wasm/omr_wasm.js";

/** What a key follows from. */
export interface Recipe {
  secret: Bytes;
  name: string;
  boardId: Bytes;
  made: number;
  seed: Bytes;
  /** Bytes of a piece. */
  pieceBytes: number;
}

/** A part of a key's file, which the browser keeps outside of the page's memory. */
export interface Piece {
  data: Blob;
  crc32c: number;
}

/** A key by its content. */
export interface Made {
  hash: Bytes;
  bytes: number;
  pieceBytes: number;
  pieces: Piece[];
}

/** Makes a key, for seconds in which this thread does nothing else, and wipes the recipe's secrets. */
export function makeKey({ secret, name, boardId, made, seed, pieceBytes }: Recipe): Made {
  const pieces: Piece[] = [];
  const take = (piece: Bytes) => pieces.push({ data: new Blob([piece]), crc32c: crc32c(piece) });
  try {
    const identity = Identity.fromBytes(secret);
    const { hash, bytes } = identity.makeKey(name, boardId, made, seed, pieceBytes, take);
    identity.free();
    return { hash: new Uint8Array(hash), bytes, pieceBytes, pieces };
  } finally {
    for (const wiped of [secret, seed]) wiped.fill(0);
  }
}
