//! Records, rows, tables, segments and backups as bytes; `docs/storage.md` explains them.
//!
//! Integers are little-endian unless stated otherwise. `CRC` is CRC-32C (Castagnoli), 4 bytes; `hash` is BLAKE3, 32
//! bytes.
//!
//! # Meta file
//!
//! The meta file is a redb database of file format 3 whose tables map bytes to bytes. Indices in keys are 8 bytes,
//! big-endian. Every value except those of `tail`, `version` and `config` ends with a checksum, which the sizes below
//! omit; the short name of a table is what follows `omr.store.`:
//!
//! `CRC(board id || LE32(bytes of the short name) || short name || LE32(bytes of the key) || key || value)`
//!
//! ```text
//! table               key                                      value
//! omr.store.meta      version                                  u32: 1; a file of another version is refused
//!                     config                                   below
//!                     state                                    104 bytes: transactions, messages N, messages in
//!                                                              segments S, clock in ms, first kept message F, u64
//!                                                              each; the running hashes at lengths F and N
//!                     history                                  32 bytes each, oldest first: id, 16 bytes; messages and
//!                                                              transactions when it began, u64 each
//! omr.store.tail      index                                    a run: records one after another, the first of that
//!                                                              index
//! omr.store.segments  first index                              56 bytes: messages u64, bytes of the object u64, hash,
//!                                                              clock in ms at sealing u64 (absent where the row was
//!                                                              damaged and made again from the object)
//! omr.store.posts     post id, 16 bytes                        56 bytes: first index, messages, clock in ms, u64 each;
//!                                                              hash of the post
//! omr.store.order     first index                              16 bytes: post id
//! omr.store.keys      hash                                     8 bytes: bytes of the key
//! omr.store.uploads   hash                                     24 bytes: announced bytes, synced bytes, clock in ms;
//!                                                              u64 each
//! omr.store.records   u8 bytes of the table's name, name, key  the record
//! omr.store.log       index                                    32 bytes for each of 1 to 4,000 messages, the first of
//!                                                              that index: the running hash after it
//! omr.store.blocks    height, 8 bytes, big-endian              80 bytes: hash of the block, hash of its parent, first
//!                                                              index u64, messages u64; then for each message its id in
//!                                                              the ledger, 32 bytes; on boards of blocks alone
//! omr.store.once      one-time key, 32 bytes                   8 bytes: index of its message; on boards of bound clues
//!                                                              alone
//! omr.store.spent     one-time key, 32 bytes                   the same, of messages that expired
//! omr.store.hashes    index                                    tag, 4 bytes, then 32 bytes for each of 1 to 4,000
//!                                                              messages, the first of that index; on boards of bound
//!                                                              clues alone
//! ```
//!
//! `config` is also the content of the object `board`:
//!
//! ```text
//! bytes  field
//! 16     board id
//! 4      clue bytes C, 1 to 2^26
//! 4      payload bytes D, 0 to 2^26
//! 1 + P  u8 P up to 64, parameter id in UTF-8
//! 1 + S  u8 S up to 32, sealing id in UTF-8
//! 1      kind of the clues: 1 plain, 2 bound
//! 4      CRC of all bytes before
//! ```
//!
//! A record of message `i` has `C + D + 4` bytes: clue, payload, `CRC(board id || LE64(i) || clue || payload)`. Runs
//! cover messages `S` to `N` in order, without gaps. A run has at most 256 KiB less 128 bytes, or one record. The
//! record of a lost message has zeros for clue and payload, and every bit of their `CRC` inverted.
//!
//! The four rows of `meta` exist twice, the second time as `version, again`, `config, again`, `state, again` and
//! `history, again`. If one is damaged, the other is used.
//!
//! # Segments
//!
//! Segments cover messages `F` to `S`:
//!
//! ```text
//! bytes                   field
//! 8                       omr-seg\n
//! 4                       version: 1
//! 16                      board id
//! 8                       first index
//! 8                       messages
//! 4                       clue bytes
//! 4                       payload bytes
//! 4                       CRC of the 52 bytes before
//! messages × (C + D + 4)  records
//! 32                      hash of all bytes before; also in the name
//! ```
//!
//! # One-time keys
//!
//! A board of bound clues takes one message for each one-time key, the 32 bytes before the last 64 of the clue. The
//! transaction that appends a message adds its key to `once`. Missing rows are rebuilt from the kept messages before
//! the next append. If `spent` has fewer rows than messages expired, nothing can be appended.
//!
//! # Hashes
//!
//! `hashes` keeps the hash `S` of each bound clue and payload (`docs/wire.md`, section 8), computed when the
//! signature of the post is tested, with the tag `t` of the parameter set. It only saves time: a digest recomputes
//! hashes that are missing, damaged or of another tag, and stores them on a local board that nobody else has open. If
//! rows overlap, the later one counts. Backups omit the table.
//!
//! # Uploads of keys
//!
//! Every 16 MiB the partial file is synced and its row written; an upload continues from there. At the end the file
//! is hashed and copied into its object, and one transaction replaces the row.
//!
//! # Post ids
//!
//! A post id (about 190 bytes) is remembered for at least `post_id_memory` during which the store was open. Each
//! append forgets at most 64 expired ids and two for each of its posts. A remembered id with another hash is refused;
//! the hash is `KDF("omr store v1 post"; LE64(bytes of the account's name) || the name || clue and payload of every
//! message in order)`.
//!
//! # Backups
//!
//! `meta-….bak` begins with the 8 bytes `omr-bak\n` and `u32` version 1. Frames follow: kind (1 byte), `LE32(K)`,
//! `LE32(V)`, key (`K` bytes, at most 2^20), value (`V` bytes, at most 2^28), `CRC` of all previous bytes of the
//! frame. A file without its last frame is incomplete.
//!
//! ```text
//! kind      contents
//! 1         first: no key, config
//! 2         second: no key, the bytes of state
//! 3         third: no key, the bytes of history
//! 16 to 24  rows of segments, keys, tail, posts, order, records, spent, log, blocks, in this order and that of
//!           their keys; values with their checksums
//! 255       last: no key, hash of all bytes of the file before this frame
//! ```

