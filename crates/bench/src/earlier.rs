//! PerfOMR1 on synthetic messages: from clues to payloads.

use crate::digest::timed;
use crate::{BenchError, Workload, peak_rss_bytes, yardstick_us};
use omr_client::earlier::{EarlierDecodeError, Retrieved, decode};
use omr_client::{DecodeError, Recipient, keygen};
use omr_codec::{Combinations, IndexBuckets};
use omr_detector::earlier::{Bundles, EarlierError, RowShape, RowSource};
use omr_detector::{ClueBatch, Detector, MessageSource, Progress, Stages, transforms};
use omr_protocol::ClueKind;
use omr_protocol::digest::{BODY_BITS, MASK_BITS};
use omr_protocol::earlier::{EarlierCodes, EarlierIndex, EarlierSet};
use omr_protocol::{Clue, PackedCiphertext, Params, ParamsError, Placement, SEED_BYTES};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One digest of PerfOMR1.
#[derive(Clone)]
pub struct EarlierBench {
    /// A parameter set with the keys of the expansion.
    pub params: Arc<Params>,
    /// Messages of a bundle.
    pub bundle: usize,
    /// Messages on the board.
    pub messages: u64,
    /// How many are pertinent.
    pub pertinent: usize,
    /// The bound asked for.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Everything random follows from it.
    pub seed: u64,
}

