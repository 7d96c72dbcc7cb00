//! The tables of an inbox's file, as a storage of [`omr_inbox`].

use super::database::Store;
use crate::MailError;
use omr_inbox::Table;
use omr_inbox::storage::{Edit, Entry, Look, Storage};
use redb::{
    Key, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, Value,
    WriteTransaction,
};
use std::ops::RangeInclusive;

const STATE: TableDefinition<&str, u64> = TableDefinition::new("state");
const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");
const JOBS: TableDefinition<u64, &[u8]> = TableDefinition::new("jobs");
const DIGESTS: TableDefinition<u64, &[u8]> = TableDefinition::new("digests");
const MESSAGES: TableDefinition<u64, &[u8]> = TableDefinition::new("messages");
const BODIES: TableDefinition<u64, &[u8]> = TableDefinition::new("bodies");
const SEEN: TableDefinition<u64, &[u8]> = TableDefinition::new("seen");
const COPIES: TableDefinition<&[u8], u64> = TableDefinition::new("copies");
const PIECES: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("pieces");
const UNOPENED: TableDefinition<u64, &str> = TableDefinition::new("unopened");
const KEPT: TableDefinition<u64, &[u8]> = TableDefinition::new("kept");
const FOUND: TableDefinition<(u64, u64), ()> = TableDefinition::new("found");
const SPARES: TableDefinition<u64, &[u8]> = TableDefinition::new("spares");
const MARKS: TableDefinition<u64, u64> = TableDefinition::new("marks");
const ADOPTED: TableDefinition<(&[u8], u64), u64> = TableDefinition::new("adopted");
const CANARIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("canaries");
const HEADS: TableDefinition<u64, &[u8]> = TableDefinition::new("heads");
const FORKS: TableDefinition<u64, &[u8]> = TableDefinition::new("forks");
const WAITING: TableDefinition<u64, &[u8]> = TableDefinition::new("waiting");
const QUERIES: TableDefinition<u64, &[u8]> = TableDefinition::new("queries");

/// Runs `$run` with a table of a transaction, whatever its types are.
macro_rules! within {
    ($tx:expr, $table:expr, $open:ident => $run:expr) => {
        within!($tx, $table, $open => $run, State STATE, Records RECORDS, Jobs JOBS, Digests DIGESTS,
            Messages MESSAGES, Bodies BODIES, Seen SEEN, Copies COPIES, Pieces PIECES, Unopened UNOPENED,
            Kept KEPT, Found FOUND, Spares SPARES, Marks MARKS, Adopted ADOPTED, Canaries CANARIES,
            Heads HEADS, Forks FORKS, Waiting WAITING, Queries QUERIES)
    };
    ($tx:expr, $table:expr, $open:ident => $run:expr, $($name:ident $definition:ident),*) => {
        match $table {
            $(Table::$name => {
                let $open = $tx.open_table($definition)?;
                $run
            })*
        }
    };
}

/// A key or value type of the database, converted to bytes that sort in its order.
trait Plain: Value + 'static {
    fn plain(value: &Self::SelfType<'_>) -> Vec<u8>;
    /// Parses a value; `None` if the bytes are invalid.
    fn typed(bytes: &[u8]) -> Option<Self::SelfType<'_>>;
}

impl Plain for u64 {
    fn plain(value: &u64) -> Vec<u8> {
        value.to_be_bytes().to_vec()
    }

    fn typed(bytes: &[u8]) -> Option<u64> {
        bytes.try_into().ok().map(u64::from_be_bytes)
    }
}

impl Plain for () {
    fn plain(_: &()) -> Vec<u8> {
        Vec::new()
    }

    fn typed(bytes: &[u8]) -> Option<()> {
        bytes.is_empty().then_some(())
    }
}

impl Plain for &'static str {
    fn plain(value: &&str) -> Vec<u8> {
        value.as_bytes().to_vec()
    }

    fn typed(bytes: &[u8]) -> Option<&str> {
        std::str::from_utf8(bytes).ok()
    }
}

impl Plain for &'static [u8] {
    fn plain(value: &&[u8]) -> Vec<u8> {
        value.to_vec()
    }

    fn typed(bytes: &[u8]) -> Option<&[u8]> {
        Some(bytes)
    }
}

impl Plain for (u64, u64) {
    fn plain(value: &(u64, u64)) -> Vec<u8> {
        let (first, second) = value;
        [first.to_be_bytes(), second.to_be_bytes()].concat()
    }

    fn typed(bytes: &[u8]) -> Option<(u64, u64)> {
        let (first, second) = bytes.split_last_chunk()?;
        Some((u64::typed(first)?, u64::from_be_bytes(*second)))
    }
}

