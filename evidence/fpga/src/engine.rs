//! The model beside a detector: the processor detects pertinent messages, and the model predicts the card's
//! time for the affine transforms.

use crate::FpgaError;
use crate::blocks::{Blocks, Source};
use crate::circuit::Circuit;
use crate::design::Design;
use crate::device::Device;
use crate::explore::{Grid, explore};
use crate::predict::{Prediction, predict};
use omr_bgv::Ciphertext;
use omr_detector::{DetectorError, Progress, Stages};
use omr_papers::detector::{ClueBatch, PaperDetector};
use omr_protocol::ClueKind;
use serde::Serialize;

/// The processor's stages that the card would run.
const ON_CARD: [&str; 2] = ["baby_steps", "affine"];

/// The predicted times of a card for the detection of some batches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the parameter set.
    pub set: &'static str,
    /// The source of the blocks' cycles.
    pub source: Source,
    /// The assumed clock in cycles per second.
    pub clock_hz: f64,
    /// True if the design was placed and routed; always false so far.
    pub placed_and_routed: bool,
    /// The fastest design of the exploration.
    pub design: Design,
    /// The number of batches; each needs a whole transform.
    pub batches: usize,
    /// The transform of a board whose diagonals are on the card.
    pub warm: Prediction,
    /// The transform of a new board.
    pub cold: Prediction,
    /// The processor's time for the affine transforms, in seconds.
    pub processor_affine_s: f64,
    /// The processor's time for the range checks, in seconds.
    pub processor_rest_s: f64,
    /// The ratio of the processor's time to the card's time for the transform of a board whose diagonals are on
    /// the card.
    pub speedup_warm: f64,
    /// The ratio of the processor's time to the card's time for the transform of a new board.
    pub speedup_cold: f64,
    /// The time of detection on a board whose diagonals are on the card, in seconds: the card's transforms and
    /// the processor's other stages.
    pub detection_warm_s: f64,
    /// The time of detection on a new board, in seconds.
    pub detection_cold_s: f64,
}

/// A detector on the processor, and the fastest design of a card for its affine transform.
pub struct FpgaModel<'a> {
    detector: &'a PaperDetector,
    clock_hz: f64,
    design: Design,
    warm: Prediction,
    cold: Prediction,
}

impl<'a> FpgaModel<'a> {
    /// Explores designs for the circuit of a detector.
    ///
    /// Errors: `PrimeBits`, `Ring`, `NothingFits`.
    pub fn new(
        detector: &'a PaperDetector,
        blocks: &Blocks,
        device: &Device,
    ) -> Result<Self, FpgaError> {
        // Bound clues have more plaintexts than plain ones, so a design that has room for bound clues fits
        // both.
        let bound = Circuit::new(detector.params(), ClueKind::Bound)?;
        let found = explore(&bound, blocks, device, &Grid::exact())?;
        let best = found
            .best()
            .ok_or(FpgaError::NothingFits { set: bound.set })?;
        let own = Circuit::new(detector.params(), detector.key().clues())?;
        let predicted = |cold| predict(&own, blocks, &best.design, device, cold);
        Ok(Self {
            detector,
            clock_hz: device.clock_hz,
            design: best.design,
            warm: predicted(false)?,
            cold: predicted(true)?,
        })
    }

    /// Computes the pertinency vectors of batches of clues on the processor, and predicts the card's times.
    ///
    /// Errors: `Eval` if the parameters do not fit the circuit; `Stopped`.
    pub fn detect(
        &self,
        batches: &[ClueBatch],
        progress: &dyn Progress,
    ) -> Result<(Vec<Ciphertext>, Report), DetectorError> {
        let (detector, mut stages) = (self.detector, Stages::default());
        let steps = stages.time("baby_steps", || detector.baby_steps(progress))?;
        let mut vectors = Vec::with_capacity(batches.len());
        for clues in batches {
            let distances = stages.time("affine", || detector.affine(&steps, clues, progress))?;
            let checked = stages.time("range_check", || detector.range_check(&distances, progress));
            vectors.push(checked?);
        }
        Ok((vectors, self.report(&stages, batches.len())))
    }

    fn report(&self, stages: &Stages, batches: usize) -> Report {
        let on_card = stages
            .seconds()
            .iter()
            .filter(|(stage, _)| ON_CARD.contains(stage));
        let processor_affine_s: f64 = on_card.map(|(_, seconds)| seconds).sum();
        let processor_rest_s = stages.total() - processor_affine_s;
        let card_s = |prediction: &Prediction| batches as f64 * prediction.ms / 1e3;
        let (warm_s, cold_s) = (card_s(&self.warm), card_s(&self.cold));
        Report {
            set: self.detector.params().name(),
            source: self.warm.source,
            clock_hz: self.clock_hz,
            placed_and_routed: false,
            design: self.design,
            batches,
            speedup_warm: processor_affine_s / warm_s,
            speedup_cold: processor_affine_s / cold_s,
            detection_warm_s: processor_rest_s + warm_s,
            detection_cold_s: processor_rest_s + cold_s,
            processor_affine_s,
            processor_rest_s,
            warm: self.warm.clone(),
            cold: self.cold.clone(),
        }
    }
}
