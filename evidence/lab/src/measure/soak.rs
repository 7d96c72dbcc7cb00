//! Many batches with many fresh keys, and a check of every digest.

mod line;
mod rounds;
mod tally;

pub use line::{SoakLine, Strain};
pub use rounds::{Deviation, RoundsLine, RoundsTally};
pub use tally::{SoakTally, failure_log2};

use crate::measure::digest::{scan, stages_without_reading, timed};
use crate::measure::{BenchError, Hostile, Shape, Start, Strangers, Workload, schemes};
use chacha20::ChaCha20Rng;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use line::Verdict;
use omr_client::sophomr::{Keys, Recipient, keygen};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::sophomr::Detector;
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_protocol::{ClueKind, EngineKind, Scheme};
use rand_core::SeedableRng;
use std::sync::Arc;

/// The scale of a soak test.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("bound", |arg| arg.default_value("54")))]
pub struct Soak {
    /// Digests of payloads or of indices, or two rounds
    #[arg(long, value_parser = schemes(&[EngineKind::Sophomr, EngineKind::Rounds]), default_value_t = Scheme::Sophomr)]
    pub scheme: Scheme,
    /// Fresh keys, key i from seed + i; every other one meets hostile strangers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub keys: u64,
    /// Full batches, spread evenly over the keys; up to 12 of a key merge in one digest, each has a scan of its own
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub batches: u64,
    /// Pertinent messages of each digest or scan; strangers' pass for pertinent now and then
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub pertinent: usize,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub shape: Shape,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take it for the command's")]
    pub start: Start,
    /// Go on with this key, counted from 0, after a run that was stopped
    #[arg(long, value_name = "KEY", default_value_t = 0)]
    pub from_key: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = SOPHOMR)]
    pub params: String,
}

/// One digest of a soak test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoakDigest {
    /// The number of the key, from 0.
    pub key: u64,
    /// The number of the key's digests before this one.
    pub nth: u64,
    /// The number of batches that are merged in it.
    pub batches: u64,
}

impl Soak {
    /// Returns the digests, key by key. Each covers as many of the key's batches as can be merged.
    pub fn digests(&self, params: &Params) -> Vec<SoakDigest> {
        let most = params.nodes.batches() as u64;
        let of_key = |key| {
            let batches = self.batches_of(key);
            (0..batches.div_ceil(most)).map(move |nth| SoakDigest {
                key,
                nth,
                batches: most.min(batches - nth * most),
            })
        };
        (self.from_key..self.keys).flat_map(of_key).collect()
    }

    /// Returns the number of batches of a key.
    fn batches_of(&self, key: u64) -> u64 {
        self.batches / self.keys + u64::from(key < self.batches % self.keys)
    }

    /// Makes one digest and checks it. The strangers of every other key are hostile.
    ///
    /// Errors: those of plan, detector and files; a digest that does not decode is a result, not an error.
    pub fn run(
        &self,
        params: &Arc<Params>,
        digest: SoakDigest,
        progress: &dyn Progress,
    ) -> Result<SoakLine, BenchError> {
        let payload = (!self.scheme.is_for_indices()).then_some(self.shape.payload_bytes);
        let messages = digest.batches * params.slots() as u64;
        let plan = DigestPlan::new(params, 0..messages, self.shape.bound, payload)?;
        let seed = self.start.seed.wrapping_add(digest.key);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (keys, keygen_s) = timed(|| keygen(params, ClueKind::Plain, &mut rng));
        let Keys {
            secret,
            clue,
            detection,
        } = keys;
        let (strain, mut board) = self.board(params, digest, clue, messages)?;
        let detector = Detector::new(params.clone(), detection);
        detector.take_memory();
        let out = scan(&detector, &mut board, &plan, &mut rng, progress)?;
        drop(detector);
        let bytes = out.digest.to_bytes(params)?;
        let made = omr_protocol::sophomr::Digest::from_bytes(params, &bytes)?;
        let recipient = Recipient::new(params.recipient(), &secret);
        let (decoded, decode_s) = timed(|| recipient.decode(&made));
        let roundings = recipient.roundings(&made)?;
        let verdict = Verdict::new(params, &secret, &board, decoded);
        let digest_s = stages_without_reading(&out.stages).values().sum();
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

    /// Returns the seed of a board: boards of one key differ in their messages.
    fn board_seed(&self, key: u64, nth: u64) -> u64 {
        self.start.seed.wrapping_add(key) ^ nth << 48
    }

    fn board(
        &self,
        params: &Arc<Params>,
        digest: SoakDigest,
        key: omr_protocol::ClueKey,
        messages: u64,
    ) -> Result<(Strain, Workload), BenchError> {
        let seed = self.board_seed(digest.key, digest.nth);
        let (pertinent, bytes) = (self.pertinent, self.shape.payload_bytes);
        let board = Workload::new(params.clue.clone(), key, messages, pertinent, bytes, seed);
        if Strain::of_key(digest.key) == Strain::Honest {
            return Ok((Strain::Honest, board));
        }
        let hostile = Hostile::new(params, bytes, seed / 2)?;
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
        let params = Params::named("insecure-tiny-v4").expect("published");
        let most = params.nodes.batches() as u64;
        let soak = Soak {
            scheme: Scheme::Sophomd,
            keys: 2,
            batches: 2 * most + 3,
            pertinent: 1,
            shape: Shape::default(),
            start: Start::default(),
            from_key: 0,
            params: params.name().to_owned(),
        };
        let digests = soak.digests(&params);
        let shape: Vec<_> = digests.iter().map(|d| (d.key, d.nth, d.batches)).collect();
        let expected = [(0, 0, most), (0, 1, 2), (1, 0, most), (1, 1, 1)];
        assert_eq!(shape, expected);
    }
}
