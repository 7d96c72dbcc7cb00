// What a recipient keeps in Node: a folder whose files its owner alone can read.
import { rmSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fromFile, toFile } from "./file.js";
import type { Proven } from "./kept.js";
import type { Change, Found, Row, Store } from "./store.js";
import type { Bytes } from "./types.js";

const [SELF, INBOX, ADDRESSES, LOCK] = ["recipient.json", "inbox", "addresses", "lock"];
/** Changes of the inbox that are not all in its files yet. */
const CHANGES = "changes.json";
/** The end of the name of a file that is not whole yet. */
const PARTIAL = ".new";

/** Folders that this process has open. */
const USED = new Set<string>();

export class Folder implements Store {
  readonly #path: string;
  /** The end of the last change: they are made one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(path: string) {
    this.#path = path;
  }

  static async open(path: string): Promise<Folder> {
    for (const part of [INBOX, ADDRESSES]) await mkdir(join(path, part), { recursive: true, mode: 0o700 });
    await lock(join(path, LOCK));
    const folder = new Folder(path);
    await folder.#finish();
    return folder;
  }

  async load(): Promise<Proven | undefined> {
    const file = await found(join(this.#path, SELF));
    return file && fromFile(file);
  }

  async save(kept: Proven): Promise<void> {
    const file = toFile(kept);
    await this.#next(() => write(join(this.#path, SELF), file));
  }

  async records(): Promise<Row[]> {
    const inbox = join(this.#path, INBOX);
    const names = (await readdir(inbox)).filter((name) => !name.endsWith(PARTIAL));
    return await Promise.all(
      names.map(async (name) => {
        const [table = "", key = ""] = name.split("-");
        return { table, name: unhex(key), content: new Uint8Array(await readFile(join(inbox, name))) };
      }),
    );
  }

  async change(changes: Change[]): Promise<void> {
    if (changes.length === 0) return;
    const text = JSON.stringify(
      changes.map(({ table, name, content }) => ({ file: `${table}-${hex(name)}`, content: content && hex(content) })),
    );
    await this.#next(async () => {
      await this.#finish();
      await write(join(this.#path, CHANGES), new TextEncoder().encode(text));
      await this.#finish();
    });
  }

  /** Writes changes that were begun into the files of the inbox. */
  async #finish(): Promise<void> {
    const begun = join(this.#path, CHANGES);
    const changes = await found(begun);
    if (changes === undefined) return;
    for (const { file, content } of JSON.parse(new TextDecoder().decode(changes)) as { file: string; content?: string }[]) {
      const path = join(this.#path, INBOX, file);
      if (content === undefined) await rm(path, { force: true });
      else await replace(path, unhex(content));
    }
    await keepNames(join(this.#path, INBOX));
    await rm(begun);
  }

  async address(short: string): Promise<Found | undefined> {
    const file = await found(this.#address(short));
    if (file === undefined) return undefined;
    const { server, sealing, bound, parts, ...keys } = JSON.parse(new TextDecoder().decode(file));
    const [clueKey, verifyingKey, periodKeys] = [keys.clueKey, keys.verifyingKey, keys.periodKeys].map(unhex);
    return { server, sealing, bound, parts, clueKey: clueKey!, verifyingKey: verifyingKey!, periodKeys: periodKeys! };
  }

  async keepAddress(short: string, address: Found): Promise<void> {
    const text = JSON.stringify(address, (_, value) => (value instanceof Uint8Array ? hex(value) : value));
    await this.#next(() => write(this.#address(short), new TextEncoder().encode(text)));
  }

  #address(short: string): string {
    return join(this.#path, ADDRESSES, `${short.toLowerCase()}.json`);
  }

  async #next(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    await done;
  }

  close(): void {
    const path = join(this.#path, LOCK);
    rmSync(path, { force: true });
    USED.delete(path);
  }
}

/** Notes this process in a file that no living process has. */
async function lock(path: string): Promise<void> {
  for (;;) {
    try {
      const file = await open(path, "wx", 0o600);
      await file.writeFile(String(process.pid));
      await file.close();
      USED.add(path);
      return;
    } catch (error) {
      if (!isKind(error, "EEXIST")) throw error;
    }
    const owner = Number(await found(path).then((bytes) => new TextDecoder().decode(bytes)));
    // The number of a process that ended may be this one's.
    if (USED.has(path) || (owner !== process.pid && lives(owner))) {
      throw new Error(`expected a folder that no other process uses, found ${path} of process ${owner}`);
    }
    await rm(path, { force: true });
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isKind(error, "EPERM");
  }
}

/** A file's bytes, if there is one. */
async function found(path: string): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    if (isKind(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Replaces a file: a reader finds the old one or the new one, also after the machine lost its power. */
async function write(path: string, bytes: Uint8Array): Promise<void> {
  await replace(path, bytes);
  await keepNames(dirname(path));
}

async function replace(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path + PARTIAL, "w", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(path + PARTIAL, path);
}

/** Has the disk keep the names in a folder, where the system lets folders be opened. */
async function keepNames(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isKind(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function unhex(text: string): Bytes {
  return new Uint8Array(Buffer.from(text, "hex"));
}
