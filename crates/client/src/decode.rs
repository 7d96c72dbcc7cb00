//! Results and errors of decoding digests.

use omr_codec::CodecError;
use omr_compress::PackedError;
use omr_protocol::Mismatch;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::request::MAX_BOUND;
use omr_protocol::rounds::RoundsError;
use omr_protocol::{ClueKind, ParamsError, hex};

/// Returns advice about a number of messages above the bound.
fn advice(count: usize) -> String {
    if count <= MAX_BOUND {
        format!("ask for a digest with a bound of at least {count}, or for smaller ranges")
    } else {
        format!("ask for smaller ranges: no digest has a bound above {MAX_BOUND}")
    }
}

/// An error of decoding a digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The digest was made with another detection key.
    #[error("the digest was made for another recipient: expected detection key {}, which belongs to this secret key, \
         found {}", hex(&.0.expected), hex(&.0.found))]
    OtherKey(Mismatch<[u8; 16]>),
    /// The digest has fingerprints of clues and the secret key is for plain clues, or the reverse.
    #[error("expected a digest of {} clues, as the secret key is for, found one of {} clues", .0.expected, .0.found)]
    Clues(Mismatch<ClueKind>),
    /// More pertinent messages than the bound.
    #[error(
        "overflow: messages {start}..{end} hold {count} pertinent messages, the digest's bound is {bound}; {}",
        advice(*count)
    )]
    Overflow {
        /// First message of the group.
        start: u64,
        /// One past its last.
        end: u64,
        /// How many there are.
        count: usize,
        /// How many fit.
        bound: usize,
    },
    /// The sums contradict each other: the digest is damaged, or the detector is faulty.
    #[error("the digest contradicts itself ({0}): it is damaged or its detector is faulty")]
    Inconsistent(String),
    /// The digest is of an engine that the set lacks.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The payload of this message does not match its checksum.
    #[error(
        "the payload of message {0} does not match its checksum: the digest is damaged or its detector is faulty"
    )]
    Checksum(u64),
    /// The answer to a query belongs to another query, or cannot be read.
    #[error(transparent)]
    Rounds(#[from] RoundsError),
    /// The digest's shape does not fit the code.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

impl From<PackedError> for DecodeError {
    fn from(error: PackedError) -> Self {
        Self::Inconsistent(error.to_string())
    }
}

/// A pertinent message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrieved {
    /// The place of the message on the board.
    pub index: u64,
    /// The payload as the board stores it; `None` from a digest of indices.
    pub payload: Option<Vec<u8>>,
    /// The fingerprint of the bound clue, if the digest has fingerprints.
    pub fingerprint: Option<Fingerprint>,
}

impl Retrieved {
    /// Makes a message from its place on the board, and from its payload and fingerprint if the digest has them.
    pub const fn new(
        index: u64,
        payload: Option<Vec<u8>>,
        fingerprint: Option<Fingerprint>,
    ) -> Self {
        Self {
            index,
            payload,
            fingerprint,
        }
    }
}

/// The fingerprint that a digest contains of a bound clue: see [`omr_protocol::clue::Hashed::fingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The key of the digest's fingerprints.
    pub key: FingerprintKey,
    /// The value for the clue.
    pub value: u32,
}

/// Checks that a digest of payloads has fingerprints if and only if clues are bound.
///
/// Errors: `Clues`.
pub(crate) fn check_clues(
    expected: ClueKind,
    payload_bytes: Option<usize>,
    fingerprints: bool,
) -> Result<(), DecodeError> {
    let found = if fingerprints {
        ClueKind::Bound
    } else {
        ClueKind::Plain
    };
    if payload_bytes.is_some() && expected != found {
        Err(DecodeError::Clues(Mismatch::new(expected, found)))
    } else {
        Ok(())
    }
}

/// Joins the messages of all groups.
///
/// Errors: that of the first group with an error.
pub(crate) fn in_order(
    groups: Vec<Result<Vec<Retrieved>, DecodeError>>,
) -> Result<Vec<Retrieved>, DecodeError> {
    let messages: Result<Vec<_>, _> = groups.into_iter().collect();
    Ok(messages?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_advice_names_a_bound_that_does_not_exist() {
        let advice = |count| {
            let (start, end, bound) = (0, 9, 50);
            let overflow = DecodeError::Overflow {
                start,
                end,
                count,
                bound,
            };
            overflow.to_string()
        };
        assert!(advice(4096).ends_with("a bound of at least 4096, or for smaller ranges"));
        assert!(advice(41_000).ends_with("smaller ranges: no digest has a bound above 4096"));
    }
}