use crate::chain::{self, HASH_BYTES, Hash};
use crate::config::{BoardConfig, Clues};
use omr_errors::Mismatch;
use redb::TableDefinition;

use crate::error::{Evidence, StoreError};

/// The version of the meta file that this build reads and writes.
pub const META_VERSION: u32 = 1;
/// The name of the file in the folder of a local board.
pub const BOARD_FILE: &str = "board.redb";

/// A table of the meta file, from bytes to bytes.
pub(crate) type Rows = TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(crate) const META: Rows = TableDefinition::new("omr.store.meta");
pub(crate) const TAIL: Rows = TableDefinition::new("omr.store.tail");
pub(crate) const SEGMENTS: Rows = TableDefinition::new("omr.store.segments");
pub(crate) const POSTS: Rows = TableDefinition::new("omr.store.posts");
pub(crate) const ORDER: Rows = TableDefinition::new("omr.store.order");
pub(crate) const KEYS: Rows = TableDefinition::new("omr.store.keys");
pub(crate) const UPLOADS: Rows = TableDefinition::new("omr.store.uploads");
pub(crate) const RECORDS: Rows = TableDefinition::new("omr.store.records");
/// The one-time keys of messages that have not expired; on boards of bound clues only.
pub(crate) const ONCE: Rows = TableDefinition::new("omr.store.once");
/// The hashes of messages; on boards of bound clues only.
pub(crate) const HASHES: Rows = TableDefinition::new("omr.store.hashes");
/// The one-time keys of expired messages. They stay used for good, although nothing else is left of these messages.
pub(crate) const SPENT: Rows = TableDefinition::new("omr.store.spent");
/// The blocks of a ledger; on boards of blocks only.
pub(crate) const BLOCKS: Rows = TableDefinition::new("omr.store.blocks");
/// The running hash of the log after every message that has not expired.
pub(crate) const LOG: Rows = TableDefinition::new("omr.store.log");
/// All tables but [`ONCE`] and [`HASHES`], with their names in checksums and errors.
pub(crate) const TABLES: [(Rows, &str); 11] = [
    (META, "meta"),
    (TAIL, "tail"),
    (SEGMENTS, "segments"),
    (POSTS, "posts"),
    (ORDER, "order"),
    (KEYS, "keys"),
    (UPLOADS, "uploads"),
    (RECORDS, "records"),
    (SPENT, "spent"),
    (LOG, "log"),
    (BLOCKS, "blocks"),
];

