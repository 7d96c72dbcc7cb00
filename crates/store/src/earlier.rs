//! Local boards of format 1 to 3, made boards of this format.
//!
//! Such a file is a redb database of two or three tables. `omr.meta`, text to bytes, has `version` (`u32`), `config` (as
//! now, with a `u32` number `M` of messages a chunk behind the sizes), `state` (number of messages) and, in version 3
//! alone, `first` (the first message that has not expired); each number is a `u64` and a `CRC` of board id, key and
//! number. `omr.messages`, `u64` to bytes, has the records of messages `c M .. (c + 1) M` under `c`, as runs have them.
//! `omr.once`, on boards of bound clues, has the index of the message of every one-time key, also of expired ones.

use omr_errors::Mismatch;
use std::fs;
use std::ops::Range;
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableTable, TableDefinition, TableError};

use crate::board::Board;
use crate::config::{BoardConfig, Clues, Message};
use crate::database::{Access, Guarded, Source, guarded, remove_if_present, sync_dir};
use crate::error::{Evidence, Foreign, Redb, StoreError};
use crate::format::{
    BOARD_FILE, EARLIER_META, History, Layout, META, ONCE, SPENT, State, decode_body, pack,
    seal_row, u32_at,
};
use crate::publish::publish;
use crate::tables::{Writing, initialise_at};
use crate::tail::{Tail, damaged_tail};

/// The name under which the file of an earlier format stays beside the board that it became.
pub const EARLIER_FILE: &str = "board-earlier.redb";
/// The board under way.
const CONVERTED_FILE: &str = "board-converted.redb";
/// Messages of one transaction.
const TOGETHER: u64 = 4096;

const EARLIER: TableDefinition<'_, &str, &[u8]> = TableDefinition::new(EARLIER_META);
const EARLIER_MESSAGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("omr.messages");
const EARLIER_ONCE: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("omr.once");

impl Board {
    /// Makes the board of format 1 to 3 in the folder `dir` one of this format, and opens it. The
    /// earlier file stays beside it as [`EARLIER_FILE`].
    ///
    /// Every message is tested, and the whole board once more before it takes its place. A crash on the way leaves the
    /// earlier board, or both files: converting again finishes.
    ///
    /// Errors: [`StoreError::Exists`] where the board is of this format, or an earlier one was kept already;
    /// [`StoreError::Damaged`], [`StoreError::Row`] where the earlier board is damaged; those of opening and of the
    /// disk.
    pub fn convert(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = |name| dir.as_ref().join(name);
        let (board, kept, fresh) = (path(BOARD_FILE), path(EARLIER_FILE), path(CONVERTED_FILE));
        // A crash between the two renamings below.
        if fs::exists(&kept)? && fs::exists(&fresh)? && !fs::exists(&board)? {
            fs::rename(&fresh, &board)?;
            sync_dir(dir.as_ref())?;
            return Self::open(dir);
        }
        let source = Source::File(board.clone());
        // Nobody else has it open until its name has changed.
        let database = source.open(Access::ReadWrite)?;
        let earlier = guarded(|| {
            let transaction = database.get()?.begin_read()?;
            Ok(Guarded::new(Earlier::read(&source, transaction)?))
        })?;
        if fs::exists(&kept)? {
            return Err(StoreError::Exists(kept));
        }
        remove_if_present(&fresh)?;
        let read = earlier.get()?;
        publish(&fresh, &read.config, |database| read.fill(database))?;
        if let Err(error) = read.verify(&fresh) {
            remove_if_present(&fresh)?;
            return Err(error);
        }
        drop(earlier);
        fs::rename(&board, &kept)?;
        fs::rename(&fresh, &board)?;
        sync_dir(dir.as_ref())?;
        drop(database);
        Self::open(dir)
    }
}

/// A board of an earlier format.
struct Earlier {
    transaction: ReadTransaction,
    config: BoardConfig,
    layout: Layout,
    chunk_messages: u64,
    first: u64,
    len: u64,
}

impl Earlier {
    fn read(source: &Source, transaction: ReadTransaction) -> Result<Self, StoreError> {
        if transaction.open_table(META).is_ok() {
            let path = source.path();
            return Err(StoreError::Exists(path));
        }
        let version = row(source, &transaction, "version")?;
        let version = u32_at(&version, 0).unwrap_or_default();
        if !(1..=3).contains(&version) {
            return Err(StoreError::Version {
                what: "the earlier board",
                expected: 3,
                found: version,
            });
        }
        let config = row(source, &transaction, "config")?;
        let (config, chunk_messages) =
            parse_config(&config).ok_or_else(|| malformed("config", config.len()))?;
        let layout = Layout::new(&config);
        let number = |key| number(&layout, key, &row(source, &transaction, key)?);
        let len = number("state")?;
        let first = match version {
            3 => number("first")?,
            _ => 0,
        };
        match first <= len && chunk_messages > 0 {
            true => Ok(Self {
                transaction,
                config,
                layout,
                chunk_messages,
                first,
                len,
            }),
            false => Err(malformed("first", 12)),
        }
    }

