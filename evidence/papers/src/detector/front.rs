//! From clues to pertinency vectors.

use super::{Bundles, Compressor, EarlierError, Indices, RowShape};
use crate::clear::EarlierParams;
use omr_bgv::Ciphertext;
use omr_detector::sophomr::{ClueBatch, Detector, Steps};
use omr_detector::{DetectorError, Progress, Stages};
use omr_protocol::sophomr::DetectionKey;
use omr_rlwe::Rlwe;
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
    pub(super) detector: Detector,
}

impl EarlierDetector {
    /// A detector for one recipient's key, which takes the memory that digests work in from the system.
    pub fn new(params: Arc<EarlierParams>, key: DetectionKey) -> Self {
        let detector = Detector::new(params.params.clone(), key);
        detector.take_memory();
        Self { params, detector }
    }

    /// The turned secrets, for [`EarlierDetector::affine`].
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn baby_steps(&self, progress: &dyn Progress) -> Result<Arc<Steps>, DetectorError> {
        self.detector.baby_steps(progress)
    }

    /// The distances `b - A s` of a batch of clues for all coordinates, at level 1.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn affine(
        &self,
        steps: &Arc<Steps>,
        clues: &ClueBatch,
        progress: &dyn Progress,
    ) -> Result<Vec<Ciphertext>, DetectorError> {
        self.detector.affine(steps, clues, progress)
    }

    /// The pertinency vector of a batch of clues, ready for [`Compressor::add_batch`].
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
    pub fn pertinency_vector(
        &self,
        steps: &Arc<Steps>,
        clues: &ClueBatch,
        progress: &dyn Progress,
        stages: &mut Stages,
    ) -> Result<Pertinency, EarlierError> {
        let d = stages.time("affine", || self.affine(steps, clues, progress))?;
        let pertinent = stages.time("range_check", || self.range_check(&d, progress))?;
        let (parts, scale) = stages.time("ring_switch", || self.detector.ring_switch(pertinent));
        Ok(Pertinency { parts, scale })
    }

    /// A digest with payloads under this detector's key, to which batches are added.
    ///
    /// Errors: as [`Compressor::new`].
    pub fn compressor(
        &self,
        bundles: Bundles,
        shape: RowShape,
    ) -> Result<Compressor<'_>, EarlierError> {
        Compressor::new(self.detector.params(), self.detector.key(), bundles, shape)
    }

    /// A digest of OMD1p under this detector's key, to which batches are added.
    pub fn indices(&self) -> Indices<'_> {
        Indices::new(self.detector.params(), &self.detector.key().last)
    }
}
