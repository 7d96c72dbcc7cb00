//! The file format, version 2, byte by byte; version 1 is read and written on. Version 3 is that of a board of which
//! messages expired: they are not there, the rest is the same.
//!
//! A board is one file, `board.redb`, in a folder of its own: a [redb] database of file format 3
//! with two tables, or three. Integers are little-endian. `CRC` is CRC-32C (Castagnoli: polynomial
//! `0x1EDC6F41` reflected, initial value and final exclusive-or `0xFFFF_FFFF`), 4 bytes.
//!
//! [redb]: https://www.redb.org
//!
//! # Table `omr.meta`: string to bytes
//!
//! | key       | bytes | value |
//! |-----------|-------|-------|
//! | `version` | 4     | `u32`, the format version: 2, from the first expiry on 3 |
//! | `config`  | 35 + P + S | see below; never rewritten |
//! | `state`   | 12    | see below; rewritten by every append |
//! | `first`   | 12    | see below; in version 3 alone, rewritten by every expiry |
//!
//! `config`:
//!
//! | offset     | bytes | field |
//! |------------|-------|-------|
//! | 0          | 16    | board id |
//! | 16         | 4     | `u32` clue bytes `C`, `1..=2^26` |
//! | 20         | 4     | `u32` payload bytes `D`, `0..=2^26` |
//! | 24         | 4     | `u32` messages a chunk `M`, at least 1; `M * (C + D + 4)` at most `2^28` |
//! | 28         | 1     | `P`, length of the parameter id, `0..=64` |
//! | 29         | P     | parameter id, UTF-8 |
//! | 29 + P     | 1     | `S`, length of the sealing id, `0..=32` |
//! | 30 + P     | S     | sealing id, UTF-8 |
//! | 30 + P + S | 1     | kind of clues: 1 plain, 2 bound; absent in version 1, which has plain clues alone |
//! | 31 + P + S | 4     | `CRC` of all bytes before |
//!
//! `state`:
//!
//! | offset | bytes | field |
//! |--------|-------|-------|
//! | 0      | 8     | `u64` number of messages `N` |
//! | 8      | 4     | `CRC` of board id, the 5 bytes `state`, and the 8 bytes before |
//!
//! `first`, 0 where it is absent:
//!
//! | offset | bytes | field |
//! |--------|-------|-------|
//! | 0      | 8     | `u64` the first message that has not expired `F`, a multiple of `M`, at most `N` |
//! | 8      | 4     | `CRC` of board id, the 5 bytes `first`, and the 8 bytes before |
//!
//! # Table `omr.messages`: `u64` to bytes
//!
//! Chunk `c` holds messages `c * M .. min((c + 1) * M, N)`, one record each, with nothing between
//! them. Chunks `F / M .. ceil(N / M)` are present and no others; all but the last hold `M` records.
//! Record of message `i`, `C + D + 4` bytes:
//!
//! | offset | bytes | field |
//! |--------|-------|-------|
//! | 0      | C     | clue |
//! | C      | D     | payload |
//! | C + D  | 4     | `CRC` of board id, `i` as `u64`, clue, payload |
//!
//! The id and the index make a record of another board, or in the wrong place, fail its check.
//!
//! # Table `omr.once`: 32 bytes to `u64`
//!
//! On boards of bound clues: the key of every clue, which are the 32 bytes before its last 64, to the
//! index of its message, also of those that expired. An append whose keys are not all new is refused.
//!
//! # Choice of `M`
//!
//! The writer chooses `M` at creation so that a chunk nearly fills a page of the database, which
//! is `2^k` bytes: the first of 64, 128 and 256 KiB that wastes at most a sixteenth, or else the
//! least wasteful. A record longer than that makes a chunk of its own. Readers take `M` as stored.
//!
//! # Durability
//!
//! One append is one database transaction, committed in two phases (data, sync, switch of the
//! root, sync). The last, partly filled chunk is replaced as a whole, copy-on-write. One expiry is one such transaction.

