//! Two rounds as Python objects: scans, queries and answers.

mod answer;
mod detect;
mod query;
mod scan;

pub(crate) use answer::FetchAnswer;
pub(crate) use detect::Rounds;
pub(crate) use query::{Asked, FetchQuery};
pub(crate) use scan::Scan;

/// The highest number of bytes of a file.
const MOST_BYTES: u64 = 1 << 33;
