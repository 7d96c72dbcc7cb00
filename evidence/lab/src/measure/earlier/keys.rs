//! A recipient of an earlier scheme and her detector, whose keys serve one run after another.

use super::board::Board;
use super::{PaperBenchError, PaperError};
use crate::measure::digest::{clue_ms, timed};
use chacha20::ChaCha20Rng;
use omr_client::SecretKey;
use omr_detector::{DetectorError, Stages};
use omr_papers::clear::{DetectionKey, LweClueKey, LweParams, PaperParams, PaperSet, Params};
use omr_papers::client::{
    LweSecret, LweSender, PaperRecipient, detection_key_with_large_secret, identity, ring_keys,
};
use omr_papers::detector::{Bundles, ClueBatch, PaperDetector};
use omr_protocol::{ClueError, ClueKey, ClueKind, Placement, SEED_BYTES};
use omr_rlwe::Secret;
use rand_core::SeedableRng;
use std::sync::Arc;
use std::time::Instant;

/// A set's parameters, a recipient's keys and her detector.
pub struct PaperKeys {
    pub(super) set: PaperSet,
    pub(super) earlier: Arc<PaperParams>,
    pub(super) address: Address,
    pub(super) detector: PaperDetector,
    pub(super) detection_key_bytes: u64,
    pub(super) keygen_s: f64,
}

/// Her secret and what senders get.
pub(super) enum Address {
    Ring {
        secret: Box<SecretKey>,
        clue: ClueKey,
    },
    Lwe {
        params: LweParams,
        secret: Box<LweSecret>,
        clue: LweClueKey,
    },
}

impl PaperKeys {
    /// Makes keys of a set; all random numbers follow from the seed.
    ///
    /// Errors: parameters that do not fit.
    pub fn new(set: &PaperSet, seed: u64) -> Result<Self, PaperBenchError> {
        Ok(Self::with_large_secret(set, seed)?.0)
    }

    /// The same, and the large ring's secret, for measuring noise.
    ///
    /// Errors: as there.
    pub fn with_large_secret(set: &PaperSet, seed: u64) -> Result<(Self, Secret), PaperBenchError> {
        let kind = if set.published {
            ClueKind::Plain
        } else {
            ClueKind::Bound
        };
        let start = Instant::now();
        let earlier = Arc::new(set.params()?);
        let params = &earlier.params;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (address, key, large) = match &earlier.lwe {
            None => {
                let keys = ring_keys(params, kind, &mut rng);
                let address = Address::Ring {
                    secret: Box::new(keys.secret),
                    clue: keys.clue,
                };
                (address, keys.detection, keys.large)
            }
            Some(lwe) => {
                let (secret, clue) = identity(lwe, &mut rng);
                let (key, large) = detection_key_with_large_secret(&earlier, &secret, &mut rng);
                let address = Address::Lwe {
                    params: lwe.clone(),
                    secret: Box::new(secret),
                    clue,
                };
                (address, key, large)
            }
        };
        let detection_key_bytes = DetectionKey::bytes(params, key.clues());
        let keys = Self {
            set: set.clone(),
            detector: PaperDetector::new(earlier.clone(), key),
            earlier,
            address,
            detection_key_bytes,
            keygen_s: start.elapsed().as_secs_f64(),
        };
        Ok((keys, large))
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.earlier.params
    }

    /// The detector.
    pub fn detector(&self) -> &PaperDetector {
        &self.detector
    }

    /// The clues of one batch, of so many messages with so many pertinent ones.
    ///
    /// Errors: none of boards that are made here.
    pub fn clues(
        &self,
        of: (u64, usize),
        seed: u64,
        placement: &Placement,
    ) -> Result<ClueBatch, DetectorError> {
        let board = Board::new(&self.earlier, &self.address, of, 1, seed);
        board.batch(0..of.0, placement, &[0; SEED_BYTES], &mut Stages::default())
    }

    /// The set.
    pub fn set(&self) -> &PaperSet {
        &self.set
    }

    pub(super) fn recipient(&self) -> PaperRecipient<'_> {
        match &self.address {
            Address::Ring { secret, .. } => PaperRecipient::new(self.params(), secret),
            Address::Lwe { secret, .. } => PaperRecipient::of_lwe(self.params(), secret),
        }
    }

    /// Milliseconds of a clue, the mean of many; preparing the address is no part of it.
    pub(super) fn clue_ms(&self, seed: u64) -> f64 {
        const CLUES: usize = 20;
        let (params, clue) = match &self.address {
            Address::Ring { clue, .. } => return clue_ms(&self.params().clue, clue, seed),
            Address::Lwe { params, clue, .. } => (params, clue),
        };
        let sender = LweSender::new(params, clue);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut make = || {
            (0..CLUES)
                .map(|_| sender.gen_clue(&mut rng).a.len())
                .sum::<usize>()
        };
        timed(&mut make).1 * 1e3 / CLUES as f64
    }

    /// Bytes of the file that senders get.
    pub(super) fn clue_key_bytes(&self) -> Result<usize, ClueError> {
        let file = match &self.address {
            Address::Ring { clue, .. } => clue.to_bytes(&self.params().clue),
            Address::Lwe { params, clue, .. } => clue.to_bytes(params),
        };
        Ok(file?.len())
    }

    /// The set with bundles of so many messages.
    pub(super) fn bundled(&self, bundle: usize) -> Result<(PaperSet, Bundles), PaperError> {
        let bundles = Bundles::new(self.params(), bundle)?;
        let bundle = bundle as u32;
        Ok((
            PaperSet {
                bundle,
                ..self.set.clone()
            },
            bundles,
        ))
    }
}
