// What a recipient keeps on her device: one record in IndexedDB.
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Proven } from "./kept.js";
import type { Bytes } from "./types.js";

/** An address that a short one stands for. */
export interface Found {
  server: string;
  sealing: number;
  bound: number;
  parts: number;
  clueKey: Bytes;
  /** Verifies the signature of the keys of periods; empty if there is none. */
  verifyingKey: Bytes;
  /** The list of the keys of periods; empty if there is none. */
  periodKeys: Bytes;
}

/** A record of the inbox, encrypted with a key that follows from her secret. */
export interface Row {
  table: string;
  name: Bytes;
  content: Bytes;
}

interface Schema extends DBSchema {
  recipient: { key: string; value: Omit<Proven, "scheme" | "verifyingKey"> & Partial<Proven> };
  inbox: { key: [string, Bytes]; value: Row };
  addresses: { key: string; value: Found };
}

/** The database where none is named. */
export const DATABASE = "omr-recipient";
/** The only record. */
const SELF = "self";

export class Store {
  readonly #db: IDBPDatabase<Schema>;

  private constructor(db: IDBPDatabase<Schema>) {
    this.#db = db;
  }

  static async open(name: string): Promise<Store> {
    const db = await openDB<Schema>(name, 1, {
      upgrade(db) {
        db.createObjectStore("recipient");
        db.createObjectStore("inbox");
        db.createObjectStore("addresses");
      },
    });
    return new Store(db);
  }

  async load(): Promise<Proven | undefined> {
    const found = await this.#db.get("recipient", SELF);
    // Records of older versions have no scheme and no verifying key.
    return found && { ...found, scheme: found.scheme ?? 0, verifyingKey: found.verifyingKey ?? new Uint8Array() };
  }

  /** Durable when it returns. */
  async save(kept: Proven): Promise<void> {
    const write = this.#db.transaction("recipient", "readwrite", { durability: "strict" });
    await write.store.put(kept, SELF);
    await write.done;
  }

  async records(): Promise<Row[]> {
    return await this.#db.getAll("inbox");
  }

  /** Keeps changes of the inbox, all or none; durable when it returns. */
  async change(changes: { table: string; name: Uint8Array; content?: Uint8Array | undefined }[]): Promise<void> {
    if (changes.length === 0) return;
    const write = this.#db.transaction("inbox", "readwrite", { durability: "strict" });
    for (const { table, name, content } of changes) {
      const row = { table, name: new Uint8Array(name), content: new Uint8Array(content ?? []) };
      if (content === undefined) void write.store.delete([table, row.name]);
      else void write.store.put(row, [table, row.name]);
    }
    await write.done;
  }

  /** The address that was found for a short one. */
  async address(short: string): Promise<Found | undefined> {
    return await this.#db.get("addresses", short);
  }

  async keepAddress(short: string, found: Found): Promise<void> {
    await this.#db.put("addresses", found, short);
  }

  close(): void {
    this.#db.close();
  }
}