use crate::config::{BoardConfig, Clues, POST_KEY_BYTES};
use crate::error::BoardError;
use redb::TableDefinition;

/// The newest version of the format that this build reads and writes.
pub const FORMAT_VERSION: u32 = EXPIRED_VERSION;
/// The version of a board of which nothing expired.
pub(crate) const WHOLE_VERSION: u32 = 2;
/// The version of a board of which messages expired: earlier builds would take them for lost.
pub(crate) const EXPIRED_VERSION: u32 = 3;
/// The oldest version this build reads, and appends to.
pub const OLDEST_VERSION: u32 = 1;
/// The name of the file in the folder of a board.
pub const FILE_NAME: &str = "board.redb";
/// The longest parameter id, in bytes.
pub const MAX_PARAMS_ID_BYTES: usize = 64;
/// The longest sealing id, in bytes.
pub const MAX_SEALING_BYTES: usize = 32;
/// The longest clue and the longest payload, in bytes.
pub const MAX_PART_BYTES: u32 = 1 << 26;
/// The longest chunk accepted, in bytes.
pub const MAX_CHUNK_BYTES: usize = 1 << 28;

pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("omr.meta");
pub(crate) const MESSAGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("omr.messages");
pub(crate) const ONCE: TableDefinition<'_, &[u8; POST_KEY_BYTES], u64> =
    TableDefinition::new("omr.once");
pub(crate) const KEY_VERSION: &str = "version";
pub(crate) const KEY_CONFIG: &str = "config";
pub(crate) const KEY_STATE: &str = "state";
pub(crate) const KEY_FIRST: &str = "first";
/// The first bytes of every redb file.
pub(crate) const REDB_MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";

const CRC_BYTES: usize = 4;
/// Bytes of a page that redb keeps for itself, key included, rounded up generously.
const PAGE_OVERHEAD: usize = 64;
const PAGE_SIZES: [usize; 3] = [1 << 16, 1 << 17, 1 << 18];

/// Where the bytes of a message lie: sizes, and the seed of its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) clue_bytes: usize,
    pub(crate) payload_bytes: usize,
    pub(crate) chunk_messages: u64,
    pub(crate) clues: Clues,
    /// `CRC` of the board id, from which every other continues.
    seed: u32,
}

impl Layout {
    /// The layout of a new board; `config` is checked.
    pub(crate) fn choose(config: &BoardConfig) -> Self {
        let record = record_bytes(config);
        let fill = |page: usize| (page - PAGE_OVERHEAD) / record;
        let waste = |page: usize| (page - fill(page) * record) as f64 / page as f64;
        let page = PAGE_SIZES
            .into_iter()
            .find(|&page| fill(page) > 0 && waste(page) <= 1.0 / 16.0)
            .or_else(|| {
                PAGE_SIZES
                    .into_iter()
                    .min_by(|&a, &b| waste(a).total_cmp(&waste(b)))
            })
            .unwrap_or(PAGE_SIZES[0]);
        Self::new(config, fill(page).max(1) as u64)
    }

    fn new(config: &BoardConfig, chunk_messages: u64) -> Self {
        Self {
            clue_bytes: config.clue_bytes as usize,
            payload_bytes: config.payload_bytes as usize,
            chunk_messages,
            clues: config.clues,
            seed: crc32c::crc32c(&config.board_id),
        }
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.clue_bytes + self.payload_bytes + CRC_BYTES
    }

    /// The messages of chunk `chunk` on a board of `len`.
    pub(crate) fn chunk_range(&self, chunk: u64, len: u64) -> std::ops::Range<u64> {
        let start = chunk.saturating_mul(self.chunk_messages).min(len);
        start..start.saturating_add(self.chunk_messages).min(len)
    }

    /// The messages from `first` on that go when those before `before` expire: whole chunks.
    pub(crate) fn expiring(&self, first: u64, before: u64, len: u64) -> std::ops::Range<u64> {
        let whole = before.min(len) / self.chunk_messages * self.chunk_messages;
        first..whole.max(first)
    }

