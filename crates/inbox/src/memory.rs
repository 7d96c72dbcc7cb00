//! Records in memory, with a list of changes: for storages that only work asynchronously, such as a browser's.

use crate::InboxError;
use crate::storage::{Edit, Entry, Look, Storage, Table};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::ops::{Bound, RangeInclusive};

type Place = (Table, Vec<u8>);
/// All tables, including those without records.
type Records = BTreeMap<Table, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A record that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record's table.
    pub table: Table,
    /// The record's key.
    pub key: Vec<u8>,
    /// The record's new value; `None` if it was removed.
    pub value: Option<Vec<u8>>,
}

/// All records in memory. The program keeps the changes, in one transaction, before their effects are visible: before
/// the next call is made, and before letters are shown.
///
/// ```
/// use omr_inbox::{Inbox, InboxError, Memory};
///
/// let inbox = Inbox::open(Memory::<InboxError>::new())?;
/// inbox.begin_at(7, None)?;
/// let changes = inbox.store().take_changes();
/// assert!(inbox.store().take_changes().is_empty());
///
/// // A page that is opened again.
/// let kept = changes.into_iter().map(|c| (c.table, c.key, c.value.unwrap_or_default()));
/// let inbox = Inbox::open(Memory::<InboxError>::restore(kept))?;
/// assert_eq!(inbox.requests().cursor()?, 7);
/// # Ok::<(), InboxError>(())
/// ```
#[derive(Debug)]
pub struct Memory<E = InboxError> {
    records: RefCell<Records>,
    changed: RefCell<BTreeSet<Place>>,
    error: PhantomData<E>,
}

impl<E> Default for Memory<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Memory<E> {
    /// Returns a storage without records.
    #[must_use]
    pub fn new() -> Self {
        Self::restore([])
    }

    /// Returns a storage with records that were kept: table, key and value of each.
    pub fn restore(records: impl IntoIterator<Item = (Table, Vec<u8>, Vec<u8>)>) -> Self {
        let mut tables: Records = Table::ALL.map(|table| (table, BTreeMap::new())).into();
        for (table, key, value) in records {
            tables.entry(table).or_default().insert(key, value);
        }
        Self {
            records: RefCell::new(tables),
            changed: RefCell::default(),
            error: PhantomData,
        }
    }

    /// Returns the records that changed since the last call, each once.
    pub fn take_changes(&self) -> Vec<Change> {
        let records = self.records.borrow();
        let changed = self.changed.take().into_iter();
        let change = |(table, key): Place| Change {
            value: records[&table].get(&key).cloned(),
            table,
            key,
        };
        changed.map(change).collect()
    }
}

/// The view of a read of [`Memory`].
pub struct Glance<'a, E> {
    records: &'a Records,
    error: PhantomData<E>,
}

/// A transaction of [`Memory`].
pub struct Draft<'a, E> {
    records: &'a mut Records,
    /// The earlier values of changed records, in the order of the changes.
    before: Vec<(Place, Option<Vec<u8>>)>,
    error: PhantomData<E>,
}

impl<E: From<InboxError>> Storage for Memory<E> {
    type Error = E;
    type Look<'a> = Glance<'a, E>;
    type Edit<'a> = Draft<'a, E>;

