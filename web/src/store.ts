// What a recipient keeps on her device.
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

/** A change of a record; without content it is deleted. */
export interface Change {
  table: string;
  name: Uint8Array;
  content?: Uint8Array | undefined;
}

/** Where it is kept: each change is durable when its promise is fulfilled. */
export interface Store {
  load(): Promise<Proven | undefined>;
  save(kept: Proven): Promise<void>;
  records(): Promise<Row[]>;
  /** Keeps changes of the inbox, all or none. */
  change(changes: Change[]): Promise<void>;
  /** The address that was found for a short one. */
  address(short: string): Promise<Found | undefined>;
  keepAddress(short: string, found: Found): Promise<void>;
  close(): void;
}
