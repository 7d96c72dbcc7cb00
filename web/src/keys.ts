// Detection keys: sent in chunks, resumed after whatever ended them.
import { Code, ConnectError } from "@connectrpc/connect";
import type { Made, Piece } from "./recipe.js";
import { given, passes, patiently, type Service } from "./service.js";
import { crc32c } from "./wasm/omr_wasm.js";

/** Tries of an upload that does not get on. */
const TRIES = 6;

/** Sends a key from where the server says, and registers it. */
export async function upload(service: Service, made: Made, tell: (sent: number) => void) {
  const { hash, bytes } = made;
  let [reached, tries] = [-1n, 0];
  for (;;) {
    const begun = await patiently(() => service.keys.beginUpload({ keyHash: hash, totalBytes: BigInt(bytes) }), service.signal);
    tell(Number(begun.nextOffset));
    if (begun.complete) break;
    tries = begun.nextOffset > reached ? 0 : tries + 1;
    reached = begun.nextOffset;
    try {
      await send(service, made, Number(begun.nextOffset), tell);
    } catch (error) {
      // A lost answer, or a connection that broke: the server says where to go on.
      if (tries === TRIES || !(passes(error) || ConnectError.from(error).code === Code.OutOfRange)) throw error;
    }
  }
  await patiently(() => service.keys.registerKey({ keyHash: hash }), service.signal);
}

async function send(service: Service, made: Made, from: number, tell: (sent: number) => void) {
  for (let sent = from; sent < made.bytes; tell(sent)) {
    const { data, crc32c } = await piece(made, sent);
    const chunk = { keyHash: made.hash, offset: BigInt(sent), crc32c };
    const { nextOffset } = await service.chunk(data).uploadChunk({ chunk });
    sent = Number(nextOffset);
  }
}

/** What is sent from a place on. */
async function piece({ pieces, pieceBytes }: Made, at: number): Promise<Piece> {
  const whole = given("a place in the key", pieces[Math.floor(at / pieceBytes)]);
  if (at % pieceBytes === 0) return whole;
  // A server that had other limits, or lost the end of what came.
  const data = whole.data.slice(at % pieceBytes);
  return { data, crc32c: crc32c(new Uint8Array(await data.arrayBuffer())) };
}
