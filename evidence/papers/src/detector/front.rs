//! From clues to pertinency vectors.

use super::affine::{self, BabySteps};
use super::{Bundles, ClueBatch, Compressor, EarlierError, Indices, RowShape};
use crate::clear::{DetectionKey, EarlierParams, Params};
use omr_bgv::{Ciphertext, Evaluator};
use omr_detector::{DetectorError, Progress, Stages};
use omr_ring::{Reservation, Wiper};
use omr_rlwe::{Descent, Rlwe};
use std::sync::Arc;

/// The pertinency vector of a batch in the small ring: part i has the coefficients `c_(D t + i)`.
pub struct Pertinency {
    pub(crate) parts: Vec<Rlwe>,
    /// What messages are multiplied by, modulo p.
    pub(crate) scale: u64,
}

/// A detection key of an earlier scheme, ready to scan batches of clues. `Send + Sync`.
pub struct EarlierDetector {
    pub(super) params: Arc<EarlierParams>,
    key: DetectionKey,
    /// What affine transforms work in.
    _memory: Reservation,
    /// Dropped after the key.
    _wiper: Wiper,
}

impl EarlierDetector {
    /// A detector for one recipient's key, which takes the memory that digests work in from the system.
    pub fn new(params: Arc<EarlierParams>, key: DetectionKey) -> Self {
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

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params.params
    }

    /// The key.
    pub fn key(&self) -> &DetectionKey {
        &self.key
    }

    /// The turned secrets, for [`EarlierDetector::affine`].
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn baby_steps(&self, progress: &dyn Progress) -> Result<Arc<BabySteps>, DetectorError> {
        let stop = || progress.is_stopped();
        let ev = self.evaluator().stopped_by(&stop);
        let steps = BabySteps::new(&ev, self.params(), &self.key, progress)?;
        Ok(Arc::new(steps))
    }

    /// The distances `b - A s` of a batch of clues for all coordinates, at level 1.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
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

    /// The parts of a pertinency vector in the small ring, and what they are multiplied by.
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

    /// The pertinency vector of a batch of clues, ready for [`Compressor::add_batch`].
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn pertinency_vector(
        &self,
        steps: &BabySteps,
        clues: &ClueBatch,
        progress: &dyn Progress,
        stages: &mut Stages,
    ) -> Result<Pertinency, EarlierError> {
        let d = stages.time("affine", || self.affine(steps, clues, progress))?;
        let pertinent = stages.time("range_check", || self.range_check(&d, progress))?;
        Ok(stages.time("ring_switch", || self.ring_switch(pertinent)))
    }

    /// A digest with payloads under this detector's key, to which batches are added.
    ///
    /// Errors: as [`Compressor::new`].
    pub fn compressor(
        &self,
        bundles: Bundles,
        shape: RowShape,
    ) -> Result<Compressor<'_>, EarlierError> {
        Compressor::new(self.params(), &self.key, bundles, shape)
    }

    /// A digest of OMD1p under this detector's key, to which batches are added.
    pub fn indices(&self) -> Indices<'_> {
        Indices::new(self.params(), &self.key.last)
    }
}
