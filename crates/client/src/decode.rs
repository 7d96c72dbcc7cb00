//! What decoding a digest gives, and what can be wrong with one.

use omr_codec::CodecError;
use omr_compress::PackedError;
use omr_protocol::Mismatch;
use omr_protocol::clue::FingerprintKey;
use omr_protocol::request::MAX_BOUND;
use omr_protocol::{ClueKind, ParamsError, hex};

/// What to do about so many messages.
fn advice(count: usize) -> String {
    if count <= MAX_BOUND {
        format!("ask for a digest with a bound of at least {count}, or for smaller ranges")
    } else {
        format!("ask for smaller ranges: no digest has a bound above {MAX_BOUND}")
    }
}

/// A digest that does not decode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The digest was made with another detection key.
    #[error("the digest was made for another recipient: expected detection key {}, which belongs to this secret key, \
         found {}", hex(&.0.expected), hex(&.0.found))]
    OtherKey(Mismatch<[u8; 16]>),
    /// Payloads with the fingerprints of their clues for a key of plain clues, or without for one of bound clues.
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
    /// The sums contradict each other: damage, or a faulty detector.
    #[error("the digest contradicts itself ({0}): it is damaged or its detector is faulty")]
    Inconsistent(String),
    /// The digest needs an engine that its set lacks.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The payload of this message does not match its checksum.
    #[error(
        "the payload of message {0} does not match its checksum: the digest is damaged or its detector is faulty"
    )]
    Checksum(u64),
    /// The digest's shape does not suit the code.
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
    /// Its place on the board.
    pub index: u64,
    /// Its payload, as it stands on the board; `None` from a digest of indices.
    pub payload: Option<Vec<u8>>,
    /// What the digest says of a bound clue, beside its payload.
    pub fingerprint: Option<Fingerprint>,
}

impl Retrieved {
    /// A message at a place of the board; its payload and fingerprint, where the digest has them.
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

/// What a digest says of a bound clue: see [`omr_protocol::clue::Hashed::fingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The digest's.
    pub key: FingerprintKey,
    /// The clue's.
    pub value: u32,
}

/// Errors: `Clues` unless a digest of payloads has fingerprints where clues are bound, and none where not.
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

/// The messages of all groups, or the first error.
pub(crate) fn in_order(
    groups: Vec<Result<Vec<Retrieved>, DecodeError>>,
) -> Result<Vec<Retrieved>, DecodeError> {
    let groups: Result<Vec<_>, _> = groups.into_iter().collect();
    Ok(groups?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_bounds_that_do_not_exist() {
        let told = |count| {
            let (start, end, bound) = (0, 9, 50);
            let overflow = DecodeError::Overflow {
                start,
                end,
                count,
                bound,
            };
            overflow.to_string()
        };
        assert!(told(4096).ends_with("a bound of at least 4096, or for smaller ranges"));
        assert!(told(41_000).ends_with("smaller ranges: no digest has a bound above 4096"));
    }
}
