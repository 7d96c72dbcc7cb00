//! Muted senders, whose letters are received and count as read.

use crate::Inbox;
use crate::header::Heading;
use crate::storage::{Look, Storage};
use crate::table::{MESSAGES, MUTED, SENDERS};
use omr_protocol::{FINGERPRINT_BYTES, hex};
use std::collections::BTreeSet;

impl<S: Storage> Inbox<S> {
    /// Mutes the sender with this fingerprint: letters that are here, and letters that come, are marked as read and
    /// reported by no fetch. Letters with a signature that does not match are not the sender's. A server sees nothing
    /// of it.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn mute(&self, fingerprint: &[u8; FINGERPRINT_BYTES]) -> Result<(), S::Error> {
        self.store.write(|tx| {
            let mut senders = muted(tx)?;
            senders.insert(hex(fingerprint));
            SENDERS.put(tx, &MUTED, &senders)?;
            for (number, mut record) in MESSAGES.all(tx)? {
                let sender = record.header.as_ref().and_then(Heading::genuine);
                if !record.read && sender.is_some_and(|sender| senders.contains(sender)) {
                    record.read = true;
                    MESSAGES.put(tx, &number, &record)?;
                }
            }
            Ok(())
        })
    }

    /// Ends the muting of a sender. Letters that came meanwhile stay marked as read. Returns whether the sender was
    /// muted.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn unmute(&self, fingerprint: &[u8; FINGERPRINT_BYTES]) -> Result<bool, S::Error> {
        self.store.write(|tx| {
            let mut senders = muted(tx)?;
            let was = senders.remove(&hex(fingerprint));
            SENDERS.put(tx, &MUTED, &senders)?;
            Ok(was)
        })
    }

    /// Returns the fingerprints of all muted senders, 32 hexadecimal digits each.
    ///
    /// Errors: those of the storage; `Record`.
    pub fn muted(&self) -> Result<BTreeSet<String>, S::Error> {
        self.store.read(|tx| muted(tx))
    }
}

fn muted<T: Look>(tx: &T) -> Result<BTreeSet<String>, T::Error> {
    Ok(SENDERS.get(tx, &MUTED)?.unwrap_or_default())
}

/// Returns whether a letter with this header is from a muted sender.
pub(crate) fn is_muted<T: Look>(tx: &T, header: Option<&Heading>) -> Result<bool, T::Error> {
    match header.and_then(Heading::genuine) {
        Some(sender) => Ok(muted(tx)?.contains(sender)),
        None => Ok(false),
    }
}
