// Letters: addresses found and tested, messages posted.
import { type Part, postSome } from "./deliver.js";
import type { Board } from "./gen/omr/v1/board_pb.js";
import { given, patiently, randomId, type Service } from "./service.js";
import type { Found } from "./store.js";
import type { About, Bytes, Sent } from "./types.js";
import { Header, shortAddress, shortFingerprint, type Signer, Writer } from "./wasm/omr_wasm.js";

/** A letter that is to be sent. */
export interface Outgoing {
  name: string | undefined;
  bytes: Bytes;
  about: About;
  /** Her signing key, once it is needed. */
  signer: () => Signer;
}

/** A new conversation, by a name that nobody else gives one. */
function newThread(): string {
  return Array.from(randomId(), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The address that a short one stands for: the server's word counts for nothing but what the fingerprint proves. */
export async function find(service: Service, text: string): Promise<Found> {
  const fingerprint = shortFingerprint(text);
  const answer = await patiently(() => service.addresses.findAddress({ fingerprint }), service.signal);
  const address = given("an address", answer.address);
  const { server, sealing, bound, parts, clueKey, verifyingKey, periodKeys } = address;
  const found = shortFingerprint(shortAddress(server, sealing, bound, parts, clueKey, verifyingKey, periodKeys));
  if (!found.every((byte, i) => byte === fingerprint[i])) {
    throw new Error("expected the address of this fingerprint, found another: do not trust that server");
  }
  const copied = (bytes: Uint8Array) => new Uint8Array(bytes);
  return {
    server,
    sealing,
    bound,
    parts,
    clueKey: copied(clueKey),
    verifyingKey: copied(verifyingKey),
    periodKeys: copied(periodKeys),
  };
}

/** Writes and posts a letter. */
export async function post(service: Service, to: Found, letter: Outgoing): Promise<Sent> {
  const { board } = await patiently(() => service.board.getBoard({}), service.signal);
  const { limits, postingWorkBits } = await patiently(() => service.capabilities.getCapabilities({}), service.signal);
  if (postingWorkBits > 0) {
    throw new Error("expected a server that takes posts without proof of work, found one that asks for it: use a token");
  }
  const { about } = letter;
  const thread = about.thread ?? (about.signed ? newThread() : undefined);
  const messages = write(to, given("a board", board), { ...letter, about: { ...about, thread } });
  const most = Math.max(1, given("limits", limits).postMessages);
  const indices: (number | undefined)[] = [];
  for (let first = 0; first < messages.length; first += most) {
    indices.push(...(await postSome(service.board, messages.slice(first, first + most), service.signal)));
  }
  return { indices, thread };
}

/** The highest difference in seconds of two clocks: letters are sealed to the keys of a time. */
const CLOCKS = 43_200;

/** A writer of letters to an address. */
function writerTo(to: Found, board: Board): Writer {
  const { boardId, paramsId, sealing, clueBytes, payloadBytes, time } = board;
  const now = Date.now() / 1000;
  const difference = Math.abs(now - Number(time));
  if (time > 0n && difference > CLOCKS) {
    const hours = Math.floor(difference / 3600);
    throw new Error(`expected a server whose clock agrees with this device's to half a day, found a difference of ${hours} hours`);
  }
  const writer = new Writer(to.clueKey, to.sealing, boardId, paramsId, sealing, clueBytes, payloadBytes);
  return to.periodKeys.length === 0 ? writer : writer.inPeriod(to.periodKeys, to.verifyingKey, now);
}

function write(to: Found, board: Board, { name, bytes, about, signer }: Outgoing): Part[] {
  const writer = writerTo(to, board);
  try {
    const { signed, thread, subject, mediaType } = about;
    // A letter that is not signed has no time, which would tell of its sender.
    const header = new Header(signed ? Date.now() / 1000 : undefined, thread, subject, mediaType);
    const written = writer.write(name, bytes, header, signed ? signer() : undefined);
    if (written.length > to.parts) {
      throw new Error(`expected a letter of at most ${to.parts} messages, as the address takes, found ${written.length}`);
    }
    return written.map(({ clue, payload }) => ({ clue, payload }));
  } finally {
    writer.free();
  }
}
