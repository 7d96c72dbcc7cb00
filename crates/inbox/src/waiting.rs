//! Messages that scans found and that no answer has contained yet.

use crate::Inbox;
use crate::storage::{Look, Storage};
use crate::table::{Number, WAITING};
use serde::Serialize;
use std::collections::BTreeSet;

/// Messages that were found and whose payloads later fetches bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The number of messages.
    pub messages: u64,
    /// The number of further syncs that fetch them, if no others are found before them.
    pub syncs: u64,
}

impl<S: Storage> Inbox<S> {
    /// Returns how many messages were found and wait for later fetches.
    ///
    /// Errors: those of the storage.
    pub fn waiting(&self) -> Result<Waiting, S::Error> {
        self.store.read(|tx| {
            let messages = all(tx)?.len() as u64;
            let room = Number::Room.get(tx)?.max(1);
            let syncs = messages.div_ceil(room);
            Ok(Waiting { messages, syncs })
        })
    }
}

/// Returns the indices of all waiting messages.
pub(crate) fn all<T: Look>(tx: &T) -> Result<BTreeSet<u64>, T::Error> {
    let records = WAITING.all(tx)?.into_iter();
    Ok(records.flat_map(|(_, indices)| indices).collect())
}