    /// The chunks of a board of `len` messages.
    pub(crate) fn chunk_count(&self, len: u64) -> u64 {
        len.div_ceil(self.chunk_messages)
    }

    /// Appends the record of message `index` to `out`; the sizes are checked.
    pub(crate) fn push_record(&self, index: u64, clue: &[u8], payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(clue);
        out.extend_from_slice(payload);
        let crc = self.record_crc(index, &out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Splits `record` of message `index` into clue and payload, once its checksum agrees.
    ///
    /// Shape: `record_bytes()` bytes.   Errors: [`BoardError::Corrupt`].
    pub(crate) fn open_record<'a>(
        &self,
        index: u64,
        record: &'a [u8],
    ) -> Result<(&'a [u8], &'a [u8]), BoardError> {
        let (body, crc) = record.split_at(self.clue_bytes + self.payload_bytes);
        let found = read_u32(crc, 0).unwrap_or_default();
        let expected = self.record_crc(index, body);
        if expected != found {
            return Err(BoardError::Corrupt {
                index,
                expected,
                found,
            });
        }
        Ok(body.split_at(self.clue_bytes))
    }

    fn record_crc(&self, index: u64, body: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c_append(self.seed, &index.to_le_bytes()), body)
    }

    /// The `state` record of a board of `len` messages.
    pub(crate) fn encode_state(&self, len: u64) -> [u8; 12] {
        self.encode_number(KEY_STATE, len)
    }

    /// Errors: [`BoardError::Meta`] where the length or the checksum is wrong.
    pub(crate) fn decode_state(&self, bytes: &[u8]) -> Result<u64, BoardError> {
        self.decode_number(KEY_STATE, bytes)
    }

    /// The `first` record of a board that begins at message `first`.
    pub(crate) fn encode_first(&self, first: u64) -> [u8; 12] {
        self.encode_number(KEY_FIRST, first)
    }

    /// Errors: [`BoardError::Meta`] where the length or the checksum is wrong, or no board of `len` begins there.
    pub(crate) fn decode_first(&self, bytes: &[u8], len: u64) -> Result<u64, BoardError> {
        let first = self.decode_number(KEY_FIRST, bytes)?;
        match first <= len && first.is_multiple_of(self.chunk_messages) {
            true => Ok(first),
            false => Err(BoardError::Meta {
                key: KEY_FIRST,
                found: bytes.len(),
            }),
        }
    }

    fn encode_number(&self, key: &str, number: u64) -> [u8; 12] {
        let mut out = [0; 12];
        out[..8].copy_from_slice(&number.to_le_bytes());
        out[8..].copy_from_slice(&self.number_crc(key, number).to_le_bytes());
        out
    }

    fn decode_number(&self, key: &'static str, bytes: &[u8]) -> Result<u64, BoardError> {
        let malformed = || BoardError::Meta {
            key,
            found: bytes.len(),
        };
        let record: &[u8; 12] = bytes.try_into().map_err(|_| malformed())?;
        let number = read_u64(record, 0).ok_or_else(malformed)?;
        if read_u32(record, 8) != Some(self.number_crc(key, number)) {
            return Err(malformed());
        }
        Ok(number)
    }

    fn number_crc(&self, key: &str, number: u64) -> u32 {
        let named = crc32c::crc32c_append(self.seed, key.as_bytes());
        crc32c::crc32c_append(named, &number.to_le_bytes())
    }
}

fn record_bytes(config: &BoardConfig) -> usize {
    config.clue_bytes as usize + config.payload_bytes as usize + CRC_BYTES
}

