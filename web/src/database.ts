// What a recipient keeps in a browser: a database of IndexedDB.
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Proven } from "./kept.js";
import type { Change, Found, Row, Store } from "./store.js";
import type { Bytes } from "./types.js";

interface Schema extends DBSchema {
  recipient: { key: string; value: Omit<Proven, "scheme" | "verifyingKey"> & Partial<Proven> };
  inbox: { key: [string, Bytes]; value: Row };
  addresses: { key: string; value: Found };
}

/** The database where none is named. */
export const DATABASE = "omr-recipient";
/** The only record. */
const SELF = "self";

export class Database implements Store {
  readonly #db: IDBPDatabase<Schema>;

  private constructor(db: IDBPDatabase<Schema>) {
    this.#db = db;
  }

  static async open(name: string): Promise<Database> {
    const db = await openDB<Schema>(name, 1, {
      upgrade(db) {
        db.createObjectStore("recipient");
        db.createObjectStore("inbox");
        db.createObjectStore("addresses");
      },
    });
    return new Database(db);
  }

  async load(): Promise<Proven | undefined> {
    const found = await this.#db.get("recipient", SELF);
    // Records of older versions have no scheme and no verifying key.
    return found && { ...found, scheme: found.scheme ?? 0, verifyingKey: found.verifyingKey ?? new Uint8Array() };
  }

  async save(kept: Proven): Promise<void> {
    const write = this.#db.transaction("recipient", "readwrite", { durability: "strict" });
    await write.store.put(kept, SELF);
    await write.done;
  }

  async records(): Promise<Row[]> {
    return await this.#db.getAll("inbox");
  }

  async change(changes: Change[]): Promise<void> {
    if (changes.length === 0) return;
    const write = this.#db.transaction("inbox", "readwrite", { durability: "strict" });
    for (const { table, name, content } of changes) {
      const row = { table, name: new Uint8Array(name), content: new Uint8Array(content ?? []) };
      if (content === undefined) void write.store.delete([table, row.name]);
      else void write.store.put(row, [table, row.name]);
    }
    await write.done;
  }

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