impl Plain for (&'static [u8], u64) {
    fn plain(value: &(&[u8], u64)) -> Vec<u8> {
        let (first, second) = value;
        [*first, &second.to_be_bytes()].concat()
    }

    fn typed(bytes: &[u8]) -> Option<(&[u8], u64)> {
        let (first, second) = bytes.split_last_chunk()?;
        Some((first, u64::from_be_bytes(*second)))
    }
}

fn typed<T: Plain>(bytes: &[u8]) -> Result<T::SelfType<'_>, MailError> {
    T::typed(bytes).ok_or(MailError::Damaged(None))
}

fn get<K: Key + Plain, V: Plain>(
    table: &impl ReadableTable<K, V>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, MailError> {
    let found = table.get(typed::<K>(key)?)?;
    Ok(found.map(|value| V::plain(&value.value())))
}

fn entries<K: Key + Plain, V: Plain>(
    found: redb::Range<'_, K, V>,
) -> Result<Vec<Entry>, MailError> {
    let mut entries = Vec::new();
    for entry in found {
        let (key, value) = entry?;
        entries.push((K::plain(&key.value()), V::plain(&value.value())));
    }
    Ok(entries)
}

fn range<K: Key + Plain, V: Plain>(
    table: &impl ReadableTable<K, V>,
    keys: RangeInclusive<&[u8]>,
) -> Result<Vec<Entry>, MailError> {
    let (from, to) = (typed::<K>(keys.start())?, typed::<K>(keys.end())?);
    entries(table.range(from..=to)?)
}

fn all<K: Key + Plain, V: Plain>(
    table: &impl ReadableTable<K, V>,
) -> Result<Vec<Entry>, MailError> {
    entries(table.iter()?)
}

fn first<K: Key + Plain, V: Plain>(
    table: &impl ReadableTable<K, V>,
) -> Result<Option<Entry>, MailError> {
    let first = table.first()?;
    Ok(first.map(|(key, value)| (K::plain(&key.value()), V::plain(&value.value()))))
}

fn last_key<K: Key + Plain, V: Plain>(
    table: &impl ReadableTable<K, V>,
) -> Result<Option<Vec<u8>>, MailError> {
    Ok(table.last()?.map(|(key, _)| K::plain(&key.value())))
}

fn put<K: Key + Plain, V: Plain>(
    mut table: redb::Table<'_, K, V>,
    key: &[u8],
    value: &[u8],
) -> Result<(), MailError> {
    table.insert(typed::<K>(key)?, typed::<V>(value)?)?;
    Ok(())
}

fn remove<K: Key + Plain, V: Plain>(
    mut table: redb::Table<'_, K, V>,
    key: &[u8],
) -> Result<(), MailError> {
    table.remove(typed::<K>(key)?)?;
    Ok(())
}

/// The view of one state of the file.
pub struct Reading<'a>(&'a ReadTransaction);

/// A transaction.
pub struct Writing<'a>(&'a WriteTransaction);

macro_rules! look {
    ($view:ident) => {
        impl Look for $view<'_> {
            type Error = MailError;

            fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, MailError> {
                within!(self.0, table, open => get(&open, key))
            }

            fn range(
                &self,
                table: Table,
                keys: RangeInclusive<&[u8]>,
            ) -> Result<Vec<Entry>, MailError> {
                within!(self.0, table, open => range(&open, keys))
            }

            fn all(&self, table: Table) -> Result<Vec<Entry>, MailError> {
                within!(self.0, table, open => all(&open))
            }

            fn first(&self, table: Table) -> Result<Option<Entry>, MailError> {
                within!(self.0, table, open => first(&open))
            }

            fn last_key(&self, table: Table) -> Result<Option<Vec<u8>>, MailError> {
                within!(self.0, table, open => last_key(&open))
            }

            fn count(&self, table: Table) -> Result<u64, MailError> {
                within!(self.0, table, open => Ok(open.len()?))
            }
        }
    };
}

look!(Reading);
look!(Writing);

impl Edit for Writing<'_> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), MailError> {
        within!(self.0, table, open => put(open, key, value))
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), MailError> {
        within!(self.0, table, open => remove(open, key))
    }
}

impl Storage for Store {
    type Error = MailError;
    type Look<'a> = Reading<'a>;
    type Edit<'a> = Writing<'a>;

    fn read<T>(
        &self,
        look: impl FnOnce(&Reading<'_>) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.reading(|tx| look(&Reading(tx)))
    }

    fn write<T>(
        &self,
        steps: impl FnOnce(&mut Writing<'_>) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        self.writing(|tx| steps(&mut Writing(tx)))
    }
}

impl Store {
    /// Creates the tables that are missing.
    pub(super) fn complete(&self) -> Result<(), MailError> {
        self.writing(|tx| {
            for table in Table::ALL {
                within!(tx, table, open => drop(open));
            }
            Ok(())
        })
    }
}
