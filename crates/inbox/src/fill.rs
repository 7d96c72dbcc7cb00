//! Fills an inbox with letters that nobody sent, so that an inbox of any size can be measured.

use crate::Inbox;
use crate::delete::next_number;
use crate::storage::Storage;
use crate::table::{BODIES, MESSAGES};
use crate::view::Record;

impl<S: Storage> Inbox<S> {
    /// Adds letters with these contents, unread, in one transaction.
    ///
    /// Errors: those of the storage.
    pub fn fill(&self, contents: &[Vec<u8>]) -> Result<(), S::Error> {
        self.store.write(|tx| {
            for content in contents {
                let number = next_number(tx)?;
                let record = Record {
                    index: number,
                    fetched: 0,
                    bytes: content.len() as u64,
                    read: false,
                    shared: false,
                    name: None,
                    retired: None,
                    further: Vec::new(),
                    header: None,
                };
                MESSAGES.put(tx, &number, &record)?;
                BODIES.put(tx, &number, content)?;
            }
            Ok(())
        })
    }
}