/// The keys of the meta table's rows. There are two of each row, as nothing can be read without them.
pub(crate) const KEYS_VERSION: [&[u8]; 2] = [b"version", b"version, again"];
pub(crate) const KEYS_CONFIG: [&[u8]; 2] = [b"config", b"config, again"];
pub(crate) const KEYS_STATE: [&[u8]; 2] = [b"state", b"state, again"];
pub(crate) const KEYS_HISTORY: [&[u8]; 2] = [b"history", b"history, again"];
const KEY_STATE: &[u8] = KEYS_STATE[0];
const KEY_HISTORY: &[u8] = KEYS_HISTORY[0];

const CRC_BYTES: usize = 4;

/// The layout of a message's record, and the seed of every checksum, which is the CRC-32C of the board id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) clue_bytes: usize,
    pub(crate) payload_bytes: usize,
    pub(crate) clues: Clues,
    pub(crate) seed: u32,
}

impl Layout {
    pub(crate) fn new(config: &BoardConfig) -> Self {
        Self {
            clue_bytes: config.clue_bytes as usize,
            payload_bytes: config.payload_bytes as usize,
            clues: config.clues,
            seed: crc32c::crc32c(&config.board_id),
        }
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.clue_bytes + self.payload_bytes + CRC_BYTES
    }

    /// Appends the record of message `index` to `out`. The caller has checked the sizes.
    pub(crate) fn push_record(&self, index: u64, clue: &[u8], payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(clue);
        out.extend_from_slice(payload);
        let crc = self.record_crc(index, &out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Appends the record that stands for the lost message `index`: zeros, and the inverse of their checksum.
    pub(crate) fn push_lost(&self, index: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.clue_bytes + self.payload_bytes, 0);
        let crc = !self.record_crc(index, &out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Returns the clue and the payload of a record of `record_bytes()` bytes. Both are empty for a lost message.
    ///
    /// Errors: the checksum of the bytes and the one in the record, where they differ.
    pub(crate) fn open_record<'a>(
        &self,
        index: u64,
        record: &'a [u8],
    ) -> Result<(&'a [u8], &'a [u8]), Mismatch<Evidence>> {
        let (body, crc) = record.split_at(self.clue_bytes + self.payload_bytes);
        let found = u32_at(crc, 0).unwrap_or_default();
        let expected = self.record_crc(index, body);
        if found == !expected && body.iter().all(|byte| *byte == 0) {
            return Ok((&[], &[]));
        }
        if expected != found {
            return Err(Mismatch::new(
                Evidence::Checksum(expected),
                Evidence::Checksum(found),
            ));
        }
        Ok(body.split_at(self.clue_bytes))
    }

    fn record_crc(&self, index: u64, body: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c_append(self.seed, &index.to_le_bytes()), body)
    }
}

fn row_crc(seed: u32, table: &str, key: &[u8], value: &[u8]) -> u32 {
    // Lengths come first, so that no two rows have the same bytes under the checksum.
    let mut crc = crc32c::crc32c_append(seed, &(table.len() as u32).to_le_bytes());
    crc = crc32c::crc32c_append(crc, table.as_bytes());
    crc = crc32c::crc32c_append(crc, &(key.len() as u32).to_le_bytes());
    crc = crc32c::crc32c_append(crc, key);
    crc32c::crc32c_append(crc, value)
}

/// Returns `value` with its checksum.
pub(crate) fn seal_row(seed: u32, table: &str, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + CRC_BYTES);
    out.extend_from_slice(value);
    out.extend_from_slice(&row_crc(seed, table, key, value).to_le_bytes());
    out
}

