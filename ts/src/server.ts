// Calls of a server: proto/omr/v1 and docs/service.md.
import { fromBinary } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { blake3 } from "@noble/hashes/blake3.js";
import { Address, shortFingerprint } from "./address.js";
import { Clues, readClueKey, SEED_BYTES } from "./clue.js";
import { AddressService } from "./gen/omr/v1/address_pb.js";
import { type Board, BoardService, ClueKind, type PostRefusal, PostRefusalSchema } from "./gen/omr/v1/board_pb.js";
import { CapabilityService, type GetCapabilitiesResponse } from "./gen/omr/v1/service_pb.js";
import { seal, sealingOf, split } from "./letter.js";
import { type Bytes, join, kdf, le64, utf8 } from "./stream.js";

/** A call is repeated at most as often as this, first after the wait, which doubles. */
const TRIES = 6;
const FIRST_WAIT_MS = 200;
/** Letters are sealed to keys of a time, so clocks must not differ by more seconds. */
const MOST_DIFFERENCE = 43_200;

/** A file for a recipient. */
export interface Letter {
  /** The name of the file. Nobody but the recipient sees it. */
  name?: string;
  content: Uint8Array;
}

export interface Options {
  /** Shown with every call. */
  token?: string;
  /** Ends calls. */
  signal?: AbortSignal;
}

interface Message {
  clue: Bytes;
  payload: Bytes;
}

/** A server of a board, at `https://host:port`. */
export class Server {
  readonly #options: Options;
  readonly #board: Client<typeof BoardService>;
  readonly #addresses: Client<typeof AddressService>;
  readonly #capability: Client<typeof CapabilityService>;

  constructor(url: string, options: Options = {}) {
    const shown: Interceptor = (next) => (request) => {
      if (options.token !== undefined) request.header.set("authorization", `Bearer ${options.token}`);
      return next(request);
    };
    const transport = createGrpcWebTransport({ baseUrl: url, interceptors: [shown] });
    this.#options = options;
    this.#board = createClient(BoardService, transport);
    this.#addresses = createClient(AddressService, transport);
    this.#capability = createClient(CapabilityService, transport);
  }

  /** Asks the server for the address that a short one, `omr1..`, stands for. The fingerprint proves the answer. */
  async find(short: string): Promise<Address> {
    const fingerprint = shortFingerprint(short);
    const { address } = await this.#patiently((call) => this.#addresses.findAddress({ fingerprint }, call));
    if (address === undefined) throw new Error("expected an address from the server, found none");
    const { server, sealing, bound, parts, clueKey, verifyingKey, periodKeys } = address;
    const terms = {
      server,
      sealing: sealingOf(sealing),
      bound,
      parts,
      clueKey: new Uint8Array(clueKey),
      signer: new Uint8Array(verifyingKey),
      periods: new Uint8Array(periodKeys),
    };
    return new Address(terms, fingerprint);
  }

  /**
   * Seals a letter and posts its messages. Returns their indices on the board; those that somebody copied and posted first
   * are left out, as they are there already.
   */
  async send(to: Address, letter: Letter): Promise<bigint[]> {
    const capabilities = await this.#patiently((call) => this.#capability.getCapabilities({}, call));
    const { board, limits } = capabilities;
    if (board === undefined) throw new Error("expected a board from the server, found none");
    let messages = await write(board, to, letter, Date.now() / 1000);
    const indices: bigint[] = [];
    for (const most = Math.max(1, limits?.postMessages ?? 1); messages.length > 0; messages = messages.slice(most)) {
      indices.push(...(await this.#post(capabilities, board, messages.slice(0, most))));
    }
    return indices;
  }

  /** Posts messages in one call, and those that are not on the board yet in another one where somebody copied some. */
  async #post({ postingWorkBits }: GetCapabilitiesResponse, board: Board, all: Message[]): Promise<bigint[]> {
    for (let messages = all; messages.length > 0; ) {
      const postId = crypto.getRandomValues(new Uint8Array(16));
      const bits = this.#options.token === undefined ? postingWorkBits : 0;
      const work = bits === 0 ? 0n : await postingWork(new Uint8Array(board.boardId), postId, messages, bits);
      try {
        // The id makes repeated calls one post.
        const { firstIndex, count } = await this.#patiently((call) =>
          this.#board.postMessages({ postId, messages, work }, call),
        );
        return Array.from({ length: count }, (_, i) => firstIndex + BigInt(i));
      } catch (error) {
        const refusal = refused(error);
        const used = new Set(refusal?.usedKeys.map(({ position }) => position));
        if (refusal === undefined || (used.size === 0 && !refusal.knownId)) throw error;
        messages = messages.filter((_, position) => !used.has(position));
      }
    }
    return [];
  }

