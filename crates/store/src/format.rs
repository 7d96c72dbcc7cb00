//! Records, rows and tables as bytes; `docs/storage.md` describes all of them.

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
/// The running hash of the log after every message that has not expired.
pub(crate) const LOG: Rows = TableDefinition::new("omr.store.log");
/// All tables but [`ONCE`] and [`HASHES`], with their names in checksums and errors.
pub(crate) const TABLES: [(Rows, &str); 10] = [
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

/// A period in the life of a board between two restores of backups.
///
/// The first history of a board begins when the board is created, and has the board's id. Every restore of a backup
/// begins another one, with a random id, at the length of the log in the backup. Messages that the earlier history
/// appended after that length are not part of the board.
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

    /// Returns the history of a store that is restored from the state in a backup.
    pub(crate) fn restored(id: [u8; 16], state: &State) -> Self {
        Self {
            id,
            start: state.len,
            sequence: state.sequence,
        }
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