/// Returns the value in `row` after a test of its checksum.
///
/// Errors: [`StoreError::Row`].
pub(crate) fn open_row<'a>(
    seed: u32,
    table: &str,
    key: &[u8],
    row: &'a [u8],
) -> Result<&'a [u8], StoreError> {
    let (value, crc) = row
        .split_last_chunk::<CRC_BYTES>()
        .ok_or_else(|| bad_row(table, key, Evidence::Bytes(4), row.len()))?;
    let expected = Evidence::Checksum(row_crc(seed, table, key, value));
    let found = Evidence::Checksum(u32::from_le_bytes(*crc));
    if expected != found {
        return Err(StoreError::row(table, key, Mismatch::new(expected, found)));
    }
    Ok(value)
}

/// Returns the error of a row with an unexpected length.
pub(crate) fn bad_row(table: &str, key: &[u8], expected: Evidence, found: usize) -> StoreError {
    StoreError::row(
        table,
        key,
        Mismatch::new(expected, Evidence::Bytes(found as u64)),
    )
}

/// Decodes a value of `N` numbers of 8 bytes.
pub(crate) fn numbers<const N: usize>(
    table: &str,
    key: &[u8],
    value: &[u8],
) -> Result<[u64; N], StoreError> {
    if value.len() != 8 * N {
        let expected = Evidence::Bytes(8 * N as u64);
        return Err(bad_row(table, key, expected, value.len()));
    }
    let mut out = [0; N];
    for (out, bytes) in out.iter_mut().zip(value.as_chunks::<8>().0) {
        *out = u64::from_le_bytes(*bytes);
    }
    Ok(out)
}

/// Encodes `values` one after another, 8 bytes each.
pub(crate) fn pack<const N: usize>(values: [u64; N]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Returns the key of a number: 8 bytes that sort in the order of the numbers.
pub(crate) fn index_key(index: u64) -> [u8; 8] {
    index.to_be_bytes()
}

/// Returns the number in a key.
pub(crate) fn index_of(table: &str, key: &[u8]) -> Result<u64, StoreError> {
    let bytes = key
        .try_into()
        .map_err(|_| bad_row(table, key, Evidence::Bytes(8), key.len()))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Returns the hash in a key.
pub(crate) fn hash_of(table: &str, key: &[u8]) -> Result<[u8; 32], StoreError> {
    key.try_into()
        .map_err(|_| bad_row(table, key, Evidence::Bytes(32), key.len()))
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The values that may change with every transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of transactions so far.
    pub(crate) sequence: u64,
    /// The number of messages, including those that have expired.
    pub(crate) len: u64,
    /// The number of messages in segments; the tail begins at this index.
    pub(crate) sealed: u64,
    /// The total time for which the store has been open, in milliseconds.
    pub(crate) clock: u64,
    /// The index of the first message that has not expired.
    pub(crate) first: u64,
    /// The running hash of the log at length `first`.
    pub(crate) base: Hash,
    /// The running hash of the log at length `len`.
    pub(crate) head: Hash,
}

impl State {
    const NUMBERS: usize = 5;

    /// The state of an empty log.
    pub(crate) fn new(config: &BoardConfig) -> Self {
        let root = chain::root(config);
        Self {
            sequence: 0,
            len: 0,
            sealed: 0,
            clock: 0,
            first: 0,
            base: root,
            head: root,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let numbers = pack([self.sequence, self.len, self.sealed, self.clock, self.first]);
        [&numbers, &self.base[..], &self.head[..]].concat()
    }

    pub(crate) fn decode(value: &[u8]) -> Result<Self, StoreError> {
        let bytes = 8 * Self::NUMBERS + 2 * HASH_BYTES;
        if value.len() != bytes {
            let expected = Evidence::Bytes(bytes as u64);
            return Err(bad_row("meta", KEY_STATE, expected, value.len()));
        }
        let (counts, hashes) = value.split_at(8 * Self::NUMBERS);
        let [sequence, len, sealed, clock, first] = numbers("meta", KEY_STATE, counts)?;
        for (most, found) in [(len, sealed), (sealed, first)] {
            if found > most {
                return Err(StoreError::row(
                    "meta",
                    KEY_STATE,
                    Mismatch::new(Evidence::Number(most), Evidence::Number(found)),
                ));
            }
        }
        let mut hash = hashes.as_chunks::<HASH_BYTES>().0.iter().copied();
        let mut next = || hash.next().unwrap_or_default();
        Ok(Self {
            sequence,
            len,
            sealed,
            clock,
            first,
            base: next(),
            head: next(),
        })
    }
}

/// A period in the life of a board in which messages were only appended.
///
/// The first history of a board begins when the board is created, and has the board's id. Every restore of a backup
/// begins another one, with a random id, at the length of the log in the backup, and so does every other branch of a
/// ledger, at the length of the log before it. Messages that the earlier history appended after that length are not part
/// of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// The id of the history.
    pub id: [u8; 16],
    /// The number of messages on the board when the history began.
    pub start: u64,
    /// The number of the board's transactions when the history began.
    pub(crate) sequence: u64,
}

impl History {
    const BYTES: usize = 32;

    /// Returns the history of a board that is created now.
    pub(crate) fn first(config: &BoardConfig) -> Self {
        Self {
            id: config.board_id,
            start: 0,
            sequence: 0,
        }
    }

    /// Returns a history with a random id that begins with a log of `start` messages, after `sequence` transactions.
    ///
    /// Errors: that of the source of randomness.
    #[cfg(feature = "server")]
    pub(crate) fn begin(start: u64, sequence: u64) -> Result<Self, StoreError> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| StoreError::Io(error.into()))?;
        Ok(Self {
            id,
            start,
            sequence,
        })
    }

    pub(crate) fn encode_all(histories: &[Self]) -> Vec<u8> {
        let encode = |history: &Self| {
            let numbers = pack([history.start, history.sequence]);
            [&history.id[..], &numbers].concat()
        };
        histories.iter().flat_map(encode).collect()
    }

    /// Decodes the histories of a board, oldest first; there is at least one.
    pub(crate) fn decode_all(value: &[u8]) -> Result<Vec<Self>, StoreError> {
        let (all, rest) = value.as_chunks::<{ Self::BYTES }>();
        if all.is_empty() || !rest.is_empty() {
            let expected = Evidence::Bytes(Self::BYTES as u64);
            return Err(bad_row("meta", KEY_HISTORY, expected, value.len()));
        }
        let decode = |bytes: &[u8; Self::BYTES]| {
            let (id, counts) = bytes.split_at(16);
            let [start, sequence] = numbers("meta", KEY_HISTORY, counts)?;
            Ok(Self {
                id: *id.first_chunk().unwrap_or(&[0; 16]),
                start,
                sequence,
            })
        };
        all.iter().map(decode).collect()
    }
}

