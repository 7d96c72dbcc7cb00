//! The computation of pertinency vectors from clues.

use super::affine::{self, BabySteps};
use super::{Bundles, ClueBatch, Compressor, Indices, PaperError, RowShape};
use crate::clear::{DetectionKey, PaperParams, Params};
use omr_bgv::{Ciphertext, Evaluator};
use omr_detector::{DetectorError, Progress, Stages};
use omr_ring::{Reservation, Wiper};
use omr_rlwe::{Descent, Rlwe};
use std::sync::Arc;

/// The pertinency vector of a batch in the small ring: part i has the coefficients `c_(D t + i)`.
pub struct Pertinency {
    pub(crate) parts: Vec<Rlwe>,
    /// The factor, modulo p, that messages are multiplied by.
    pub(crate) scale: u64,
}

/// A detection key of the papers' schemes, ready to scan batches of clues. It is `Send + Sync`.
pub struct PaperDetector {
    pub(super) params: Arc<PaperParams>,
    key: DetectionKey,
    /// The memory of affine transforms.
    _memory: Reservation,
    /// Dropped after the key.
    _wiper: Wiper,
}

impl PaperDetector {
    /// Returns a detector for one recipient's key. It allocates the memory that digests need.
    pub fn new(params: Arc<PaperParams>, key: DetectionKey) -> Self {
        let rings = &params.params;
        let key = DetectionKey {
            product: key
                .product
                .with_lowered(&rings.ring, &rings.lowered_shapes, rings.p()),
            ..key
        };
        Self {
            _memory: affine::reserve(rings, rayon::current_num_threads()),
            _wiper: rings.ring.wiper(),
            key,
            params,
        }
    }

    pub(super) fn evaluator(&self) -> Evaluator<'_> {
        let params = self.params();
        Evaluator {
            ring: &params.ring,
            plain: &params.plain,
            chain: &params.chain,
            stop: None,
        }
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params.params
    }

    /// Returns the key.
    pub fn key(&self) -> &DetectionKey {
        &self.key
    }

    /// Returns the rotated secrets, for [`PaperDetector::affine`].
    ///
    /// Errors: `Eval` if the parameters do not fit the circuit; `Stopped`.
    pub fn baby_steps(&self, progress: &dyn Progress) -> Result<Arc<BabySteps>, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        let steps = BabySteps::new(&ev, self.params(), &self.key, progress)?;
        Ok(Arc::new(steps))
    }

    /// Returns the distances `b - A s` of a batch of clues for all coordinates, at level 1.
    ///
    /// Errors: `Eval` if the parameters do not fit the circuit; `Stopped`.
    pub fn affine(
        &self,
        steps: &BabySteps,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        affine::transform(&ev, self.params(), &self.key, steps, clues, progress)
    }

    /// Returns the parts of a pertinency vector in the small ring, with their scale.
    pub fn ring_switch(&self, pertinent: Ciphertext) -> Pertinency {
        let (params, scale) = (self.params(), pertinent.scale());
        let descent = Descent {
            large: &params.ring,
            small: &params.small,
            key: &self.key.descent,
        };
        let parts = descent.apply(&pertinent.into_pair(), &params.small_basis(), params.p());
        Pertinency { parts, scale }
    }

    /// Returns the pertinency vector of a batch of clues, ready for [`Compressor::add_batch`].
    ///
    /// Errors: `Eval` if the parameters do not fit the circuit; `Stopped`.
    pub fn pertinency_vector(
        &self,
        steps: &BabySteps,
        clues: &ClueBatch,
        progress: &dyn Progress,
        stages: &mut Stages,
    ) -> Result<Pertinency, PaperError> {
        let d = stages.time("affine", || self.affine(steps, clues, progress))?;
        let pertinent = stages.time("range_check", || self.range_check(&d, progress))?;
        Ok(stages.time("ring_switch", || self.ring_switch(pertinent)))
    }

    /// Starts a digest with payloads under this detector's key. Batches are then added to it.
    ///
    /// Errors: as [`Compressor::new`].
    pub fn compressor(
        &self,
        bundles: Bundles,
        shape: RowShape,
    ) -> Result<Compressor<'_>, PaperError> {
        Compressor::new(self.params(), &self.key, bundles, shape)
    }

    /// Starts a digest of OMD1p under this detector's key. Batches are then added to it.
    pub fn indices(&self) -> Indices<'_> {
        Indices::new(self.params(), &self.key.last)
    }
}
