//! The request that a digest of any scheme answers, and errors of requests that no digest can answer.

use crate::Scheme;
use omr_errors::Mismatch;
use std::ops::Range;

/// Largest number of pertinent messages in one digest.
pub const MAX_BOUND: usize = 4096;

/// Largest payload of a message, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// An error of a request that no digest can answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The bound is 0 or too large.
    #[error("expected a bound of 1 to {MAX_BOUND} pertinent messages, found {0}")]
    Bound(usize),
    /// The bound is 0 or larger than the engines of the set support.
    #[error(
        "expected a bound of 1 to {limit} pertinent messages for {scheme} with {set}, found {found}: {}",
        advice(*limit)
    )]
    SetBound {
        /// The set.
        set: &'static str,
        /// The scheme.
        scheme: Scheme,
        /// The limit.
        limit: usize,
        /// The bound.
        found: usize,
    },
    /// The set lacks an engine of the scheme.
    #[error("expected a parameter set that serves {scheme}, found {set}, which does not")]
    NoEngine {
        /// The set.
        set: &'static str,
        /// The scheme.
        scheme: Scheme,
    },
    /// The payload size, in bytes, is 0 or too large.
    #[error("expected payloads of 1 to {MAX_PAYLOAD_BYTES} bytes, found {0}")]
    Payload(usize),
    /// The range has no message.
    #[error("expected a range with at least one message, found {start}..{end}")]
    EmptyRange {
        /// First message.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// The range has more messages than one digest can cover.
    #[error("expected a range of at most {} messages, found {}: ask for several digests", .0.expected, .0.found)]
    LongRange(Mismatch<u64>),
}

/// Returns advice about a bound above a limit.
fn advice(limit: usize) -> String {
    if limit < MAX_BOUND {
        format!("ask for smaller ranges, or for SophOMR, which takes up to {MAX_BOUND}")
    } else {
        "ask for smaller ranges".to_owned()
    }
}

/// A request for a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The range of messages.
    pub range: Range<u64>,
    /// The bound on pertinent messages of each group.
    pub bound: usize,
    /// Length in bytes of a payload, or `None` for indices only.
    pub payload_bytes: Option<usize>,
}

impl Request {
    /// Makes a request for a digest of a range of messages, with payloads of this length or with indices only.
    pub const fn new(range: Range<u64>, bound: usize, payload_bytes: Option<usize>) -> Self {
        Self {
            range,
            bound,
            payload_bytes,
        }
    }

    /// Errors: `LongRange`.
    pub(crate) fn check_length(&self) -> Result<(), PlanError> {
        let (limit, found) = (1 << 32, self.range.end - self.range.start);
        if found > limit {
            Err(PlanError::LongRange(Mismatch::new(limit, found)))
        } else {
            Ok(())
        }
    }
}
