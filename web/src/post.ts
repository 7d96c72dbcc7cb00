// Letters: addresses found and tested, messages posted.
import { type Part, postSome } from "./deliver.js";
import type { Board } from "./gen/omr/v1/board_pb.js";
import { given, patiently, type Service } from "./service.js";
import type { Found } from "./store.js";
import type { Bytes, Sent } from "./types.js";
import { shortAddress, shortFingerprint, Writer } from "./wasm/omr_wasm.js";

/** The address that a short one stands for: the server's word counts for nothing but what the fingerprint proves. */
export async function find(service: Service, text: string): Promise<Found> {
  const fingerprint = shortFingerprint(text);
  const answer = await patiently(() => service.addresses.findAddress({ fingerprint }));
  const address = given("an address", answer.address);
  const { server, sealing, bound, parts, clueKey, verifyingKey } = address;
  const found = shortFingerprint(shortAddress(server, sealing, bound, parts, clueKey, verifyingKey));
  if (!found.every((byte, i) => byte === fingerprint[i])) {
    throw new Error("expected the address of this fingerprint, found another: do not trust that server");
  }
  return { server, sealing, bound, parts, clueKey: new Uint8Array(clueKey) };
}

/** Writes and posts a letter. */
export async function post(service: Service, to: Found, name: string | undefined, bytes: Bytes): Promise<Sent> {
  const { board } = await patiently(() => service.board.getBoard({}));
  const { limits, postingWorkBits } = await patiently(() => service.capabilities.getCapabilities({}));
  if (postingWorkBits > 0) {
    throw new Error("expected a server that takes posts without proof of work, found one that asks for it: use a token");
  }
  const messages = write(to, given("a board", board), name, bytes);
  const most = Math.max(1, given("limits", limits).postMessages);
  const indices: (number | undefined)[] = [];
  for (let first = 0; first < messages.length; first += most) {
    indices.push(...(await postSome(service.board, messages.slice(first, first + most))));
  }
  return { indices };
}

function write(to: Found, board: Board, name: string | undefined, bytes: Bytes): Part[] {
  const { boardId, paramsId, sealing, clueBytes, payloadBytes } = board;
  const writer = new Writer(to.clueKey, to.sealing, boardId, paramsId, sealing, clueBytes, payloadBytes);
  try {
    const written = writer.write(name, bytes);
    if (written.length > to.parts) {
      throw new Error(`expected a letter of at most ${to.parts} messages, as the address takes, found ${written.length}`);
    }
    return written.map(({ clue, payload }) => ({ clue, payload }));
  } finally {
    writer.free();
  }
}
