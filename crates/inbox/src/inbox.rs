//! A recipient's messages and the state of the requests, over any storage.

use crate::Requests;
use crate::history::Mark;
use crate::storage::Storage;
use crate::table::{HEADS, Number};

/// A recipient's messages and the state of the requests. Every step is one transaction of the storage.
pub struct Inbox<S> {
    pub(crate) store: S,
}

impl<S: Storage> Inbox<S> {
    /// Opens the inbox whose records are in `store`; it is empty where there are no records.
    ///
    /// Errors: those of the storage.
    pub fn open(store: S) -> Result<Self, S::Error> {
        store.write(|tx| match Number::Length.known(tx)? {
            Some(_) => Ok(()),
            None => {
                let cursor = Number::Cursor.get(tx)?;
                Number::Length.set(tx, cursor)
            }
        })?;
        Ok(Self { store })
    }

    /// Returns the storage of the records.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the view of this inbox that the network half of a fetch may have.
    #[must_use]
    pub fn requests(&self) -> Requests<'_, S> {
        Requests::new(&self.store)
    }

    /// Excludes the messages before `index`, which were posted before the keys were made, from all requests. `mark` is
    /// a length of the board at that time with the running hash of its log, where both are known. Has no effect once a
    /// length was marked.
    ///
    /// Errors: those of the storage.
    pub fn begin_at(&self, index: u64, mark: Option<&Mark>) -> Result<(), S::Error> {
        self.store.write(|tx| {
            if HEADS.first(tx)?.is_some() {
                return Ok(());
            }
            if let Some(mark) = mark {
                HEADS.put(tx, &mark.length, &mark.hash)?;
            }
            for number in [Number::Cursor, Number::Length] {
                let at = number.get(tx)?;
                number.set(tx, at.max(index))?;
            }
            Ok(())
        })
    }
}
