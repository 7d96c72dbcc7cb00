//! Many batches over many fresh keys, every digest checked.

mod line;
mod tally;

pub use line::{SoakLine, Strain};
pub use tally::{SoakTally, failure_log2};

use crate::measure::digest::timed;
use crate::measure::{BenchError, Hostile, Strangers, Workload};
use chacha20::ChaCha20Rng;
use line::Verdict;
use omr_client::sophomr::{Keys, Recipient, keygen};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::sophomr::Detector;
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{ClueKind, SEED_BYTES, Scheme, Sealing};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// What to soak.
#[derive(Clone)]
pub struct Soak {
    /// Payloads or indices.
    pub scheme: Scheme,
    /// The parameter set.
    pub params: Arc<Params>,
    /// Fresh keys.
    pub keys: u64,
    /// Full batches, spread evenly over the keys.
    pub batches: u64,
    /// Pertinent messages of a digest.
    pub pertinent: usize,
    /// The bound asked for; strangers' clues pass for pertinent now and then.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Everything random follows from it: key `i` from `seed + i`.
    pub seed: u64,
}

/// One digest of a soak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoakDigest {
    /// The key, counted from 0.
    pub key: u64,
    /// The key's digests before this one.
    pub nth: u64,
    /// Batches that merge in it.
    pub batches: u64,
}

impl Soak {
    /// Its digests, key by key: each covers as many of the key's batches as merge.
    pub fn digests(&self) -> Vec<SoakDigest> {
        let most = self.params.nodes.batches() as u64;
        let of_key = |key| {
            let batches = self.batches / self.keys + u64::from(key < self.batches % self.keys);
            (0..batches.div_ceil(most)).map(move |nth| SoakDigest {
                key,
                nth,
                batches: most.min(batches - nth * most),
            })
        };
        (0..self.keys).flat_map(of_key).collect()
    }

    /// Makes one digest and checks it. Every other key meets hostile strangers.
    ///
    /// Errors: those of plan, detector and files; a digest that does not decode is a result.
    pub fn run(&self, digest: SoakDigest, progress: &dyn Progress) -> Result<SoakLine, BenchError> {
        let params = &self.params;
        let payload = (self.scheme == Scheme::Sophomr).then_some(self.payload_bytes);
        let messages = digest.batches * params.slots() as u64;
        let plan = DigestPlan::new(params, 0..messages, self.bound, payload)?;
        let seed = self.seed.wrapping_add(digest.key);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (keys, keygen_s) = timed(|| keygen(params, ClueKind::Plain, &mut rng));
        let Keys {
            secret,
            clue,
            detection,
        } = keys;
        let (strain, mut board) = self.board(digest, clue, messages)?;
        let detector = Detector::new(params.clone(), detection);
        let mut placement = [0; SEED_BYTES];
        rng.fill_bytes(&mut placement);
        let out = detector.digest(
            &mut board,
            &plan,
            [0; 16],
            Sealing::None,
            placement,
            progress,
        )?;
        drop(detector);
        let bytes = out.digest.to_bytes(params)?;
        let made = omr_protocol::sophomr::Digest::from_bytes(params, &bytes)?;
        let recipient = Recipient::new(params, &secret);
        let (decoded, decode_s) = timed(|| recipient.decode(&made));
        let roundings = recipient.roundings(&made)?;
        let verdict = Verdict::new(params, &secret, &board, decoded);
        let stages = out.stages.seconds().iter();
        let digest_s = stages
            .filter(|(name, _)| *name != "read")
            .map(|(_, s)| s)
            .sum();
        Ok(SoakLine {
            key: digest.key,
            seed,
            strangers: strain,
            batches: digest.batches,
            messages,
            pertinent: self.pertinent,
            verdict,
            unusable_clues: out.unusable_clues,
            rounding: tally::Rounding::new(&roundings),
            keygen_s,
            digest_s,
            decode_ms: decode_s * 1e3,
            peak_rss_bytes: peak_rss_bytes(),
        })
    }

    fn board(
        &self,
        digest: SoakDigest,
        key: omr_protocol::ClueKey,
        messages: u64,
    ) -> Result<(Strain, Workload), BenchError> {
        // Digests of one key differ in their messages.
        let seed = self.seed.wrapping_add(digest.key) ^ digest.nth << 48;
        let params = self.params.clone();
        let (pertinent, bytes) = (self.pertinent, self.payload_bytes);
        let board = Workload::new(params.clue.clone(), key, messages, pertinent, bytes, seed);
        if digest.key.is_multiple_of(2) {
            return Ok((Strain::Honest, board));
        }
        let hostile = Hostile::new(&self.params, bytes, seed / 2)?;
        Ok((
            Strain::Hostile,
            board.with_strangers(Strangers::Hostile(Box::new(hostile))),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_spread_over_keys_and_merge_as_far_as_they_can() {
        let params = Params::named("insecure-tiny-v2").expect("published");
        let most = params.nodes.batches() as u64;
        let soak = Soak {
            scheme: Scheme::Sophomd,
            params,
            keys: 2,
            batches: 2 * most + 3,
            pertinent: 1,
            bound: 1,
            payload_bytes: 1,
            seed: 1,
        };
        let digests = soak.digests();
        let shape: Vec<_> = digests.iter().map(|d| (d.key, d.nth, d.batches)).collect();
        let expected = [(0, 0, most), (0, 1, 2), (1, 0, most), (1, 1, 1)];
        assert_eq!(shape, expected);
    }
}