/// The `config` record; `config` is checked.
pub(crate) fn encode_config(config: &BoardConfig, layout: &Layout) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&config.board_id);
    out.extend_from_slice(&config.clue_bytes.to_le_bytes());
    out.extend_from_slice(&config.payload_bytes.to_le_bytes());
    // At most 2^18 records fit the largest page.
    out.extend_from_slice(&(layout.chunk_messages as u32).to_le_bytes());
    for text in [&config.params_id, &config.sealing] {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    }
    out.push(config.clues.tag());
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Errors: [`BoardError::Meta`] where the record is malformed, [`BoardError::Config`] where a
/// field is out of range.
pub(crate) fn decode_config(bytes: &[u8]) -> Result<(BoardConfig, Layout), BoardError> {
    let malformed = || BoardError::Meta {
        key: KEY_CONFIG,
        found: bytes.len(),
    };
    let (config, chunk_messages) = parse_config(bytes).ok_or_else(malformed)?;
    config.check()?;
    let chunk_bytes = (chunk_messages as usize).checked_mul(record_bytes(&config));
    if chunk_messages == 0 || chunk_bytes.is_none_or(|bytes| bytes > MAX_CHUNK_BYTES) {
        return Err(malformed());
    }
    let layout = Layout::new(&config, u64::from(chunk_messages));
    Ok((config, layout))
}

fn parse_config(bytes: &[u8]) -> Option<(BoardConfig, u32)> {
    let (body, crc) = bytes.split_last_chunk::<CRC_BYTES>()?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    let (params_id, rest) = read_text(body.get(28..)?)?;
    let (sealing, rest) = read_text(rest)?;
    let config = BoardConfig {
        board_id: *body.first_chunk()?,
        params_id,
        sealing,
        clue_bytes: read_u32(body, 16)?,
        payload_bytes: read_u32(body, 20)?,
        clues: match rest {
            [] => Clues::Plain,
            [tag] => Clues::from_tag(*tag)?,
            _ => return None,
        },
    };
    Some((config, read_u32(body, 24)?))
}

fn read_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (&len, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(len))?;
    Some((str::from_utf8(text).ok()?.to_owned(), rest))
}

/// The `u32` at `offset`, if the bytes reach that far.
pub(crate) fn read_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

fn read_u64(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BoardConfig {
        BoardConfig {
            board_id: *b"0123456789abcdef",
            params_id: "toy-v1".into(),
            sealing: "none".into(),
            clue_bytes: 3,
            payload_bytes: 2,
            clues: Clues::Plain,
        }
    }

    #[test]
    fn record_and_state_bytes_are_frozen() {
        let layout = Layout::new(&config(), 4);
        let mut record = Vec::new();
        layout.push_record(5, &[1, 2, 3], &[4, 5], &mut record);
        let mut input = b"0123456789abcdef".to_vec();
        input.extend([5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(record[..5], [1, 2, 3, 4, 5]);
        assert_eq!(record[5..], bitwise_crc(&input).to_le_bytes());
        let mut input = b"0123456789abcdefstate".to_vec();
        input.extend(9u64.to_le_bytes());
        assert_eq!(
            layout.encode_state(9)[8..],
            bitwise_crc(&input).to_le_bytes()
        );
    }

    /// The definition in the module's text, one bit at a time.
    fn bitwise_crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for &byte in bytes {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0x1EDC_6F41u32.reverse_bits() & (crc & 1).wrapping_neg());
            }
        }
        !crc
    }

    #[test]
    fn config_round_trips_and_every_flip_is_found() {
        let config = config();
        let layout = Layout::choose(&config);
        let bytes = encode_config(&config, &layout);
        assert_eq!(bytes.len(), 35 + 6 + 4);
        assert_eq!(decode_config(&bytes).unwrap(), (config, layout));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_config(&flipped).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(decode_config(&bytes[..len]).is_err(), "length {len}");
        }
    }

    #[test]
    fn chunk_fills_a_page() {
        let size = |clue_bytes, payload_bytes| {
            Layout::choose(&BoardConfig {
                clue_bytes,
                payload_bytes,
                ..config()
            })
        };
        assert_eq!(size(2565, 612).chunk_messages, 20);
        // Five records of 50 KB fill 256 KiB best.
        assert_eq!(size(50_000, 0).chunk_messages, 5);
        assert_eq!(size(MAX_PART_BYTES, MAX_PART_BYTES).chunk_messages, 1);
        assert_eq!(size(1, 0).chunk_messages, (65_536 - 64) / 5);
    }
}
