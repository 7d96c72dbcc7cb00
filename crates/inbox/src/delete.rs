//! Deletes letters.

use crate::storage::{Edit, Storage};
use crate::table::{BODIES, MESSAGES, Number};
use crate::{Inbox, InboxError, withdrawn};
use std::collections::BTreeSet;

impl<S: Storage> Inbox<S> {
    /// Removes letters: their entries and contents. What makes a letter come once stays, so later fetches do not bring
    /// them back, and no letter gets a number again. A server sees nothing of it.
    ///
    /// Errors: those of the storage; `NoMessage` for a number without a letter, and nothing is removed then.
    pub fn delete(&self, numbers: &[u64]) -> Result<(), S::Error> {
        let numbers: BTreeSet<u64> = numbers.iter().copied().collect();
        self.store.write(|tx| {
            for number in numbers {
                if !MESSAGES.has(tx, &number)? {
                    return Err(InboxError::NoMessage(number).into());
                }
                remove(tx, number)?;
            }
            Ok(())
        })
    }

    /// Removes the letters at a place on the board with this content: in the inbox of a retired address, the originals
    /// of a letter that was copied from it. Returns their number.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn delete_at(&self, index: u64, content: &[u8]) -> Result<u64, S::Error> {
        self.store.write(|tx| {
            let mut removed = 0;
            for (number, record) in MESSAGES.all(tx)? {
                if record.index == index && BODIES.get(tx, &number)?.as_deref() == Some(content) {
                    remove(tx, number)?;
                    removed += 1;
                }
            }
            Ok(removed)
        })
    }
}

fn remove<T: Edit>(tx: &mut T, number: u64) -> Result<(), T::Error> {
    let next = next_number(tx)?;
    Number::NextMessage.set(tx, next)?;
    withdrawn::forget(tx, number)?;
    MESSAGES.remove(tx, &number)?;
    BODIES.remove(tx, &number)
}

/// Returns the number of the next letter, which no letter had before.
pub(crate) fn next_number<T: Edit>(tx: &T) -> Result<u64, T::Error> {
    Ok(MESSAGES.next_number(tx)?.max(Number::NextMessage.get(tx)?))
}
