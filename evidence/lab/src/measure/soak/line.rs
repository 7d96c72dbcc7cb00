//! The result of one digest of a soak test.

use super::tally::Rounding;
use crate::measure::{Workload, clear};
use omr_client::{DecodeError, Retrieved, SecretKey};
use omr_protocol::Clue;
use omr_protocol::sophomr::{Params, ParamsSpec};
use omr_rlwe::Secret;
use serde::Serialize;

/// The poster of the impertinent messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strain {
    /// Uniform clues, random payloads.
    Honest,
    /// Clues and payloads that maximise the noise.
    Hostile,
}

impl Strain {
    /// Returns the poster among the messages of a key, by turns.
    pub(super) fn of_key(key: u64) -> Self {
        if key.is_multiple_of(2) {
            Self::Honest
        } else {
            Self::Hostile
        }
    }
}

/// The result of one digest of a soak test.
#[derive(Clone, Debug, Serialize)]
pub struct SoakLine {
    /// The number of the key, from 0.
    pub key: u64,
    /// The seed of the key and the messages.
    pub seed: u64,
    /// The poster of the impertinent messages.
    pub strangers: Strain,
    /// The number of batches merged in the digest.
    pub batches: u64,
    /// The number of messages that the digest covers.
    pub messages: u64,
    /// The number of pertinent messages posted.
    pub pertinent: usize,
    /// The recipient's result.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The number of clues that did not parse.
    pub unusable_clues: usize,
    /// The distances of the digest's coefficients from symbols.
    #[serde(flatten)]
    pub rounding: Rounding,
    /// Seconds of key generation.
    pub keygen_s: f64,
    /// Seconds from clues and payloads in memory to the digest.
    pub digest_s: f64,
    /// Milliseconds from the digest's bytes to payloads.
    pub decode_ms: f64,
    /// The peak memory of the process.
    pub peak_rss_bytes: u64,
}

impl SoakLine {
    /// Returns whether the digest contained exactly the messages whose clues are in the window.
    pub fn is_exact(&self) -> bool {
        let verdict = &self.verdict;
        verdict.error.is_none()
            && verdict.missed == 0
            && verdict.false_positives == 0
            && verdict.inexact == 0
    }
}

/// A recipient's result, compared with the clues in the clear.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// The number of messages to the recipient that were found.
    pub found: usize,
    /// The number of messages to the recipient with a clue in the window that were not found.
    pub missed: usize,
    /// The number of messages that were found although their clue is outside the window.
    pub false_positives: usize,
    /// The number of payloads that differ from those on the board.
    pub inexact: usize,
    /// The number of strangers' clues that are in the window by chance, and were found as they must be.
    pub accidental: usize,
    /// The number of messages to the recipient whose own noise left the window.
    pub outside: usize,
    /// The error, if the digest did not decode.
    pub error: Option<String>,
}

impl Verdict {
    pub(super) fn new(
        params: &Params,
        secret: &SecretKey,
        board: &Workload,
        decoded: Result<Vec<Retrieved>, DecodeError>,
    ) -> Self {
        let mut verdict = Self::default();
        let found = decoded.unwrap_or_else(|error| {
            verdict.error = Some(error.to_string());
            Vec::new()
        });
        let senders = board.senders();
        let pertinent =
            |index| in_window(params, secret.clue_secret(), &board.clue(&senders, index));
        for message in &found {
            match board.pertinent().binary_search(&message.index) {
                Ok(_) => verdict.found += 1,
                Err(_) if pertinent(message.index) => verdict.accidental += 1,
                Err(_) => verdict.false_positives += 1,
            }
            let payload = message.payload.as_ref();
            let exact = payload.is_none_or(|payload| *payload == board.payload(message.index));
            verdict.inexact += usize::from(!exact);
        }
        for &index in board.pertinent() {
            if found.binary_search_by_key(&index, |m| m.index).is_err() {
                if pertinent(index) {
                    verdict.missed += 1
                } else {
                    verdict.outside += 1
                }
            }
        }
        verdict
    }
}

/// Returns whether a clue is pertinent in the clear: every coordinate of `b - a s` is in the window. Near its edges
/// the noise of opening decides, which this test does not know.
fn in_window(params: &Params, secret: &Secret, clue: &[u8]) -> bool {
    let Ok(clue) = Clue::from_bytes(&params.clue, clue) else {
        return false;
    };
    let ring = &params.clue.ring;
    let secret = secret.poly(ring, &ring.everything());
    let a = clear::vector(&params.clue, &clue.a);
    let b = clear::doubled(&params.clue, &clue.b[..ParamsSpec::COORDINATES]);
    let range = 2 * params.spec().clue_range();
    let distances = clear::distances(&params.clue, &secret, &a, &b);
    distances.iter().all(|d| d.unsigned_abs() <= range)
}
