//! The model beside a detector: the processor decides which messages are pertinent, and the model predicts what the card
//! would take for the affine transforms.

use crate::FpgaError;
use crate::blocks::{Blocks, Source};
use crate::circuit::Circuit;
use crate::design::Design;
use crate::device::Device;
use crate::explore::{Grid, explore};
use crate::predict::{Prediction, predict};
use omr_bgv::Ciphertext;
use omr_detector::{DetectorError, Progress, Stages};
use omr_papers::detector::{ClueBatch, EarlierDetector};
use omr_protocol::ClueKind;
use serde::Serialize;

/// Stages of the processor that the card takes over.
const ON_CARD: [&str; 2] = ["baby_steps", "affine"];

/// What the card would have taken for the detection of some batches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The parameter set.
    pub set: &'static str,
    /// Where the cycles of blocks come from.
    pub source: Source,
    /// Cycles a second: assumed.
    pub clock_hz: f64,
    /// Whether a design was placed and routed: none was.
    pub placed_and_routed: bool,
    /// The quickest design of the exploration.
    pub design: Design,
    /// Batches, each of which takes a whole transform.
    pub batches: usize,
    /// A transform of a board that the card has.
    pub warm: Prediction,
    /// A transform of a new board.
    pub cold: Prediction,
    /// Seconds that the processor took for the affine transforms.
    pub processor_affine_s: f64,
    /// Seconds that the processor took for the range checks.
    pub processor_rest_s: f64,
    /// How often the card does the transform of a board that it has while the processor does it once.
    pub speedup_warm: f64,
    /// How often the card does the transform of a new board while the processor does it once.
    pub speedup_cold: f64,
    /// Seconds of detection on a board that the card has: the card's transforms and the processor's other stages.
    pub detection_warm_s: f64,
    /// Seconds of detection on a new board.
    pub detection_cold_s: f64,
}

/// A detector on the processor and the quickest design of a card for its affine transform.
pub struct FpgaModel<'a> {
    detector: &'a EarlierDetector,
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
        detector: &'a EarlierDetector,
        blocks: &Blocks,
        device: &Device,
    ) -> Result<Self, FpgaError> {
        // Bound clues have more plaintexts: what holds these holds plain ones.
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

    /// Makes the pertinency vectors of batches of clues on the processor, with what the card would have taken.
    ///
    /// Errors: parameters that do not fit the circuit; stopped.
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
