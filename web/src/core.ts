// The recipient herself, in a worker: her secret never reaches the page.
import { Code, ConnectError } from "@connectrpc/connect";
import { fromFile, toFile } from "./file.js";
import { Inbox } from "./inbox.js";
import { checked, type Kept, type KeptKey, lockSecret, openSecret, type Proven, proven } from "./kept.js";
import { upload } from "./keys.js";
import type { Made, Recipe } from "./recipe.js";
import { find, post } from "./post.js";
import { given, patiently, service, type Service } from "./service.js";
import type { Store } from "./store.js";
import type { About, Bytes, Fetched, KeptRange, Letter, Listed, Options, Progress, Seen, Sent, Waiting } from "./types.js";
import { checkLength, newLock, Vault } from "./vault.js";
import { Form, Identity, sealingTag, shortAddress, shortFingerprint } from "./wasm/omr_wasm.js";

const BOUND = 50;
/** How many times the bound a letter may have in parts, of those that spare requests carry. */
const SPARED = 5;
/** Parts that a letter may have in two rounds, which have room for any number: its page holds it in memory. */
const ROUNDS_PARTS = 4096;
const SEED = "seed";

/** What calls are made with. */
interface Means {
  /** For her own server alone. */
  token: string | undefined;
  seen: (seen: Seen) => void;
}

/** What differs between a browser and Node. */
export interface Place {
  store: Store;
  make(recipe: Recipe, signal: AbortSignal | undefined): Promise<Made>;
}

/** Says that the server cannot look for letters any more. */
class KeysLost extends Error {
  override name = "KeysLost";
  constructor() {
    super("The server has lost your keys.");
  }
}

/** Reads a secret and wipes the array that it was given: the module takes a copy, which it wipes itself. */
function read(secret: Uint8Array): Identity {
  try {
    return Identity.fromBytes(secret);
  } finally {
    secret.fill(0);
  }
}

/** A key that is to be made. */
async function unmade(name: string, vault: Vault): Promise<KeptKey> {
  return {
    name,
    made: Math.floor(Date.now() / 1000),
    seed: await vault.seal(SEED, crypto.getRandomValues(new Uint8Array(32))),
    hash: null,
    registered: false,
  };
}

export class Core {
  readonly #kept: Kept;
  readonly #place: Place;
  readonly #vault: Vault;
  readonly #means: Means;
  readonly #identity: Identity;
  readonly #inbox: Inbox;

  private constructor(
    kept: Kept,
    place: Place,
    vault: Vault,
    identity: Identity,
    means: Means,
    inbox: Inbox,
  ) {
    this.#kept = kept;
    this.#place = place;
    this.#vault = vault;
    this.#identity = identity;
    this.#means = means;
    this.#inbox = inbox;
  }

