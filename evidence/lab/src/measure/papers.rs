//! Benchmarks of the papers' schemes on synthetic messages, from clues to payloads.

mod board;
mod keys;
mod places;

pub use keys::PaperKeys;

use crate::measure::cpu::process_seconds;
use crate::measure::digest::{stages_without_reading, timed};
use crate::measure::yardstick::Yardstick;
use crate::measure::{DigestCost, Loading, Subject};
use board::Board;
use chacha20::ChaCha20Rng;
use omr_client::DecodeError;
use omr_console::peak_rss_bytes;
use omr_detector::{Progress, Stages, transforms};
use omr_papers::clear::{PaperScheme, PaperSet};
use omr_papers::client::{PaperDecodeError, Retrieved, decode};
use omr_papers::detector::{PaperError, Pertinency, RowShape};
use omr_protocol::sophomr::{BODY_BITS, MASK_BITS};
use omr_protocol::{ClueError, PackedCiphertext, ParamsError, SEED_BYTES};
use places::Places;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

/// One digest of a paper's scheme.
#[derive(Clone, Copy, Debug)]
pub struct PaperBench {
    /// The scheme.
    pub scheme: PaperScheme,
    /// The number of messages on the board.
    pub messages: u64,
    /// The number of pertinent messages.
    pub pertinent: usize,
    /// The bound of the digest; OMD1p has none.
    pub bound: usize,
    /// The bytes of a payload.
    pub payload_bytes: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// The number of messages in a bundle, 1 for OMD1p and OMR1p; [`PaperSet::of`] has the usual number.
    pub bundle: usize,
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct PaperFigures {
    /// Bits of security of the clues.
    pub clue_security_bits: f64,
    /// Bits of security of the detection keys.
    pub key_security_bits: f64,
    /// log2 of the probability that a pertinent message is missed.
    pub miss_log2: f64,
    /// log2 of the probability that an impertinent message passes.
    pub false_positive_log2: f64,
    /// True if clues are bound to their payloads: ring LWE clues, except those of sets as published.
    pub bound_clues: bool,
    /// The number of messages in a bundle.
    pub bundle: usize,
    /// The board and the digest.
    #[serde(flatten)]
    pub subject: Subject,
    /// The costs; `cpu_share` includes making clues and payloads.
    #[serde(flatten)]
    pub cost: DigestCost,
    /// The number of number-theoretic transforms of all lengths.
    pub transforms: u64,
    /// The number of pertinent messages whose payload was returned bit for bit, in a bundle with the right count.
    pub exact: usize,
    /// The number of bundles found without a pertinent message, or with a wrong count.
    pub wrong: usize,
}

/// A run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaperBenchError {
    /// A bitmap has a bit for each message, so bundles must have one message.
    #[error("expected bundles of 1 message for a bitmap index, found {0}")]
    Bundle(usize),
    /// The compression failed.
    #[error(transparent)]
    Paper(#[from] PaperError),
    /// The digest did not decrypt.
    #[error(transparent)]
    Decrypt(#[from] DecodeError),
    /// The digest's sums did not decode.
    #[error(transparent)]
    Decode(#[from] PaperDecodeError),
    /// The set is invalid.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The codes are invalid.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
    /// The detector failed.
    #[error(transparent)]
    Detector(#[from] omr_detector::DetectorError),
    /// The clue key is invalid.
    #[error(transparent)]
    Clue(#[from] ClueError),
}

impl PaperBench {
    /// Generates keys of the scheme's repaired set and runs the benchmark with them.
    ///
    /// Errors: those of all steps.
    pub fn run(&self, progress: &dyn Progress) -> Result<PaperFigures, PaperBenchError> {
        let keys = PaperKeys::new(&PaperSet::of(self.scheme), self.seed)?;
        self.run_with(&keys, progress)
    }

    /// Runs the benchmark with existing keys of any set of the scheme.
    ///
    /// Errors: those of all steps; `Bundle`.   Panics: if the keys are of another scheme, or if more messages are
    /// pertinent than there are.
    pub fn run_with(
        &self,
        keys: &PaperKeys,
        progress: &dyn Progress,
    ) -> Result<PaperFigures, PaperBenchError> {
        assert_eq!(keys.set.scheme, self.scheme, "keys of the scheme");
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let params = keys.params();
        let board = Board::new(
            &keys.set_params,
            &keys.address,
            self.messages,
            self.pertinent,
            self.payload_bytes,
            self.seed,
        );
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let places = self.places(keys, board.is_bound(), seed)?;
        let run = Run {
            bench: self,
            keys,
            board: &board,
            places: &places,
            seed: &seed,
            progress,
        };
        let clue_ms = keys.clue_ms(self.seed);
        let yardstick = Yardstick::start(true);
        let done = transforms();
        let mut stages = Stages::default();
        let cpu = process_seconds();
        let (digest, wall_s) = timed(|| run.digest(&mut stages));
        let cpu_share = (process_seconds() - cpu) / wall_s;
        let digest = digest?;
        let transforms = transforms() - done;
        let yardstick_us = yardstick.mean();
        let (found, decode_s) = timed(|| run.decode(&digest));
        let (exact, wrong) = run.score(&found?);
        let stages = stages_without_reading(&stages);
        let digest_s = stages.values().sum();
        Ok(PaperFigures {
            clue_security_bits: keys.set.clue_bits,
            key_security_bits: params.spec().key_bits,
            miss_log2: keys.set.miss_log2(),
            false_positive_log2: keys.set.false_positive_log2(),
            bound_clues: board.is_bound(),
            bundle: places.bundle_size(),
            subject: Subject {
                params: keys.set.name.to_owned(),
                messages: self.messages,
                pertinent: self.pertinent,
                bound: self.bound,
                payload_bytes: self.payload_bytes,
                threads: rayon::current_num_threads(),
                seed: self.seed,
            },
            cost: DigestCost {
                keygen_s: keys.keygen_s,
                loading: Loading::default(),
                digest_s,
                cpu_share,
                stages,
                decode_ms: decode_s * 1e3,
                clue_ms,
                detection_key_bytes: keys.detection_key_bytes,
                clue_key_bytes: keys.clue_key_bytes()?,
                clue_bytes: board.clue_bytes(),
                digest_bytes: ciphertext_bytes(&digest),
                peak_rss_bytes: peak_rss_bytes(),
                yardstick_us,
                digest_ntts: yardstick_us.map(|us| digest_s * 1e6 / us),
            },
            transforms,
            exact,
            wrong,
        })
    }

    fn places(
        &self,
        keys: &PaperKeys,
        fingerprints: bool,
        seed: [u8; SEED_BYTES],
    ) -> Result<Places, PaperBenchError> {
        let found = self.bundle;
        let (set, bundles) = keys.bundled(found)?;
        if set.bitmap().is_some() && found != 1 {
            return Err(PaperBenchError::Bundle(found));
        }
        Ok(Places::new(
            &set,
            bundles,
            self.messages,
            self.bound,
            self.payload_bytes,
            fingerprints,
            seed,
        )?)
    }
}

/// The state of one run.
struct Run<'a> {
    bench: &'a PaperBench,
    keys: &'a PaperKeys,
    board: &'a Board<'a>,
    places: &'a Places,
    /// The seed of the digest's placements, codes and fingerprints.
    seed: &'a [u8; SEED_BYTES],
    progress: &'a dyn Progress,
}

impl Run<'_> {
    fn digest(&self, stages: &mut Stages) -> Result<Vec<PackedCiphertext>, PaperBenchError> {
        let (detector, places) = (&self.keys.detector, self.places);
        let steps = stages.time("baby_steps", || detector.baby_steps(self.progress))?;
        let (mut pertinent, mut fingerprints) = (Vec::new(), Vec::new());
        for batch in 0..places.batches() {
            let messages = places.batch(batch, self.bench.messages);
            let placement = places.placement(batch);
            let clues = self.board.batch(messages, placement, self.seed, stages)?;
            fingerprints.extend_from_slice(clues.fingerprints());
            pertinent.push(detector.pertinency_vector(&steps, &clues, self.progress, stages)?);
        }
        drop(steps);
        match self.bench.scheme {
            PaperScheme::Omd1p => Ok(self.indices(pertinent, stages)),
            _ => self.sums(&pertinent, &fingerprints, stages),
        }
    }

    fn indices(&self, pertinent: Vec<Pertinency>, stages: &mut Stages) -> Vec<PackedCiphertext> {
        let mut indices = self.keys.detector.indices();
        stages.time("packing", || {
            pertinent
                .into_iter()
                .for_each(|batch| indices.add_batch(batch));
            indices.finish()
        })
    }

    fn sums(
        &self,
        pertinent: &[Pertinency],
        fingerprints: &[u32],
        stages: &mut Stages,
    ) -> Result<Vec<PackedCiphertext>, PaperBenchError> {
        let (detector, places) = (&self.keys.detector, self.places);
        let mut compressor = detector.compressor(places.bundles(), places.shape())?;
        let fingerprint = |message: u64| fingerprints.get(message as usize).copied();
        let payload = |message| {
            let fingerprint = fingerprint(message).unwrap_or(0);
            (self.board.payload(message), fingerprint)
        };
        for (batch, pertinent) in pertinent.iter().enumerate() {
            places.with_rows(batch, self.bench.messages, &payload, |rows| {
                compressor.add_batch(pertinent, rows, self.progress)
            })?;
        }
        let (digest, more) = compressor.finish();
        stages.add(&more);
        Ok(digest)
    }

    fn decode(&self, digest: &[PackedCiphertext]) -> Result<Vec<Retrieved>, PaperBenchError> {
        let (recipient, places) = (self.keys.recipient(), self.places);
        let (codes, shape) = (places.codes(), places.shape());
        if codes.payloads.is_none() {
            let vectors = shape.index / self.keys.params().slots();
            return Ok(decode(codes, &recipient.slot_sums(digest, vectors)?, &[])?);
        }
        let sums = recipient.sums(digest, shape.positions())?;
        let (index, payloads) = sums.split_at(shape.index);
        Ok(decode(codes, index, &by_combination(shape, payloads))?)
    }

    /// Returns the number of exact messages, and of bundles that should not be there or have another count.
    fn score(&self, found: &[Retrieved]) -> (usize, usize) {
        let (mut exact, mut wrong) = (0, 0);
        for bundle in found {
            let members = bundle.messages.clone().enumerate();
            type Found<'b> = Option<(&'b Vec<u8>, u32)>;
            let own: Vec<(u64, Found)> = members
                .filter_map(|(i, place)| {
                    let message = self.places.message(place, self.bench.messages)?;
                    let fingerprint = bundle.fingerprints.get(i).copied();
                    Some((message, bundle.payloads.get(i).zip(fingerprint)))
                })
                .filter(|(message, _)| self.board.is_pertinent(*message))
                .collect();
            let right = |&&(message, found): &&(u64, Found)| {
                let indices_only = self.places.codes().payloads.is_none();
                let same = |(payload, fingerprint): (&Vec<u8>, u32)| {
                    self.board.payload(message) == *payload
                        && self.board.fingerprint(message, self.seed) == fingerprint
                };
                found.map_or(indices_only, same)
            };
            if own.len() == bundle.count as usize && !own.is_empty() {
                exact += own.iter().filter(right).count()
            } else {
                wrong += 1
            }
        }
        (exact, wrong)
    }
}

/// Returns payload sums in the order of the code, combination by combination; the digest has them symbol by symbol.
fn by_combination(shape: RowShape, sums: &[u32]) -> Vec<u32> {
    let sum = |at: usize| {
        let (r, s) = (at / shape.symbols, at % shape.symbols);
        sums[shape.payload(r, s) - shape.index]
    };
    (0..sums.len()).map(sum).collect()
}

fn ciphertext_bytes(digest: &[PackedCiphertext]) -> usize {
    let bits = |ct: &PackedCiphertext| {
        let bodies: usize = ct.parts.iter().map(Vec::len).sum();
        MASK_BITS as usize * ct.mask.len() + BODY_BITS as usize * bodies
    };
    digest.iter().map(bits).sum::<usize>().div_ceil(8)
}