    /// Writes everything into a new database.
    fn fill(&self, database: &Database) -> Result<(), StoreError> {
        let mut state = State {
            len: self.len,
            sealed: self.first,
            first: self.first,
            ..State::new(&self.config)
        };
        // Nothing is known of what had expired: the running hash begins at the first message that is there.
        state.len = self.first;
        let histories = [History::first(&self.config)];
        initialise_at(database, &self.config, &state, &histories)?;
        let mut start = self.first;
        while start < self.len {
            let end = self.len.min(start + TOGETHER);
            write(database, &self.layout, |writing| {
                let mut tail = Tail::open(writing, &self.layout, &state)?;
                self.each_chunk(start..end, |messages| tail.push_all(messages).map(drop))?;
                tail.finish(writing, &mut state)?;
                writing.put_state(&state)
            })?;
            start = end;
        }
        match self.config.clues {
            Clues::Plain => Ok(()),
            Clues::Bound => write(database, &self.layout, |writing| self.copy_keys(writing)),
        }
    }

    /// Gives the messages of `range`, tested, a chunk at a time.
    fn each_chunk(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(&[Message]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let table = self
            .transaction
            .open_table(EARLIER_MESSAGES)
            .map_err(Redb)?;
        let bytes = self.layout.record_bytes();
        let mut at = range.start;
        while at < range.end {
            let chunk = at / self.chunk_messages;
            let start = chunk.saturating_mul(self.chunk_messages);
            let end = self.len.min(start.saturating_add(self.chunk_messages));
            let found = table.get(chunk).map_err(Redb)?;
            let records = found
                .as_ref()
                .map(redb::AccessGuard::value)
                .unwrap_or_default();
            let expected = (end - start).saturating_mul(bytes as u64);
            if records.len() as u64 != expected {
                let found = Evidence::Bytes(records.len() as u64);
                return Err(damaged_tail(
                    start,
                    end,
                    Mismatch::new(Evidence::Bytes(expected), found),
                ));
            }
            let mut messages = Vec::new();
            for (index, record) in (start..).zip(records.chunks_exact(bytes)) {
                if !range.contains(&index) {
                    continue;
                }
                let opened = self.layout.open_record(index, record);
                let (clue, payload) =
                    opened.map_err(|evidence| damaged_tail(index, index + 1, evidence))?;
                messages.push(Message {
                    clue: clue.to_vec(),
                    payload: payload.to_vec(),
                });
            }
            each(&messages)?;
            at = end.min(range.end);
        }
        Ok(())
    }

    fn copy_keys(&self, writing: &Writing<'_>) -> Result<(), StoreError> {
        let table = self.transaction.open_table(EARLIER_ONCE).map_err(Redb)?;
        let (mut once, mut spent) = (writing.table(ONCE)?, writing.table(SPENT)?);
        for listed in table.iter().map_err(Redb)? {
            let (key, index) = listed.map_err(Redb)?;
            let (key, index) = (key.value().as_slice(), index.value());
            let (table, name) = match index < self.first {
                true => (&mut spent, "spent"),
                false => (&mut once, "once"),
            };
            let row = seal_row(writing.seed(), name, key, &pack([index]));
            table.insert(key, row.as_slice()).map_err(Redb)?;
        }
        Ok(())
    }

    /// Tests the board that was written: that it has all, and nothing is wrong with it.
    fn verify(&self, path: &Path) -> Result<(), StoreError> {
        let board = Board::open_source(Source::File(path.to_owned()), Access::ReadOnly)?;
        let report = board.verify(&mut |_, _| {})?;
        if let Some(fault) = report.faults.into_iter().next() {
            return Err(fault);
        }
        match (board.first(), board.len()) == (self.first, self.len) {
            true => Ok(()),
            false => Err(malformed("state", 12)),
        }
    }
}

/// Writes rows in one durable transaction.
fn write(
    database: &Database,
    layout: &Layout,
    f: impl FnOnce(&Writing<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut transaction = database.begin_write().map_err(Redb)?;
    transaction.set_quick_repair(true);
    f(&Writing::new(&transaction, layout.seed))?;
    Ok(transaction.commit().map_err(Redb)?)
}

fn row(source: &Source, transaction: &ReadTransaction, key: &str) -> Result<Vec<u8>, StoreError> {
    let table = match transaction.open_table(EARLIER) {
        Err(TableError::TableDoesNotExist(_)) => {
            return Err(StoreError::NotABoard {
                path: source.path(),
                what: Foreign::OtherDatabase,
            });
        }
        other => other.map_err(Redb)?,
    };
    let value = table.get(key).map_err(Redb)?;
    let value = value.ok_or_else(|| malformed(key, 0))?;
    Ok(value.value().to_vec())
}

fn malformed(key: &str, found: usize) -> StoreError {
    let found = match found {
        0 => Evidence::Missing,
        _ => Evidence::Malformed,
    };
    StoreError::row(
        EARLIER_META,
        key.as_bytes(),
        Mismatch::new(Evidence::Present, found),
    )
}

fn number(layout: &Layout, key: &str, bytes: &[u8]) -> Result<u64, StoreError> {
    let crc = crc32c::crc32c_append(layout.seed, key.as_bytes());
    let number = bytes.first_chunk::<8>().filter(|_| bytes.len() == 12);
    let number = number.ok_or_else(|| malformed(key, bytes.len()))?;
    match u32_at(bytes, 8) == Some(crc32c::crc32c_append(crc, number)) {
        true => Ok(u64::from_le_bytes(*number)),
        false => Err(malformed(key, bytes.len())),
    }
}

/// The configuration, and the messages of a chunk.
fn parse_config(bytes: &[u8]) -> Option<(BoardConfig, u64)> {
    let (body, crc) = bytes.split_last_chunk::<4>()?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    // As now, but for the number of messages in between.
    let config = decode_body(&[body.get(..24)?, body.get(28..)?].concat())?;
    Some((config, u64::from(u32_at(body, 24)?)))
}
