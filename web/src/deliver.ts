// Messages of one letter, posted in one request.
import { Code, ConnectError, decodeBinaryHeader } from "@connectrpc/connect";
import { patiently } from "./calls.js";
import { PostRefusalSchema } from "./gen/omr/v1/board_pb.js";
import { randomId, type Service } from "./service.js";

/** A message of a letter. */
export interface Part {
  clue: Uint8Array;
  payload: Uint8Array;
}

/** Posts messages; those that somebody copied on their way and posted first are on the board already. */
export async function postSome(
  board: Pick<Service["board"], "postMessages">,
  messages: Part[],
  signal?: AbortSignal,
): Promise<(number | undefined)[]> {
  const indices = messages.map(() => undefined as number | undefined);
  let left = messages.map((message, at) => ({ ...message, at }));
  while (left.length > 0) {
    const post = { postId: randomId(), messages: left.map(({ clue, payload }) => ({ clue, payload })) };
    try {
      const posted = await patiently(() => board.postMessages(post), signal);
      left.forEach(({ at }, i) => (indices[at] = Number(posted.firstIndex) + i));
      break;
    } catch (error) {
      const copied = copies(error);
      const others = left.filter((_, position) => !copied.has(position));
      // A server that names none of them would be asked for ever.
      if (others.length === left.length) throw error;
      left = others;
    }
  }
  return indices;
}

/** Places in a refused post of messages whose one-time keys were used before. */
function copies(error: unknown): Set<number> {
  const { code, metadata } = ConnectError.from(error);
  const refusal = metadata.get("post-refusal-bin");
  if (code !== Code.AlreadyExists || refusal === null) return new Set();
  const { usedKeys } = decodeBinaryHeader(refusal, PostRefusalSchema);
  return new Set(usedKeys.map(({ position }) => position));
}
