//! The model behind the seam of engines: digests by the processor, with what the card would take for the affine transform.

use crate::FpgaError;
use crate::blocks::{Blocks, Source};
use crate::circuit::Circuit;
use crate::design::Design;
use crate::device::Device;
use crate::explore::{Grid, explore};
use crate::predict::{Prediction, predict};
use omr_detector::engine::{Answer, Engine, Loaded, Task};
use omr_detector::sophomr::Detector;
use omr_detector::{DetectorError, Progress, Stages};
use omr_protocol::sophomr::{DetectionKey, Params};
use omr_protocol::{ClueKind, DetectionKeyError, EngineKind, Request, Response, Scheme};
use serde::Serialize;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Stages of the processor that the card takes over.
const ON_CARD: [&str; 2] = ["baby_steps", "affine"];

/// What the card would have taken for a digest.
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
    /// Batches of the digest, each of which takes a whole transform.
    pub batches: usize,
    /// A transform of a board that the card has.
    pub warm: Prediction,
    /// A transform of a new board.
    pub cold: Prediction,
    /// Seconds that the processor took for the affine transform.
    pub processor_affine_s: f64,
    /// Seconds that it took for all other stages.
    pub processor_rest_s: f64,
    /// How often the card does the transform of a board that it has while the processor does it once.
    pub speedup_warm: f64,
    /// The same of a new board.
    pub speedup_cold: f64,
    /// Seconds of the digest, a board that the card has: the card's transforms and the processor's other stages.
    pub digest_warm_s: f64,
    /// Seconds of the digest, a new board.
    pub digest_cold_s: f64,
}

impl Report {
    fn new(model: &Model, clues: ClueKind, stages: &Stages, batches: usize) -> Self {
        let [warm, cold] = match clues {
            ClueKind::Plain => model.plain.clone(),
            ClueKind::Bound => model.bound.clone(),
        };
        let affine = |&&(stage, _): &&(&'static str, f64)| ON_CARD.contains(&stage);
        let processor_affine_s: f64 = stages.seconds().iter().filter(affine).map(|(_, s)| s).sum();
        let processor_rest_s = stages.total() - processor_affine_s;
        let card_s = |prediction: &Prediction| batches as f64 * prediction.ms / 1e3;
        Self {
            set: model.set,
            source: warm.source,
            clock_hz: model.clock_hz,
            placed_and_routed: false,
            design: model.design,
            batches,
            speedup_warm: processor_affine_s / card_s(&warm),
            speedup_cold: processor_affine_s / card_s(&cold),
            digest_warm_s: processor_rest_s + card_s(&warm),
            digest_cold_s: processor_rest_s + card_s(&cold),
            processor_affine_s,
            processor_rest_s,
            warm,
            cold,
        }
    }
}

/// Reports of digests, in their order.
pub type Reports = Arc<Mutex<Vec<Report>>>;

/// A design with its predictions, on a board that the card has and on a new one, for each kind of clues.
struct Model {
    set: &'static str,
    clock_hz: f64,
    design: Design,
    plain: [Prediction; 2],
    bound: [Prediction; 2],
}

/// Makes SophOMR's detection keys ready on the processor, and predicts the card's part of each digest.
#[derive(Clone)]
pub struct FpgaModel {
    params: Arc<Params>,
    model: Arc<Model>,
    reports: Reports,
}

impl FpgaModel {
    /// The quickest design for a set whose ciphertexts are the evaluator's. What it predicts goes to `reports`.
    ///
    /// Errors: `PrimeBits`, `Ring`, `NothingFits`.
    pub fn new(
        params: &Arc<Params>,
        blocks: &Blocks,
        device: &Device,
        reports: &Reports,
    ) -> Result<Self, FpgaError> {
        // Bound clues have more plaintexts: what holds these holds plain ones.
        let bound = Circuit::new(params, ClueKind::Bound)?;
        let plain = Circuit::new(params, ClueKind::Plain)?;
        let found = explore(&bound, blocks, device, &Grid::exact())?;
        let best = found
            .best()
            .ok_or(FpgaError::NothingFits { set: bound.set })?;
        let predicted = |cold| predict(&plain, blocks, &best.design, device, cold);
        let model = Model {
            set: bound.set,
            clock_hz: device.clock_hz,
            design: best.design,
            plain: [predicted(false)?, predicted(true)?],
            bound: [best.warm.clone(), best.cold.clone()],
        };
        Ok(Self {
            params: params.clone(),
            model: Arc::new(model),
            reports: reports.clone(),
        })
    }
}

impl Engine for FpgaModel {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        let key = DetectionKey::read(&self.params, file)?;
        Ok(Arc::new(Modelled {
            detector: Arc::new(Detector::new(self.params.clone(), key)),
            model: self.model.clone(),
            reports: self.reports.clone(),
        }))
    }
}

/// A key on the processor, beside the model.
struct Modelled {
    detector: Arc<Detector>,
    model: Arc<Model>,
    reports: Reports,
}

impl Loaded for Modelled {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn batch(&self) -> u64 {
        Loaded::batch(&*self.detector)
    }

    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        self.detector.check_board(clue_bytes)
    }

    fn check(&self, scheme: Scheme, request: &Request) -> Result<(), DetectorError> {
        self.detector.check(scheme, request)
    }

    fn answer(
        self: Arc<Self>,
        scheme: Scheme,
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError> {
        let answer = self.detector.clone().answer(scheme, task, progress)?;
        if let Response::Sophomr(digest) = &answer.response {
            let (clues, batches) = (self.detector.clues(), digest.header.plan.batches());
            let report = Report::new(&self.model, clues, &answer.stages, batches);
            let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push(report);
        }
        Ok(answer)
    }
}
