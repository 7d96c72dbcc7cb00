// A chunk of a key whose bytes stay with the browser: a worker that read them would leave several times as much behind.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Numbers of the fields `UploadChunkRequest.chunk` and `UploadChunksRequest.data`. */
const [CHUNK, DATA] = [1, 3];
/** Bytes of a frame before its message: flag and length. */
const HEAD = 5;

/** `fetch` of an `UploadChunkRequest` without data, which are added. */
export function adding(data: Blob) {
  return async (to: URL | RequestInfo, init?: RequestInit): Promise<Response> => {
    const frame = init?.body;
    if (!(frame instanceof Uint8Array)) throw new Error("expected a frame as a request's body, found none");
    const field = (number: number, bytes: number) =>
      new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(bytes).finish() as Uint8Array<ArrayBuffer>;
    const inner = field(DATA, data.size);
    // A field's message may come in parts, and is all of them together.
    const outer = field(CHUNK, inner.length + data.size);
    const body = new Blob([frame as Uint8Array<ArrayBuffer>, outer, inner, data]);
    const head = new DataView(new ArrayBuffer(HEAD));
    head.setUint32(1, body.size - HEAD);
    return await fetch(to, { ...init, body: new Blob([head, body.slice(HEAD)]) });
  };
}