/// What it came to.
#[derive(Clone, Debug, Serialize)]
pub struct EarlierFigures {
    /// Name of the parameter set.
    pub params: &'static str,
    /// Its bits of security.
    pub security_bits: f64,
    /// Messages of a bundle.
    pub bundle: usize,
    /// Messages on the board.
    pub messages: u64,
    /// How many were pertinent.
    pub pertinent: usize,
    /// The bound asked for.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// Threads in use.
    pub threads: usize,
    /// Seconds from clues and payloads in memory to the digest.
    pub digest_s: f64,
    /// The parts of `digest_s`.
    pub stages: BTreeMap<&'static str, f64>,
    /// Number-theoretic transforms of all lengths.
    pub transforms: u64,
    /// From decrypting to payloads.
    pub decode_ms: f64,
    /// Bytes of the digest's ciphertexts.
    pub digest_bytes: usize,
    /// Pertinent messages whose payload came out bit for bit in a bundle with the right count.
    pub exact: usize,
    /// Bundles found without a pertinent message, or with a wrong count.
    pub wrong: usize,
    /// Mean of the yardstick before and after.
    pub yardstick_us: Option<f64>,
    /// `digest_s` in yardstick NTTs.
    pub digest_ntts: Option<f64>,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EarlierBenchError {
    /// What other runs fail with.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The compression.
    #[error(transparent)]
    Earlier(#[from] EarlierError),
    /// The digest did not decrypt.
    #[error(transparent)]
    Decrypt(#[from] DecodeError),
    /// Its sums did not decode.
    #[error(transparent)]
    Decode(#[from] EarlierDecodeError),
    /// The set.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The codes.
    #[error(transparent)]
    Codec(#[from] omr_codec::CodecError),
    /// The detector.
    #[error(transparent)]
    Detector(#[from] omr_detector::DetectorError),
    /// The synthetic board.
    #[error("the synthetic board failed: {0}")]
    Board(Box<dyn std::error::Error + Send + Sync>),
}

/// The codes, whose messages are places: bundle by bundle, batch by batch.
struct Places {
    codes: EarlierCodes,
    bundles: Bundles,
    placements: Vec<Placement>,
    slots: u64,
}

impl Places {
    /// The message at a place; none where a batch is not full.
    fn message(&self, place: u64, messages: u64) -> Option<u64> {
        let size = self.slots / self.bundles.count() as u64;
        let (bundle, within) = ((place / size) as usize, (place % size) as usize);
        let (batch, j) = (bundle / self.bundles.count(), bundle % self.bundles.count());
        let slot = self.bundles.slots(j).nth(within)?;
        let message = u64::from(self.placements[batch].messages()[slot]);
        Some(batch as u64 * self.slots + message).filter(|&message| message < messages)
    }

    fn buckets(&self) -> Option<&IndexBuckets> {
        match &self.codes.index {
            EarlierIndex::Buckets(buckets) => Some(buckets),
            EarlierIndex::Bitmap(_) => None,
        }
    }

    fn shape(&self) -> RowShape {
        RowShape {
            index: self.codes.index_sums(),
            combinations: self.codes.payloads.as_ref().map_or(0, Combinations::rows),
            symbols: self.codes.bundle_symbols(),
        }
    }
}

impl EarlierBench {
    /// Runs it.
    ///
    /// Errors: any step's.
    pub fn run(&self, progress: &dyn Progress) -> Result<EarlierFigures, EarlierBenchError> {
        let params = &self.params;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let keys = keygen(params, ClueKind::Plain, &mut rng);
        let (clue, key) = (params.clue.clone(), keys.clue.clone());
        let (bytes, seed) = (self.payload_bytes, self.seed);
        let mut board = Workload::new(clue, key, self.messages, self.pertinent, bytes, seed);
        let places = self.places(&mut rng)?;
        let detector = Detector::new(params.clone(), keys.detection);
        let before = yardstick_us();
        let done = transforms();
        let mut stages = Stages::default();
        let digest = self.digest(&detector, &mut board, &places, &mut stages, progress)?;
        let transforms = transforms() - done;
        let after = yardstick_us();
        let recipient = Recipient::new(params, &keys.secret);
        let shape = places.shape();
        let (found, decode_s) = timed(|| -> Result<_, EarlierBenchError> {
            let sums = recipient.bundle_sums(&digest, shape.positions())?;
            let (index, payloads) = sums.split_at(shape.index);
            Ok(decode(
                &places.codes,
                index,
                &by_combination(shape, payloads),
            )?)
        });
        let (exact, wrong) = self.score(&board, &places, &found?);
        let seconds = stages.seconds().iter().copied();
        let stages: BTreeMap<_, _> = seconds.filter(|(name, _)| *name != "read").collect();
        let digest_s = stages.values().sum();
        let yardstick_us = before.zip(after).map(|(a, b)| (a + b) / 2.0);
        Ok(EarlierFigures {
            params: params.name(),
            security_bits: params.spec().security_bits,
            bundle: self.bundle,
            messages: self.messages,
            pertinent: self.pertinent,
            bound: self.bound,
            payload_bytes: self.payload_bytes,
            threads: rayon::current_num_threads(),
            digest_s,
            stages,
            transforms,
            decode_ms: decode_s * 1e3,
            digest_bytes: ciphertext_bytes(&digest),
            exact,
            wrong,
            yardstick_us,
            digest_ntts: yardstick_us.map(|us| digest_s * 1e6 / us),
            peak_rss_bytes: peak_rss_bytes(),
        })
    }

    fn places(&self, rng: &mut ChaCha20Rng) -> Result<Places, EarlierBenchError> {
        let params = &self.params;
        let slots = params.slots() as u64;
        let batches = self.messages.div_ceil(slots);
        let mut set = EarlierSet::named("perfomr1-v1", false)?;
        set.bundle = self.bundle as u32;
        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let messages = batches * slots;
        Ok(Places {
            codes: EarlierCodes::new(&set, &seed, messages, self.bound, self.payload_bytes)?,
            bundles: Bundles::new(params, self.bundle)?,
            placements: (0..batches as usize)
                .map(|batch| Placement::new(&seed, batch, params.slots()))
                .collect(),
            slots,
        })
    }

    fn digest(
        &self,
        detector: &Detector,
        board: &mut Workload,
        places: &Places,
        stages: &mut Stages,
        progress: &dyn Progress,
    ) -> Result<Vec<PackedCiphertext>, EarlierBenchError> {
        let params = &self.params;
        let steps = stages.time("baby_steps", || detector.baby_steps(progress))?;
        let mut pertinent = Vec::new();
        for (batch, placement) in places.placements.iter().enumerate() {
            let start = batch as u64 * places.slots;
            let messages = start..self.messages.min(start + places.slots);
            let clues = stages.time("read", || board.clues(messages));
            let clues = clues.map_err(EarlierBenchError::Board)?;
            let bytes = Clue::bytes(&params.clue);
            let clues = stages.time("clues", || ClueBatch::new(params, placement, clues, bytes));
            pertinent.push(detector.pertinency_vector(&steps, &clues, progress, stages)?);
        }
        drop(steps);
        let mut compressor = detector.compressor(places.bundles, places.shape())?;
        for (batch, pertinent) in pertinent.iter().enumerate() {
            let first = (batch * places.bundles.count()) as u64;
            self.compress(first, board, places, |rows| {
                compressor.add_batch(pertinent, rows, progress)
            })?;
        }
        let (digest, more) = compressor.finish();
        stages.add(&more);
        Ok(digest)
    }

    /// Gives the rows of the bundles from `first` on to `add`.
    fn compress(
        &self,
        first: u64,
        board: &Workload,
        places: &Places,
        add: impl FnOnce(&RowSource) -> Result<(), EarlierError>,
    ) -> Result<(), EarlierBenchError> {
        let (codes, packing) = (&places.codes, &places.codes.symbols);
        let index = |j: usize, out: &mut Vec<(u32, u32)>| {
            let bundle = first + j as u64;
            let buckets = places.buckets().into_iter();
            let places = buckets.flat_map(|code| code.places(bundle).map(move |at| (code, at)));
            out.extend(places.flat_map(|(code, at)| (at as u32..).zip(code.content(bundle))));
        };
        let weights = |j: usize, out: &mut [u32]| {
            if let Some(code) = &codes.payloads {
                let factors = code.factors(first + j as u64);
                factors
                    .into_iter()
                    .for_each(|(row, factor)| out[row] = factor);
            }
        };
        let symbols = |j: usize, out: &mut [u32]| {
            out.fill(0);
            let all = codes.messages(first + j as u64);
            for (place, out) in all.zip(out.chunks_mut(packing.count())) {
                if let Some(message) = places.message(place, self.messages) {
                    let payload = board.payload(message);
                    packing.pack(&payload, out).expect("payloads of one length");
                }
            }
        };
        Ok(add(&RowSource {
            index: &index,
            weights: &weights,
            symbols: &symbols,
        })?)
    }

    /// Exact messages, and bundles that should not be there or have another count.
    fn score(&self, board: &Workload, places: &Places, found: &[Retrieved]) -> (usize, usize) {
        let (mut exact, mut wrong) = (0, 0);
        for bundle in found {
            let members = bundle.messages.clone().zip(&bundle.payloads);
            let members = members.filter_map(|(place, payload)| {
                Some((places.message(place, self.messages)?, payload))
            });
            let own: Vec<_> = members
                .filter(|(message, _)| board.pertinent().binary_search(message).is_ok())
                .collect();
            let right =
                |(message, payload): &&(u64, &Vec<u8>)| board.payload(*message) == **payload;
            match own.len() == bundle.count as usize && !own.is_empty() {
                true => exact += own.iter().filter(right).count(),
                false => wrong += 1,
            }
        }
        (exact, wrong)
    }
}

/// Payload sums as the code has them, combination by combination; the digest has them symbol by symbol.
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