/// Encodes the configuration, without a checksum.
pub(crate) fn config_body(config: &BoardConfig) -> Vec<u8> {
    let mut out = config.board_id.to_vec();
    out.extend_from_slice(&config.clue_bytes.to_le_bytes());
    out.extend_from_slice(&config.payload_bytes.to_le_bytes());
    for text in [&config.params_id, &config.sealing] {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    }
    out.push(config.clues.tag());
    out
}

/// Encodes the configuration with its checksum.
pub(crate) fn encode_config(config: &BoardConfig) -> Vec<u8> {
    let mut out = config_body(config);
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Decodes a configuration with its checksum. Returns `None` if the bytes are damaged.
pub(crate) fn decode_config(bytes: &[u8]) -> Option<BoardConfig> {
    let (body, crc) = bytes.split_last_chunk::<CRC_BYTES>()?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    decode_body(body)
}

/// Decodes a configuration whose checksum was tested. Returns `None` if the bytes are malformed.
pub(crate) fn decode_body(body: &[u8]) -> Option<BoardConfig> {
    let (params_id, after_params) = read_text(body.get(24..)?)?;
    let (sealing, tags) = read_text(after_params)?;
    let config = BoardConfig {
        board_id: *body.first_chunk()?,
        params_id,
        sealing,
        clue_bytes: u32_at(body, 16)?,
        payload_bytes: u32_at(body, 20)?,
        clues: match tags {
            [tag] => Clues::from_tag(*tag)?,
            _ => return None,
        },
    };
    config.check().is_ok().then_some(config)
}

fn read_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let (text, behind) = rest.split_at_checked(usize::from(len))?;
    Some((str::from_utf8(text).ok()?.to_owned(), behind))
}
