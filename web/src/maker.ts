// A worker that makes detection keys: it is busy for seconds, and gone with its memory afterwards.
import { expose } from "comlink";
import type { Bytes } from "./types.js";
import init, { Identity } from "./wasm/omr_wasm.js";

/** What a key follows from. */
export interface Recipe {
  secret: Bytes;
  name: string;
  boardId: Bytes;
  made: number;
  seed: Bytes;
}

/** A key by its content. */
export interface Made {
  hash: Bytes;
  /** The file, which the browser keeps outside of the page's memory. */
  file: Blob;
}

/** Bytes that leave this worker's memory at once. */
const PIECE = 4 << 20;

const maker = {
  async make(recipe: Recipe): Promise<Made> {
    await init({ module_or_path: new URL("omr_wasm_bg.wasm", import.meta.url) });
    const identity = Identity.fromBytes(recipe.secret);
    const pieces: Blob[] = [];
    const { name, boardId, made, seed } = recipe;
    const take = (piece: Bytes) => pieces.push(new Blob([piece]));
    const key = identity.makeKey(name, boardId, made, seed, PIECE, take);
    for (const secret of [recipe.secret, recipe.seed]) secret.fill(0);
    identity.free();
    return { hash: new Uint8Array(key.hash), file: new Blob(pieces) };
  },
};

export type Maker = typeof maker;

expose(maker);
