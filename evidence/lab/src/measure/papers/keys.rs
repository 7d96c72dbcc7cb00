//! A recipient of a paper's scheme with a detector. The keys serve several runs.

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

/// A set's parameters, a recipient's keys and the detector.
pub struct PaperKeys {
    pub(super) set: PaperSet,
    pub(super) set_params: Arc<PaperParams>,
    pub(super) address: Address,
    pub(super) detector: PaperDetector,
    pub(super) detection_key_bytes: u64,
    pub(super) keygen_s: f64,
}

/// The recipient's secret and address.
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
    /// Generates keys of a set. The seed determines all randomness.
    ///
    /// Errors: the parameters are invalid.
    pub fn new(set: &PaperSet, seed: u64) -> Result<Self, PaperBenchError> {
        Ok(Self::with_large_secret(set, seed)?.0)
    }

    /// Generates keys as [`PaperKeys::new`] does and returns them with the large ring's secret, for measuring noise.
    ///
    /// Errors: as [`PaperKeys::new`].
    pub fn with_large_secret(set: &PaperSet, seed: u64) -> Result<(Self, Secret), PaperBenchError> {
        let kind = if set.published {
            ClueKind::Plain
        } else {
            ClueKind::Bound
        };
        let start = Instant::now();
        let set_params = Arc::new(set.params()?);
        let params = &set_params.params;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (address, key, large) = match &set_params.lwe {
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
                let (key, large) = detection_key_with_large_secret(&set_params, &secret, &mut rng);
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
            detector: PaperDetector::new(set_params.clone(), key),
            set_params,
            address,
            detection_key_bytes,
            keygen_s: start.elapsed().as_secs_f64(),
        };
        Ok((keys, large))
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.set_params.params
    }

    /// Returns the detector.
    pub fn detector(&self) -> &PaperDetector {
        &self.detector
    }

    /// Returns the clues of one batch of `messages` messages, `pertinent` of them pertinent.
    ///
    /// Errors: none for boards that are made here.
    pub fn clues(
        &self,
        messages: u64,
        pertinent: usize,
        seed: u64,
        placement: &Placement,
    ) -> Result<ClueBatch, DetectorError> {
        let (params, address) = (&self.set_params, &self.address);
        let board = Board::new(params, address, messages, pertinent, 1, seed);
        board.batch(
            0..messages,
            placement,
            &[0; SEED_BYTES],
            &mut Stages::default(),
        )
    }

    /// Returns the set.
    pub fn set(&self) -> &PaperSet {
        &self.set
    }

    pub(super) fn recipient(&self) -> PaperRecipient<'_> {
        match &self.address {
            Address::Ring { secret, .. } => PaperRecipient::new(self.params(), secret),
            Address::Lwe { secret, .. } => PaperRecipient::of_lwe(self.params(), secret),
        }
    }

    /// Returns the milliseconds of a clue, the mean of many, without preparing the address.
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

    /// Returns the bytes of the address file.
    pub(super) fn clue_key_bytes(&self) -> Result<usize, ClueError> {
        let file = match &self.address {
            Address::Ring { clue, .. } => clue.to_bytes(&self.params().clue),
            Address::Lwe { params, clue, .. } => clue.to_bytes(params),
        };
        Ok(file?.len())
    }

    /// Returns the set with bundles of `bundle` messages.
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
