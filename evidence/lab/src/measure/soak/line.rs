//! What one digest of a soak showed.

use super::tally::Rounding;
use crate::measure::{Workload, clear};
use omr_client::{DecodeError, Retrieved, SecretKey};
use omr_protocol::Clue;
use omr_protocol::sophomr::{Params, ParamsSpec};
use omr_rlwe::Secret;
use serde::Serialize;

/// Who posts the impertinent messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Strain {
    /// Uniform clues, random payloads.
    Honest,
    /// Clues and payloads chosen for the most noise.
    Hostile,
}

/// What one digest of a soak showed.
#[derive(Clone, Debug, Serialize)]
pub struct SoakLine {
    /// The key, counted from 0.
    pub key: u64,
    /// What the key and the messages follow from.
    pub seed: u64,
    /// Who posts the impertinent messages.
    pub strangers: Strain,
    /// Batches merged in the digest.
    pub batches: u64,
    /// Messages that it covers.
    pub messages: u64,
    /// Pertinent messages posted.
    pub pertinent: usize,
    /// What the recipient found.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Clues that did not parse.
    pub unusable_clues: usize,
    /// How far the digest's coefficients lie from symbols.
    #[serde(flatten)]
    pub rounding: Rounding,
    /// Key generation.
    pub keygen_s: f64,
    /// From clues and payloads in memory to the digest.
    pub digest_s: f64,
    /// From the digest's bytes to payloads.
    pub decode_ms: f64,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
}

impl SoakLine {
    /// Whether the digest held exactly the messages whose clues lie in the window.
    pub fn is_exact(&self) -> bool {
        let verdict = &self.verdict;
        verdict.error.is_none()
            && verdict.missed == 0
            && verdict.false_positives == 0
            && verdict.inexact == 0
    }
}

/// What a recipient found, against what her clues say in the clear.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// Posted to her and found.
    pub found: usize,
    /// Posted to her with a clue in the window, but not found.
    pub missed: usize,
    /// Found though the clue lies outside the window.
    pub false_positives: usize,
    /// Payloads found that are not those on the board.
    pub inexact: usize,
    /// Strangers' clues that lie in the window by chance, found as they must be.
    pub accidental: usize,
    /// Posted to her, but the clue's own noise left the window.
    pub outside: usize,
    /// Why the digest did not decode.
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

/// Whether a clue is pertinent, in the clear: every coordinate of `b - a s` in the window. At its ends the noise of
/// opening decides, which this knows nothing of.
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