  static async #of(kept: Kept, place: Place, vault: Vault, identity: Identity, means: Means): Promise<Core> {
    const { boardId, sealing, scheme, bound, begins, logHash } = kept;
    const form = new Form(boardId, sealing, scheme, bound, begins, logHash);
    return new Core(kept, place, vault, identity, means, await Inbox.open(identity, form, place.store));
  }

  /** The recipient of the store, or a new one that is in it before anything else happens. */
  static async open(
    options: Options,
    seen: (seen: Seen) => void,
    signal: AbortSignal | undefined,
    place: Place,
  ): Promise<Core> {
    const { token, secret, file } = options;
    const means = { token, seen };
    const found = await place.store.load();
    if (found !== undefined) {
      const imports = secret !== undefined || file !== undefined;
      if (imports) throw new Error("expected a place without a recipient to import one, found one");
      return await Core.#unlock(found, options, place, means);
    }
    if (file === undefined) return await Core.#create(options, place, means, signal);
    const kept = fromFile(file);
    const core = await Core.#unlock(kept, options, place, means);
    await core.#save();
    return core;
  }

  static async #unlock(found: Proven, { passphrase, server }: Options, place: Place, means: Means): Promise<Core> {
    if (server !== undefined && found.server !== server) {
      throw new Error(`expected the recipient's server ${found.server}, found ${server}`);
    }
    const vault = await Vault.open(passphrase, found.lock);
    const kept = await checked(vault, found);
    const identity = read(await openSecret(vault, kept));
    return await Core.#of(kept, place, vault, identity, means);
  }

  static async #create(
    options: Options,
    place: Place,
    means: Means,
    signal: AbortSignal | undefined,
  ): Promise<Core> {
    const { passphrase, server } = options;
    if (server === undefined) throw new Error("expected a server for a new recipient, found none");
    checkLength(passphrase);
    const { capabilities } = service(server, means.token, means.seen, signal);
    const { board, limits } = await patiently(() => capabilities.getCapabilities({}), signal);
    const { paramsId, boardId, sealing, messages, logHash } = given("a board", board);
    if (sealing === "none") throw new Error("expected a board of sealed letters, found one that everybody can read");
    const identity = options.secret
      ? read(new Uint8Array(options.secret))
      : Identity.generate(paramsId);
    if (identity.params !== paramsId) {
      throw new Error(`expected a board of ${identity.params}, found one of ${paramsId}`);
    }
    const lock = newLock();
    const vault = await Vault.open(passphrase, lock);
    const bound = options.bound ?? BOUND;
    const scheme = identity.newScheme(Number(given("limits", limits).fetchMessages));
    const kept: Kept = {
      server,
      params: paramsId,
      boardId: new Uint8Array(boardId),
      sealing: sealingTag(sealing),
      scheme,
      bound,
      parts: scheme === 0 ? bound * SPARED : ROUNDS_PARTS,
      begins: Number(messages),
      logHash: new Uint8Array(logHash),
      clueKey: new Uint8Array(identity.clueKey),
      verifyingKey: new Uint8Array(identity.verifyingKey),
      lock,
      secret: await lockSecret(vault, identity.toBytes() as Bytes),
      // The short one first: it is sent while the other is made.
      keys: await Promise.all(identity.keyNames(scheme).reverse().map((name) => unmade(name, vault))),
    };
    const core = await Core.#of(kept, place, vault, identity, means);
    await core.#save();
    return core;
  }

  /** Keeps her as she is now. */
  async #save(): Promise<void> {
    await this.#place.store.save(await proven(this.#vault, this.#kept));
  }

  /** The calls of her server, which a signal stops. */
  #calls(signal?: AbortSignal): Service {
    return service(this.#kept.server, this.#means.token, this.#means.seen, signal);
  }

  /** Her short address. */
  address(): string {
    const { server, sealing, bound, parts, clueKey, verifyingKey } = this.#kept;
    return shortAddress(server, sealing, bound, parts, clueKey, verifyingKey);
  }

  /** Whether her address has the key that verifies her signatures. */
  signs(): boolean {
    return this.#kept.verifyingKey.length > 0;
  }

  /** Whether the server has all that it needs to work for her. */
  ready(): boolean {
    return this.#kept.keys.every((key) => key.registered);
  }

  /** Makes, sends and registers her keys, goes on where this ended before, and publishes her address. */
  async register(tell: (progress: Progress) => void, signal?: AbortSignal): Promise<void> {
    const calls = this.#calls(signal);
    const { limits } = await patiently(() => calls.capabilities.getCapabilities({}), signal);
    const { chunkBytes } = given("limits", limits);
    const missing = this.#kept.keys.filter((key) => !key.registered);
    // All are made at once, each by a worker of its own; the first one is sent meanwhile.
    const making = missing.map((key) => this.#make(key, chunkBytes, tell, signal));
    for (const made of making) made.catch(() => {});
    for (const [i, key] of missing.entries()) await this.#send(calls, key, await making[i]!, tell);
    const { server, sealing, bound, parts, clueKey, verifyingKey } = this.#kept;
    const address = { server, sealing, bound, parts, clueKey, verifyingKey };
    await patiently(() => calls.addresses.publishAddress({ address }), signal);
  }

  async #make(
    { name, made, seed }: KeptKey,
    pieceBytes: number,
    tell: (progress: Progress) => void,
    signal: AbortSignal | undefined,
  ): Promise<Made> {
    signal?.throwIfAborted();
    tell({ stage: "making", what: name, done: 0, total: 1 });
    const recipe = {
      secret: await openSecret(this.#vault, this.#kept),
      seed: await this.#vault.open(SEED, given("a seed", seed ?? undefined)),
      name,
      boardId: this.#kept.boardId,
      made,
      pieceBytes,
    };
    const key = await this.#place.make(recipe, signal);
    tell({ stage: "making", what: name, done: 1, total: 1 });
    return key;
  }

  async #send(calls: Service, key: KeptKey, made: Made, tell: (progress: Progress) => void) {
    const total = made.bytes;
    await upload(calls, made, (done) => tell({ stage: "sending", what: key.name, done, total }));
    Object.assign(key, { hash: made.hash, registered: true, seed: null });
    await this.#save();
  }

  /** Sends a letter to a short address; the server in it is asked, or her own. */
  async send(
    to: string,
    bytes: Bytes,
    name: string | undefined,
    about: About,
    signal?: AbortSignal,
  ): Promise<Sent> {
    if (about.signed && !this.signs()) throw new Error("expected an identity that signs, found one of an older version");
    const [short = "", at] = to.trim().split("@");
    // Nothing else is looked up on the device.
    shortFingerprint(short);
    const calls = (at: string) =>
      at === "" || at === this.#kept.server ? this.#calls(signal) : service(at, undefined, this.#means.seen, signal);
    // Asked for once: else a server would hear to whom every letter goes.
    const { store } = this.#place;
    const known = await store.address(short);
    const address = known ?? (await find(calls(at ?? ""), short));
    if (known === undefined) await store.keepAddress(short, address);
    const { server, sealing, bound, parts } = this.#kept;
    const signer = () => this.#identity.signer(server, sealing, bound, parts);
    return await post(calls(address.server), address, { name, bytes, about, signer });
  }

  /** Asks for all that is new and takes it in. */
  async fetch(tell: (progress: Progress) => void, signal?: AbortSignal): Promise<Fetched> {
    const keys = this.#kept.keys.map((key) => given("a registered key", key.hash ?? undefined));
    try {
      return await this.#inbox.fetch(keys, this.#calls(signal), tell);
    } catch (error) {
      if (this.#inbox.keyless && !(await this.#known())) throw new KeysLost();
      throw error;
    }
  }

  /** Registers keys once more; those that the server has no more are to be made anew. Whether there are none. */
  async #known(): Promise<boolean> {
    for (const key of this.#kept.keys) {
      const keyHash = given("a registered key", key.hash ?? undefined);
      try {
        await patiently(() => this.#calls().keys.registerKey({ keyHash }), undefined);
      } catch (error) {
        if (ConnectError.from(error).code !== Code.NotFound) throw error;
        Object.assign(key, await unmade(key.name, this.#vault));
      }
    }
    await this.#save();
    return this.ready();
  }

  letters(): Listed[] {
    return this.#inbox.list();
  }

  keptRanges(): KeptRange[] {
    return this.#inbox.kept();
  }

  async retryDamaged(): Promise<number> {
    return await this.#inbox.retryDamaged();
  }

  waiting(): Waiting {
    return this.#inbox.waiting();
  }

  async read(number: number): Promise<Letter> {
    return await this.#inbox.read(number);
  }

  async delete(number: number): Promise<void> {
    await this.#inbox.delete(number);
  }

  async mute(sender: string): Promise<void> {
    await this.#inbox.mute(sender);
  }

  async unmute(sender: string): Promise<boolean> {
    return await this.#inbox.unmute(sender);
  }

  muted(): string[] {
    return this.#inbox.muted();
  }

  /** The file `secret.key`: whoever gets it is her. */
  secret(): Bytes {
    return this.#identity.toBytes() as Bytes;
  }

  /** A file of her for another device. */
  async file(): Promise<Bytes> {
    return toFile(await proven(this.#vault, this.#kept));
  }

  /** Forgets what is in memory. */
  close(): void {
    this.#identity.free();
    this.#place.store.close();
  }
}

/** A core in this thread, or one in another. */
export type Calls = {
  [Name in keyof Core]: (...args: Parameters<Core[Name]>) => ReturnType<Core[Name]> | Promise<Awaited<ReturnType<Core[Name]>>>;
};
