//! Read marks that a recipient's devices have in common.

use crate::Inbox;
use crate::storage::Storage;
use crate::table::{BODIES, MESSAGES};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The number of bytes of the hash in a mark.
const HASH_BYTES: usize = 8;

/// A letter that was read, by properties that it has on every device. Numbers of letters differ between devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadMark {
    /// The index of the letter's first message on the board.
    pub index: u64,
    /// The first 8 bytes of the BLAKE3 hash of its content, as 16 hexadecimal digits.
    pub hash: String,
}

impl ReadMark {
    fn of(index: u64, body: &[u8]) -> Self {
        let hash = omr_protocol::hex(&blake3::hash(body).as_bytes()[..HASH_BYTES]);
        Self { index, hash }
    }
}

impl<S: Storage> Inbox<S> {
    /// Returns the letters that were read here and whose marks the other devices lack, by their numbers.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn unshared(&self) -> Result<BTreeMap<u64, ReadMark>, S::Error> {
        self.store.read(|tx| {
            let mut marks = BTreeMap::new();
            for (number, record) in MESSAGES.all(tx)? {
                if record.read && !record.shared {
                    let body = BODIES.get(tx, &number)?.unwrap_or_default();
                    marks.insert(number, ReadMark::of(record.index, &body));
                }
            }
            Ok(marks)
        })
    }

    /// Records that the other devices have the marks of these letters. Numbers without a letter are ignored: it was
    /// deleted meanwhile.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn mark_shared(&self, numbers: impl IntoIterator<Item = u64>) -> Result<(), S::Error> {
        self.store.write(|tx| {
            for number in numbers {
                if let Some(mut record) = MESSAGES.get(tx, &number)? {
                    record.shared = true;
                    MESSAGES.put(tx, &number, &record)?;
                }
            }
            Ok(())
        })
    }

    /// Marks letters as read that were read on another device. Returns the marks of letters that are not here.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn read_elsewhere(&self, marks: &[ReadMark]) -> Result<BTreeSet<ReadMark>, S::Error> {
        let mut missing: BTreeSet<ReadMark> = marks.iter().cloned().collect();
        let places: BTreeSet<u64> = marks.iter().map(|mark| mark.index).collect();
        self.store.write(|tx| {
            for (number, mut record) in MESSAGES.all(tx)? {
                if !places.contains(&record.index) {
                    continue;
                }
                let body = BODIES.get(tx, &number)?.unwrap_or_default();
                let mark = ReadMark::of(record.index, &body);
                if marks.contains(&mark) {
                    missing.remove(&mark);
                    (record.read, record.shared) = (true, true);
                    MESSAGES.put(tx, &number, &record)?;
                }
            }
            Ok(())
        })?;
        Ok(missing)
    }
}
