// What the package takes and gives.

/** Bytes in memory of their own. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Where a recipient lives and what she is made of. */
export interface Options {
  /** URL of the server, such as `https://omr.example.org`; a new recipient needs it, others are where they were. */
  server?: string;
  /** What her secret is locked with on this device. Nothing recovers a lost one. */
  passphrase: string;
  /** Her token, where the server wants one. */
  token?: string;
  /** A file `secret.key` to take over, where there is no recipient yet. */
  secret?: Uint8Array;
  /** A file of `Recipient.file` to take over, likewise; its passphrase is this one. */
  file?: Uint8Array;
  /** Messages for her that one digest carries; without meaning in two rounds. */
  bound?: number;
}

/** Where a recipient lives in a browser. */
export interface BrowserOptions extends Options {
  /** Name of the database in this browser; one for each recipient. */
  database?: string;
}

/** Where a recipient lives in Node. */
export interface NodeOptions extends Options {
  /** The folder that has her alone, for one process at a time. */
  folder: string;
}

/** What a server sees of a call, beside when it is made and from which network address. */
export type Seen =
  /** Messages that were posted, and the bytes of each. */
  | { what: "post"; messages: number; bytes: number }
  /** A detection key that comes in pieces. */
  | { what: "key"; key: string; done: number; total: number }
  /** A request for all letters of a range that one digest can carry. */
  | { what: "request"; start: number; end: number; bound: number }
  /** A request for a scan of a range, the first of two rounds. */
  | { what: "scan"; start: number; end: number }
  /** The second: a query for some messages of a range, of a length that the range alone determines. */
  | { what: "query"; start: number; end: number; bytes: number }
  /** What it gave for one of these. */
  | { what: "digest"; of: "request" | "scan" | "query"; bytes: number }
  /** What it told of the board: its length, and the bytes of each message. */
  | { what: "board"; messages: number; bytes: number }
  /** An address that was published, or asked for. */
  | { what: "published" | "asked"; fingerprint: Bytes | undefined }
  /** A call with nothing of a person's in it. */
  | { what: "other"; call: string };

/** How far something is. */
export interface Progress {
  stage: "making" | "sending" | "waiting" | "working";
  /** The key's name, or what the server is at. */
  what: string;
  done: number;
  total: number;
}

/** A letter. */
export interface Letter {
  /** Index of its first message on the board. */
  index: number;
  name: string | undefined;
  bytes: Bytes;
}

/** What a letter states about itself. One without any of it is as letters always were. */
export interface About {
  /** Whether it names its sender, with the time, and is signed. */
  signed?: boolean;
  /** The conversation, as `Listed.thread`; a signed letter without one begins a new one. */
  thread?: string | undefined;
  /** At most 256 bytes. */
  subject?: string | undefined;
  /** Of the content, at most 128 bytes. */
  mediaType?: string | undefined;
}

/** A letter as it is listed. */
export interface Listed {
  /** Its number in this inbox. */
  number: number;
  /** Index of its first message on the board. */
  index: number;
  /** Those of its further messages, where they were noted. */
  further: Float64Array;
  /** When it was taken in, in seconds since 1970. */
  fetched: number;
  /** Its length. */
  bytes: number;
  read: boolean;
  name: string | undefined;
  /** Its first line, if it is text. */
  firstLine: string | undefined;
  /** The short address of its sender, if it names one and the signature matches. */
  sender: string | undefined;
  /** Whether it names a sender whose signature does not match: somebody else wrote it, or altered it. */
  forged: boolean;
  /** The conversation, which its letters have in common. Who received one of them can write another. */
  thread: string | undefined;
  subject: string | undefined;
  mediaType: string | undefined;
  /** When it was written by the sender's clock, in seconds since 1970. */
  written: number | undefined;
  /** Why none of these could be read. */
  unreadable: string | undefined;
}

/** Messages of which nothing can be shown yet: what came for them was damaged, or held more for her than its bound. */
export interface KeptRange {
  /** The first of them, and the one after the last. */
  start: number;
  end: number;
  /** So many are hers at least, where that is why. */
  overflowed: number | undefined;
  /** Of hers, those that came since: each of the next fetches looks at some of them once more. */
  read: number;
  fetchesLeft: number;
  /** With so many of them the rest comes, unless many other messages for her come meanwhile. */
  fetchesExpected: number;
  /** Whether the next fetch asks for them again, see `Recipient.retryDamaged`. */
  askedAgain: boolean;
  /** Whether the board has forgotten them. */
  expired: boolean;
  reason: string;
}

/** Messages that were found and for which the answers so far had no room. */
export interface Waiting {
  messages: number;
  /** The further fetches that bring them, unless others are found before them. */
  fetches: number;
}

/** What a fetch was: nothing that a server may know. */
export interface Fetched {
  /** Digests, scans and answers that were decoded, and the milliseconds that it took. */
  digests: number;
  milliseconds: number;
  /** What a person should know: the board has another history than before and was fetched again, or an answer was damaged. */
  warnings: string[];
}

/** Where a letter stands. */
export interface Sent {
  /** Index of each message, in the letter's order; `undefined` for one that somebody copied and posted first. */
  indices: (number | undefined)[];
  /** The conversation that it belongs to. */
  thread: string | undefined;
}
