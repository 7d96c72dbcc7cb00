//! Retrieval in two rounds: its parameters, the detector's key, and the files of both rounds.
//!
//! 1. A detector makes a [`Scanned`] of a range of messages. The recipient decodes it to the indices of pertinent
//!    messages.
//! 2. The recipient makes a [`FetchQuery`] of the same range, always with the same number of choices; the detector
//!    answers with a [`FetchAnswer`], which contains their payloads. Payloads are prepared by page, a fixed number of
//!    consecutive messages. A range of few messages needs no second round: its scan contains all payloads.

mod fetch;
mod header;
mod key;
mod params;
mod plan;
mod scanned;

pub use fetch::{FetchAnswer, FetchQuery};
pub use header::{RoundsError, RoundsHeader};
pub use key::{RoundsKey, RoundsPart};
pub use params::{RoundsParams, RoundsSpec};
pub use plan::{MOST_MESSAGES, RoundsPlan, SectionGroups, page_seeds, units};
pub use scanned::Scanned;
