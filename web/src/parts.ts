// Files that go to a server of tables in parts, and answers that come so.
import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import type { AskResponse, PdqService } from "./gen/omr/v1/pdq_pb.js";
import type { Asking } from "./query.js";
import { given, passes, patiently } from "./calls.js";
import type { Bytes } from "./types.js";

export type Pdq = Client<typeof PdqService>;

/** Most bytes of a part. */
const PART = 1 << 20;
/** Times that a file is begun. */
const TRIES = 4;

/** Sends a file; after a lost answer from its beginning, as the server says nothing of where to go on. */
export async function sendFile(pdq: Pdq, file: Blob, fileHash: Bytes, tell: (sent: number) => void, signal: AbortSignal | undefined) {
  for (let tries = 1; ; tries++) {
    try {
      return await send(pdq, file, fileHash, tell, signal);
    } catch (error) {
      const { code } = ConnectError.from(error);
      const lost = code === Code.OutOfRange || code === Code.NotFound || passes(error);
      if (tries === TRIES || !lost || signal?.aborted) throw error;
    }
  }
}

async function send(pdq: Pdq, file: Blob, fileHash: Bytes, tell: (sent: number) => void, signal: AbortSignal | undefined) {
  const totalBytes = BigInt(file.size);
  tell(0);
  for (let sent = 0; sent < file.size; tell(sent)) {
    const data = new Uint8Array(await file.slice(sent, sent + PART).arrayBuffer());
    const part = { fileHash, totalBytes, offset: BigInt(sent), data };
    // The first part may be sent again, as it begins anew; of others nobody knows whether they arrived.
    const call = () => pdq.uploadPart(part, stopping(signal));
    const { nextOffset } = sent === 0 ? await patiently(call, signal) : await call();
    sent = Number(nextOffset);
  }
}

/** Options of a call that a signal stops. */
export function stopping(signal: AbortSignal | undefined): CallOptions {
  return signal === undefined ? {} : { signal };
}

/** The answer's file, from a stream that first tells how far it is. */
export async function answerOf(stream: AsyncIterable<AskResponse>, tell: (progress: Asking) => void): Promise<Bytes> {
  const pieces: Bytes[] = [];
  let [at, total] = [0, 0];
  for await (const { response } of stream) {
    const { part } = given("a response", response);
    if (part.case === "progress") tell(working(part.value));
    if (part.case !== "answer") continue;
    const { offset, data, totalBytes } = part.value;
    if (Number(offset) !== at) throw new Error(`expected the answer from byte ${at} on, found ${offset}`);
    pieces.push(new Uint8Array(data));
    at += data.length;
    total = Number(totalBytes);
  }
  // What broke off is asked again.
  if (at === 0 || at !== total) throw new ConnectError(`expected an answer of ${total} bytes, found ${at}`, Code.Unavailable);
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function working({ waiting, blocksDone, blocks }: { waiting: boolean; blocksDone: bigint; blocks: bigint }): Asking {
  if (waiting) return { stage: "waiting", what: "answer", done: 0, total: 0 };
  return { stage: "working", what: "answer", done: Number(blocksDone), total: Number(blocks) };
}