    fn read<T>(&self, look: impl FnOnce(&Glance<'_, E>) -> Result<T, E>) -> Result<T, E> {
        let records = &self.records.borrow();
        let error = PhantomData;
        look(&Glance { records, error })
    }

    fn write<T>(&self, steps: impl FnOnce(&mut Draft<'_, E>) -> Result<T, E>) -> Result<T, E> {
        let mut draft = Draft {
            records: &mut self.records.borrow_mut(),
            before: Vec::new(),
            error: PhantomData,
        };
        let result = steps(&mut draft);
        match &result {
            Ok(_) => {
                let changed = draft.before.into_iter().map(|(place, _)| place);
                self.changed.borrow_mut().extend(changed);
            }
            Err(_) => draft.undo(),
        }
        result
    }
}

impl<E> Draft<'_, E> {
    /// Sets or removes the value of a key. Returns the earlier value.
    fn set(&mut self, table: Table, key: &[u8], value: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let records = self.records.entry(table).or_default();
        match value {
            Some(new) => records.insert(key.to_vec(), new),
            None => records.remove(key),
        }
    }

    fn change(&mut self, table: Table, key: &[u8], value: Option<Vec<u8>>) {
        let before = self.set(table, key, value);
        self.before.push(((table, key.to_vec()), before));
    }

    fn undo(&mut self) {
        for ((table, key), value) in std::mem::take(&mut self.before).into_iter().rev() {
            self.set(table, &key, value);
        }
    }
}

fn owned(entry: (&Vec<u8>, &Vec<u8>)) -> Entry {
    let (key, value) = entry;
    (key.clone(), value.clone())
}

macro_rules! look {
    ($view:ident) => {
        impl<E: From<InboxError>> Look for $view<'_, E> {
            type Error = E;

            fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, E> {
                Ok(self.records[&table].get(key).cloned())
            }

            fn range(&self, table: Table, keys: RangeInclusive<&[u8]>) -> Result<Vec<Entry>, E> {
                let keys = (Bound::Included(*keys.start()), Bound::Included(*keys.end()));
                let found = self.records[&table].range::<[u8], _>(keys);
                Ok(found.map(owned).collect())
            }

            fn all(&self, table: Table) -> Result<Vec<Entry>, E> {
                Ok(self.records[&table].iter().map(owned).collect())
            }

            fn first(&self, table: Table) -> Result<Option<Entry>, E> {
                Ok(self.records[&table].first_key_value().map(owned))
            }

            fn last_key(&self, table: Table) -> Result<Option<Vec<u8>>, E> {
                Ok(self.records[&table].keys().next_back().cloned())
            }

            fn count(&self, table: Table) -> Result<u64, E> {
                Ok(self.records[&table].len() as u64)
            }
        }
    };
}

look!(Glance);
look!(Draft);

impl<E: From<InboxError>> Edit for Draft<'_, E> {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), E> {
        self.change(table, key, Some(value.to_vec()));
        Ok(())
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), E> {
        self.change(table, key, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(memory: &Memory) -> Vec<Entry> {
        memory.read(|tx| tx.all(Table::Seen)).unwrap()
    }

    #[test]
    fn a_write_that_fails_changes_nothing() {
        let memory = Memory::restore([(Table::Seen, vec![1], vec![10])]);
        let failed: Result<(), _> = memory.write(|tx| {
            tx.put(Table::Seen, &[1], &[11])?;
            tx.put(Table::Seen, &[1], &[12])?;
            tx.put(Table::Seen, &[2], &[20])?;
            tx.remove(Table::Seen, &[1])?;
            assert_eq!(tx.all(Table::Seen)?, [(vec![2], vec![20])]);
            Err(InboxError::Unsealed)
        });
        assert!(failed.is_err());
        assert_eq!(shown(&memory), [(vec![1], vec![10])]);
        assert_eq!(memory.take_changes(), []);
    }

    #[test]
    fn changes_make_up_the_records() {
        let memory = Memory::<InboxError>::restore([(Table::Seen, vec![1], vec![10])]);
        let write = |key: u8, value: Option<u8>| {
            let written = memory.write(|tx| match value {
                Some(value) => tx.put(Table::Seen, &[key], &[value]),
                None => tx.remove(Table::Seen, &[key]),
            });
            written.unwrap();
        };
        for (key, value) in [(3, Some(30)), (2, Some(20)), (1, None), (3, Some(31))] {
            write(key, value);
        }
        let change = |key: u8, value: Option<u8>| Change {
            table: Table::Seen,
            key: vec![key],
            value: value.map(|value| vec![value]),
        };
        let expected = [change(1, None), change(2, Some(20)), change(3, Some(31))];
        assert_eq!(memory.take_changes(), expected);
        assert_eq!(memory.take_changes(), []);
        let first = memory.read(|tx| tx.first(Table::Seen)).unwrap();
        let last = memory.read(|tx| tx.last_key(Table::Seen)).unwrap();
        assert_eq!((first, last), (Some((vec![2], vec![20])), Some(vec![3])));
        assert_eq!(memory.read(|tx| tx.count(Table::Jobs)).unwrap(), 0);
        let range = memory.read(|tx| tx.range(Table::Seen, &[0][..]..=&[2][..]));
        assert_eq!(range.unwrap(), [(vec![2], vec![20])]);
    }
}
