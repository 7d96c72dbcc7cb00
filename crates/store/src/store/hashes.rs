//! The hashes of a server's messages.

use std::ops::Range;

use super::Store;
use crate::error::StoreError;
use crate::hashes::{Gathered, MessageHashes, Take, gather, keep_again, kept_of};

impl Store {
    /// Returns the hashes that the store keeps under `tag`, one entry a message of `range`. Hashes lost to damage are
    /// `None`.
    ///
    /// Errors: [`StoreError::OutOfRange`], [`StoreError::Expired`], and those of the database.
    pub fn kept_hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
    ) -> Result<Vec<Option<[u8; 32]>>, StoreError> {
        kept_of(self, &range, tag)
    }

    /// Returns the hashes of all messages of `range`. Those that the store does not keep under `tag` are computed by
    /// `take`; [`Store::keep_hashes`] stores them.
    ///
    /// Errors: those of [`Store::read`].
    pub fn hashes(
        &self,
        range: Range<u64>,
        tag: [u8; 4],
        take: &mut Take<'_>,
    ) -> Result<Gathered, StoreError> {
        gather(self, range, tag, take)
    }

    /// Stores hashes of the messages from `first` on that the store does not keep yet.
    ///
    /// Errors: those of the database.
    pub fn keep_hashes(&self, first: u64, hashes: &MessageHashes) -> Result<(), StoreError> {
        keep_again(&self.inner().meta, first, hashes)
    }
}
