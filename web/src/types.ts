// The types of arguments and results.

/** Bytes in memory of their own. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** How a recipient is opened or made. */
export interface Options {
  /** URL of the server, such as `https://omr.example.org`; only a new recipient needs it. */
  server?: string;
  /** The passphrase that encrypts the secret on this device. A lost one cannot be recovered. */
  passphrase: string;
  /** The access token, if the server requires one. */
  token?: string;
  /** A file `secret.key` to take over, if there is no recipient here yet. */
  secret?: Uint8Array;
  /** A file of `Recipient.file` to take over, likewise. It was made with the same passphrase. */
  file?: Uint8Array;
  /** The largest number of messages that one digest can contain; without effect with two rounds. */
  bound?: number;
}

/** How a recipient is opened or made in a browser. */
export interface BrowserOptions extends Options {
  /** The name of the database in this browser; each recipient needs one. */
  database?: string;
}

/** How a recipient is opened or made in Node. */
export interface NodeOptions extends Options {
  /** The folder of this recipient alone, for one process at a time. */
  folder: string;
}

/** A call as the server sees it, beside its time and the network address. */
export type Seen =
  /** Posted messages, and the bytes of each. */
  | { what: "post"; messages: number; bytes: number }
  /** A piece of a detection key. */
  | { what: "key"; key: string; done: number; total: number }
  /** A request for all letters of a range that one digest can carry. */
  | { what: "request"; start: number; end: number; bound: number }
  /** A request for a scan of a range, the first of two rounds. */
  | { what: "scan"; start: number; end: number }
  /** The second: a query for some messages of a range, of a length that the range alone determines. */
  | { what: "query"; start: number; end: number; bytes: number }
  /** The answer to one of these. */
  | { what: "digest"; of: "request" | "scan" | "query"; bytes: number }
  /** The state of the board: its length, and the bytes of each message. */
  | { what: "board"; messages: number; bytes: number }
  /** An address that was published or requested. */
  | { what: "published" | "asked"; fingerprint: Bytes | undefined }
  /** A call without anything of a person in it. */
  | { what: "other"; call: string };

/** The progress of a call. */
export interface Progress {
  stage: "making" | "sending" | "waiting" | "working";
  /** The name of the key, or of the server's stage. */
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

/** Optional statements of a letter about itself. */
export interface About {
  /** Whether it names its sender, with the time, and is signed. */
  signed?: boolean;
  /** The conversation, as `Listed.thread`; a signed letter without one begins a new one. */
  thread?: string | undefined;
  /** At most 256 bytes. */
  subject?: string | undefined;
  /** The media type of the content, at most 128 bytes. */
  mediaType?: string | undefined;
}

/** A letter as it is listed. */
export interface Listed {
  /** Its number in this inbox. */
  number: number;
  /** Index of its first message on the board. */
  index: number;
  /** The indices of its further messages, if they were noted. */
  further: Float64Array;
  /** The time of the fetch that brought it, in seconds since 1970. */
  fetched: number;
  /** Its length. */
  bytes: number;
  read: boolean;
  name: string | undefined;
  /** Its first line, if it is text. */
  firstLine: string | undefined;
  /** The short address of its sender, if it names one and the signature matches. */
  sender: string | undefined;
  /** Whether it names a sender whose signature does not match: somebody else wrote or altered it. */
  forged: boolean;
  /** The conversation. Everybody who received a letter of it can write another one. */
  thread: string | undefined;
  subject: string | undefined;
  mediaType: string | undefined;
  /** The time of writing by the sender's clock, in seconds since 1970. */
  written: number | undefined;
  /** The reason why these could not be read, if so. */
  unreadable: string | undefined;
}

/** A range of messages that cannot be shown yet: its digest was damaged, or had more messages than its bound. */
export interface KeptRange {
  /** The first of them, and the one after the last. */
  start: number;
  end: number;
  /** The least number of pertinent messages, if they exceeded the bound. */
  overflowed: number | undefined;
  /** The number of pertinent messages that arrived since: each of the next fetches covers some messages again. */
  read: number;
  fetchesLeft: number;
  /** The number of fetches after which all have arrived, unless many new messages arrive in the meantime. */
  fetchesExpected: number;
  /** Whether the next fetch asks for the range again, see `Recipient.retryDamaged`. */
  askedAgain: boolean;
  /** Whether the board has deleted the messages. */
  expired: boolean;
  reason: string;
}

/** Messages that were found and that no answer had room for yet. */
export interface Waiting {
  messages: number;
  /** The number of fetches that bring them, unless other messages are found before. */
  fetches: number;
}

/** The result of a fetch, which no server may learn. */
export interface Fetched {
  /** The number of decoded digests, scans and answers, and the duration in milliseconds. */
  digests: number;
  milliseconds: number;
  /** Sentences for a person: the board's history changed and it was fetched again, or an answer was damaged. */
  warnings: string[];
}

/** The place of a sent letter. */
export interface Sent {
  /** The index of each message, in the letter's order; `undefined` for one that somebody copied and posted first. */
  indices: (number | undefined)[];
  /** The conversation of the letter. */
  thread: string | undefined;
}
