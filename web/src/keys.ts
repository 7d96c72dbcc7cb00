// Detection keys: made in a worker of their own, sent in chunks, resumed after whatever ended them.
import type { Made, Maker, Recipe } from "./maker.js";
import { wrap } from "comlink";
import { Code, ConnectError } from "@connectrpc/connect";
import { passes, patiently, type Service } from "./service.js";
import type { Bytes } from "./types.js";
import { crc32c } from "./wasm/omr_wasm.js";

/** Makes a key without stopping this thread. */
export async function make(recipe: Recipe): Promise<Made> {
  const worker = new Worker(new URL("maker.js", import.meta.url), { type: "module", name: "omr keys" });
  try {
    const failed = new Promise<never>((_, reject) => {
      worker.onerror = (event) => reject(new Error(`the worker that makes keys ended: ${event.message}`));
    });
    return await Promise.race([wrap<Maker>(worker).make(recipe), failed]);
  } finally {
    worker.terminate();
  }
}

/** Tries of an upload that does not get on. */
const TRIES = 6;

/** Sends a key from where the server says, and registers it. */
export async function upload(service: Service, { hash, file }: Made, chunkBytes: number, tell: (sent: number) => void) {
  const total = BigInt(file.size);
  let [reached, tries] = [-1n, 0];
  for (;;) {
    const begun = await patiently(() => service.keys.beginUpload({ keyHash: hash, totalBytes: total }));
    tell(Number(begun.nextOffset));
    if (begun.complete) break;
    tries = begun.nextOffset > reached ? 0 : tries + 1;
    reached = begun.nextOffset;
    try {
      await send(service, hash, file, Number(begun.nextOffset), chunkBytes, tell);
    } catch (error) {
      // A lost answer, or a connection that broke: the server says where to go on.
      if (tries === TRIES || !(passes(error) || ConnectError.from(error).code === Code.OutOfRange)) throw error;
    }
  }
  await patiently(() => service.keys.registerKey({ keyHash: hash }));
}

async function send(
  service: Service,
  keyHash: Bytes,
  file: Blob,
  from: number,
  chunkBytes: number,
  tell: (sent: number) => void,
) {
  for (let sent = from; sent < file.size; tell(sent)) {
    const data = new Uint8Array(await file.slice(sent, sent + chunkBytes).arrayBuffer());
    const chunk = { keyHash, offset: BigInt(sent), data, crc32c: crc32c(data) };
    const { nextOffset } = await service.keys.uploadChunk({ chunk });
    sent = Number(nextOffset);
  }
}
