// A worker that makes detection keys: it is busy for seconds, and gone with its memory afterwards.
import { expose } from "comlink";
import type { Bytes } from "./types.js";
import init, { crc32c, Identity } from "./wasm/omr_wasm.js";

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

const maker = {
  async make(recipe: Recipe): Promise<Made> {
    await init({ module_or_path: new URL("omr_wasm_bg.wasm", import.meta.url) });
    const { secret, name, boardId, made, seed, pieceBytes } = recipe;
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
  },
};

export type Maker = typeof maker;

expose(maker);
