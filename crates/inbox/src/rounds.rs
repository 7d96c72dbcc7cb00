//! The public numbers of two rounds: nothing in them depends on what was found.

use crate::ask::Asking;
use crate::{InboxError, Recipient};
use omr_client::DecodeError;
use omr_client::letter::Place;
use omr_protocol::ClueKind;
use omr_protocol::rounds::{FetchQuery, MOST_MESSAGES, RoundsHeader, RoundsParams, RoundsPlan};
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

/// The tag of the scheme of two rounds.
pub(crate) const TWO_ROUNDS: u8 = 6;

/// The number of messages before the board's end that fetches cover.
const WINDOW: u64 = 1 << 16;

/// The numbers on which the ranges of scans and fetches depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The highest number of messages of a short scan, which contains all payloads.
    pub(crate) short: u64,
    /// The number of messages that the answer to a query has room for.
    pub(crate) room: u64,
    /// The number of messages before the board's end that fetches cover.
    pub(crate) window: u64,
    /// The highest number of messages of a scan.
    pub(crate) most: u64,
    /// The highest number of messages of a query.
    pub(crate) fetch: u64,
}

/// The shape of all requests of two rounds.
#[derive(Clone)]
pub(crate) struct Rounds {
    pub(crate) params: Arc<RoundsParams>,
    pub(crate) sizes: Sizes,
}

impl Rounds {
    /// Returns the shape for a parameter set.
    ///
    /// Errors: `Params`.
    pub(crate) fn of(params: &str) -> Result<Self, InboxError> {
        let params = RoundsParams::named(params)?;
        let sizes = Sizes {
            short: params.scan.block() as u64,
            room: params.fetch.spec().fetched as u64,
            window: WINDOW,
            most: MOST_MESSAGES,
            fetch: MOST_MESSAGES,
        };
        Ok(Self { params, sizes })
    }

    /// Returns the number of pages that a range touches.
    ///
    /// Errors: `Query` if no query can be made for the range.
    pub(crate) fn pages(&self, place: &Place, range: Range<u64>) -> Result<usize, InboxError> {
        // The kind of clues does not change the pages.
        let plan = RoundsPlan::new(&self.params, range, place.payload_bytes, ClueKind::Plain);
        Ok(plan.map_err(no_query)?.rows())
    }

    /// Returns the length in bytes of every query for a range.
    ///
    /// Errors: `Query` if no query can be made for the range.
    pub(crate) fn query_bytes(&self, place: &Place, range: Range<u64>) -> Result<u64, InboxError> {
        let asking = Asking {
            number: 0,
            seeds: vec![[0; 32]; self.pages(place, range.clone())?],
            range,
            place: place.clone(),
        };
        // The name of the key and the kind of clues do not change the length.
        let header = asking.header([0; 16], ClueKind::Plain);
        FetchQuery::file_bytes(&self.params, &header).map_err(no_query)
    }
}

impl Asking {
    /// Returns the subject of the query, for a key and the clues of its recipient.
    pub(crate) fn header(&self, key_id: [u8; 16], clues: ClueKind) -> RoundsHeader {
        RoundsHeader {
            key_id,
            board_id: self.place.board_id,
            range: self.range.clone(),
            payload_bytes: self.place.payload_bytes,
            sealing: self.place.sealing,
            clues,
            seeds: self.seeds.clone(),
        }
    }
}

impl Recipient {
    /// Returns whether the recipient makes scans and fetches in place of digests.
    pub(crate) fn has_two_rounds(&self) -> bool {
        self.scheme == TWO_ROUNDS
    }
}

/// Returns the error for a range and seeds for which there is no query.
pub(crate) fn no_query(error: impl Display) -> InboxError {
    InboxError::Query(DecodeError::Inconsistent(error.to_string()))
}