  /** Makes a call, and repeats it while the server or the network cannot answer it now. */
  async #patiently<T>(make: (call: { signal?: AbortSignal }) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    for (let attempt = 1, wait = FIRST_WAIT_MS; ; attempt++, wait *= 2) {
      try {
        return await make(signal === undefined ? {} : { signal });
      } catch (error) {
        const { code, metadata } = ConnectError.from(error);
        if (attempt === TRIES || (code !== Code.Unavailable && code !== Code.ResourceExhausted)) throw error;
        const stated = Number(metadata.get("retry-after-ms") ?? NaN);
        const pause = Number.isNaN(stated) ? wait / 2 + Math.random() * wait : stated;
        await new Promise((resolve) => setTimeout(resolve, pause));
        signal?.throwIfAborted();
      }
    }
  }
}

function refused(error: unknown): PostRefusal | undefined {
  const { code, metadata } = ConnectError.from(error);
  const found = code === Code.AlreadyExists ? metadata.get("post-refusal-bin") : null;
  return found === null ? undefined : fromBinary(PostRefusalSchema, Uint8Array.from(atob(found), (c) => c.charCodeAt(0)));
}

/** The messages of a letter. */
export async function write(board: Board, to: Address, letter: Letter, seconds: number): Promise<Message[]> {
  const { sealing, parts: most, clueKey } = to.terms;
  const key = readClueKey(clueKey);
  const difference = Math.abs(seconds - Number(board.time));
  if (board.time > 0n && difference > MOST_DIFFERENCE) {
    const hours = Math.floor(difference / 3600);
    throw new Error(`expected a server whose clock agrees to half a day, found a difference of ${hours} hours`);
  }
  if (board.paramsId !== key.set.name) {
    throw new Error(`expected a board of ${key.set.name}, as the address, found ${board.paramsId}`);
  }
  // A server has no say: the address states the sealing under its fingerprint.
  if (board.sealing !== sealing.name) {
    throw new Error(`expected letters sealed by ${sealing.name}, as the address states, found ${board.sealing}`);
  }
  if (board.clues !== ClueKind.BOUND || board.boardId.length !== 16) {
    throw new Error("expected a board of bound clues with an id of 16 bytes, found another");
  }
  const parts = split(letter.name, letter.content, board.payloadBytes - sealing.overhead - SEED_BYTES);
  if (parts.length > most) {
    throw new Error(`expected a letter of at most ${most} messages, as the address takes, found ${parts.length}`);
  }
  const boardId = new Uint8Array(board.boardId);
  const clues = new Clues(key, boardId);
  const sealingKey = to.sealingKey(key, seconds);
  const aad = join(boardId, utf8(board.paramsId));
  const messages: Message[] = [];
  while (messages.length < parts.length) {
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    const payload = await seal(sealing, sealingKey, aad, join(seed, parts[messages.length]!));
    const clue = clues.clue(seed, payload);
    // One clue of 2^16 is one that boards refuse.
    if (clue === undefined) continue;
    if (clue.length !== board.clueBytes) throw new Error(`expected clues of ${board.clueBytes} bytes, found ${clue.length}`);
    messages.push({ clue, payload });
  }
  return messages;
}

/** The proof of work of a post. It lets other tasks run meanwhile. */
async function postingWork(board: Bytes, postId: Bytes, messages: Message[], bits: number): Promise<bigint> {
  const content = blake3(join(...messages.flatMap(({ clue, payload }) => [clue, payload])));
  const bound = join(board, postId, content);
  for (let work = 0n; ; work++) {
    if (work % 1024n === 1023n) await new Promise((resolve) => setTimeout(resolve));
    if (leadingZeros(kdf("omr posting work v1", bound, le64(work))) >= bits) return work;
  }
}

function leadingZeros(digest: Bytes): number {
  const at = digest.findIndex((byte) => byte !== 0);
  return at < 0 ? 8 * digest.length : 8 * at + Math.clz32(digest[at]!) - 24;
}
