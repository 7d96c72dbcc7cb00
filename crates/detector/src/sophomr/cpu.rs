//! The SophOMR engine of the processor.

use super::run::digests;
use super::{Detector, Output};
use crate::engine::{Answer, Engine, Loaded, Task};
use crate::{DetectorError, Progress};
use omr_protocol::sophomr::{DetectionKey, DigestPlan, Params};
use omr_protocol::{DetectionKeyError, EngineKind, Request, Response};
use std::any::Any;
use std::io::Read;
use std::sync::Arc;

/// An engine that loads SophOMR's detection keys for the processor.
pub struct CpuEngine {
    params: Arc<Params>,
}

impl CpuEngine {
    /// Makes an engine for keys of these parameters.
    #[must_use]
    pub fn new(params: &Arc<Params>) -> Self {
        Self {
            params: params.clone(),
        }
    }
}

impl Engine for CpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        let key = DetectionKey::read(&self.params, file)?;
        Ok(Arc::new(Detector::new(self.params.clone(), key)))
    }
}

impl Detector {
    fn plan(&self, request: &Request) -> Result<DigestPlan, DetectorError> {
        let (range, bound) = (request.range.clone(), request.bound);
        let plan = DigestPlan::new(self.params(), range, bound, request.payload_bytes);
        Ok(plan?)
    }
}

impl Loaded for Detector {
    fn kind(&self) -> EngineKind {
        EngineKind::Sophomr
    }

    fn batch(&self) -> u64 {
        self.params().slots() as u64
    }

    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        Detector::check_board(self, clue_bytes)
    }

    fn check(&self, request: &Request) -> Result<(), DetectorError> {
        self.plan(request).map(drop)
    }

    fn answer(
        self: Arc<Self>,
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError> {
        let plan = self.plan(&task.request)?;
        let (board, sealing, seed) = (task.board_id, task.sealing, task.seed);
        let output = self.digest(task.source, &plan, board, sealing, seed, progress)?;
        Ok(output.into())
    }

    fn is_answered_with(&self, other: &dyn Loaded) -> bool {
        detector_of(other).is_some_and(|detector| self.is_served_with(detector))
    }

    fn answer_together(
        self: Arc<Self>,
        others: &[Arc<dyn Loaded>],
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, DetectorError> {
        let plan = self.plan(&task.request)?;
        let (board, sealing, seed) = (task.board_id, task.sealing, task.seed);
        let mut all = vec![&*self];
        for other in others {
            all.push(detector_of(&**other).expect("a key that is answered with this one"));
        }
        let outputs = digests(&all, task.source, &plan, board, sealing, seed, progress)?;
        Ok(outputs.into_iter().map(Answer::from).collect())
    }
}

/// Returns a loaded key of this engine.
fn detector_of(key: &dyn Loaded) -> Option<&Detector> {
    let key: &dyn Any = key;
    key.downcast_ref()
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            response: Response::Sophomr(output.digest),
            stages: output.stages,
            unusable_clues: output.unusable_clues,
        }
    }
}
