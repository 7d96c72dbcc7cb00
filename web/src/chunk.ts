// A chunk of a key whose bytes stay with the browser: a worker that read them would leave several times as much behind.
import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** Tags of the fields `UploadChunkRequest.chunk`, number 1, and `UploadChunksRequest.data`, number 3: of a length. */
const [CHUNK, DATA] = [1 << 3 | 2, 3 << 3 | 2];
/** Bytes of a frame before its message: flag and length. */
const HEAD = 5;

/** `fetch` of an `UploadChunkRequest` without data, which are added. */
export function adding(data: Blob) {
  return async (to: URL | RequestInfo, init?: RequestInit): Promise<Response> => {
    // As the transport writes it: a flag, a length, the message.
    const frame = init?.body as Uint8Array<ArrayBuffer>;
    const field = (tag: number, bytes: number) =>
      new BinaryWriter().uint32(tag).uint32(bytes).finish() as Uint8Array<ArrayBuffer>;
    const inner = field(DATA, data.size);
    // A field's message may come in parts, and is all of them together.
    const outer = field(CHUNK, inner.length + data.size);
    const body = new Blob([frame, outer, inner, data]);
    const head = new DataView(new ArrayBuffer(HEAD));
    head.setUint32(1, body.size - HEAD);
    return await fetch(to, { ...init, body: new Blob([head, body.slice(HEAD)]) });
  };
}
