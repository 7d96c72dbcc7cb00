// Reports of calls as servers see them.
import { isMessage, type Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { FindAddressRequestSchema, PublishAddressRequestSchema } from "./gen/omr/v1/address_pb.js";
import { type Board, GetBoardResponseSchema, PostMessagesRequestSchema } from "./gen/omr/v1/board_pb.js";
import { CreateJobRequestSchema, FetchDigestResponseSchema, Scheme } from "./gen/omr/v1/detection_pb.js";
import { BeginUploadRequestSchema, UploadChunkRequestSchema } from "./gen/omr/v1/key_pb.js";
import { GetCapabilitiesResponseSchema } from "./gen/omr/v1/service_pb.js";
import type { Seen } from "./types.js";

/** What a digest is of. */
type Of = Extract<Seen, { what: "digest" }>["of"];

/** Tells of every call, and of those answers that are a person's or the board's; `added`: bytes beside the request's own. */
export function watched(tell: (seen: Seen) => void): (added?: number) => Interceptor {
  const asked = asking();
  // Jobs are made one after another, so that a digest is of the last one.
  let of: Of = "request";
  return (added = 0) => (next) => async (request) => {
    if (!request.stream) {
      const seen = asked(request.message, added) ?? { what: "other", call: request.method.name };
      if (seen.what === "request" || seen.what === "scan" || seen.what === "query") of = seen.what;
      tell(seen);
    }
    const answer = await next(request);
    if (answer.stream) return { ...answer, message: counted(answer.message, of, tell) };
    const { message } = answer;
    const described = isMessage(message, GetBoardResponseSchema) || isMessage(message, GetCapabilitiesResponseSchema);
    if (described && message.board !== undefined) tell(length(message.board));
    return answer;
  };
}

function length({ messages, clueBytes, payloadBytes }: Board): Seen {
  return { what: "board", messages: Number(messages), bytes: clueBytes + payloadBytes };
}

/** What a request says; it remembers the lengths of keys, which their pieces do not have. */
function asking(): (message: Message, added: number) => Seen | undefined {
  const totals = new Map<string, number>();
  return (message, added) => {
    if (isMessage(message, PostMessagesRequestSchema)) {
      const { messages } = message;
      const [first] = messages;
      return { what: "post", messages: messages.length, bytes: first ? first.clue.length + first.payload.length : 0 };
    }
    if (isMessage(message, CreateJobRequestSchema)) {
      const { scheme, bound, query } = message;
      const [start, end] = [Number(message.start), Number(message.end)];
      if (query.length > 0) return { what: "query", start, end, bytes: query.length };
      return scheme === Scheme.TWO_ROUNDS ? { what: "scan", start, end } : { what: "request", start, end, bound };
    }
    if (isMessage(message, BeginUploadRequestSchema)) {
      totals.set(String(message.keyHash), Number(message.totalBytes));
      return undefined;
    }
    if (isMessage(message, UploadChunkRequestSchema) && message.chunk !== undefined) {
      const { keyHash, offset, data } = message.chunk;
      const key = String(keyHash);
      return { what: "key", key, done: Number(offset) + data.length + added, total: totals.get(key) ?? 0 };
    }
    if (isMessage(message, PublishAddressRequestSchema)) return { what: "published", fingerprint: undefined };
    if (isMessage(message, FindAddressRequestSchema)) {
      return { what: "asked", fingerprint: new Uint8Array(message.fingerprint) };
    }
    return undefined;
  };
}

/** Returns the same stream; at the end of a digest its bytes are reported. */
async function* counted<T extends Message>(stream: AsyncIterable<T>, of: Of, tell: (seen: Seen) => void): AsyncIterable<T> {
  let bytes: number | undefined;
  for await (const message of stream) {
    if (isMessage(message, FetchDigestResponseSchema)) bytes = (bytes ?? 0) + message.data.length;
    yield message;
  }
  if (bytes !== undefined) tell({ what: "digest", of, bytes });
}
