//! Hashes of a server's messages.

use std::ops::Range;

use super::Store;
use crate::error::StoreError;
use crate::hashes::{Gathered, MessageHashes, Take, gather, keep_again, kept_of};

impl Store {
    /// The hashes of messages as far as the store keeps them under a tag; what damage took is missing.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`], those of the database.
    pub fn kept_hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
    ) -> Result<Vec<Option<[u8; 32]>>, StoreError> {
        kept_of(self, &range, tag)
    }

    /// The hashes of all messages of a range: those that are kept under a tag, and the others taken now, for
    /// [`Store::keep_hashes`].
    ///
    /// Errors: as [`Store::read`].
    pub fn hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
        take: &mut Take<'_>,
    ) -> Result<Gathered, StoreError> {
        gather(self, range, tag, take)
    }

    /// Keeps hashes of messages from `first` on in place of those that are missing.
    ///
    /// Errors: those of the database.
    pub fn keep_hashes(&self, first: u64, hashes: &MessageHashes) -> Result<(), StoreError> {
        keep_again(&self.inner().meta, first, hashes)
    }
}
