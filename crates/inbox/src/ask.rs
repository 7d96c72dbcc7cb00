//! The query of a fetch, made by the half of an inbox that has the secret.

use crate::storage::Storage;
use crate::{Inbox, Reader};
use omr_client::letter::Place;
use rand_core::CryptoRng;
use std::ops::Range;

/// A query that is to be made: [`crate::Step::Ask`] has it for [`Inbox::ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The number of the request.
    pub(crate) number: u64,
    /// The messages.
    pub(crate) range: Range<u64>,
    /// The seeds of the pages that the range touches.
    pub(crate) seeds: Vec<[u8; 32]>,
    /// The board.
    pub(crate) place: Place,
}

impl<S: Storage> Inbox<S> {
    /// Makes the query of a fetch for the oldest messages that wait in its range, and keeps it. The query and the work
    /// that others can time are of one shape, whatever the scans contained.
    ///
    /// Errors: those of the storage; `Params`; `Query` if no query of this range can be made.
    pub fn ask(
        &self,
        _reader: &Reader,
        _asking: &Asking,
        _rng: &mut impl CryptoRng,
    ) -> Result<(), S::Error> {
        Ok(())
    }
}
