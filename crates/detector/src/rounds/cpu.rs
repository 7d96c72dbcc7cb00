//! The engine of two rounds on the processor. Its answers are scans; queries are answered by
//! [`RoundsDetector::answer`].

use super::{RoundsDetector, ScanOutput, ScanRequest, scan};
use crate::bound_to::check_kind;
use crate::engine::{Answer, Engine, Loaded, Task};
use crate::{DetectorError, Progress};
use omr_protocol::rounds::{RoundsParams, RoundsPlan};
use omr_protocol::{DetectionKeyError, EngineKind, PlanError, Request, Response};
use std::any::Any;
use std::io::Read;
use std::sync::Arc;

/// An engine that loads detection keys for two rounds.
pub struct CpuEngine {
    params: Arc<RoundsParams>,
}

impl CpuEngine {
    /// Makes an engine for keys of these parameters.
    #[must_use]
    pub fn new(params: &Arc<RoundsParams>) -> Self {
        Self {
            params: params.clone(),
        }
    }
}

impl Engine for CpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Rounds
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        Ok(Arc::new(RoundsDetector::load(&self.params, file)?))
    }
}

impl RoundsDetector {
    /// Returns a loaded key of this engine; `None` for a key of another.
    #[must_use]
    pub fn of(key: &dyn Loaded) -> Option<&Self> {
        let any: &dyn Any = key;
        any.downcast_ref()
    }

    fn scans(
        all: &[&Self],
        task: Task<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, DetectorError> {
        let request = ScanRequest {
            range: task.request.range.clone(),
            payload_bytes: payload_bytes(&task.request)?,
            board_id: task.board_id,
            sealing: task.sealing,
            secret: task.seed,
        };
        let outputs = scan(all, task.source, &request, progress)?;
        Ok(outputs.into_iter().map(Answer::from).collect())
    }
}

/// Returns the length of payloads.
///
/// Errors: `Plan` for a request without payloads.
fn payload_bytes(request: &Request) -> Result<usize, PlanError> {
    request.payload_bytes.ok_or(PlanError::Payload(0))
}

impl Loaded for RoundsDetector {
    fn kind(&self) -> EngineKind {
        EngineKind::Rounds
    }

    fn batch(&self) -> u64 {
        self.params().scan.block() as u64
    }

    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        check_kind(&self.params().clue, self.key().clues, clue_bytes)
    }

    fn check(&self, request: &Request) -> Result<(), DetectorError> {
        let (range, bytes) = (request.range.clone(), payload_bytes(request)?);
        RoundsPlan::new(self.params(), range, bytes, self.key().clues)?;
        Ok(())
    }

    fn answer(
        self: Arc<Self>,
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError> {
        Ok(Self::scans(&[&*self], task, progress)?.remove(0))
    }

    fn is_answered_with(&self, other: &dyn Loaded) -> bool {
        Self::of(other).is_some_and(|detector| self.is_served_with(detector))
    }

    fn answer_together(
        self: Arc<Self>,
        others: &[Arc<dyn Loaded>],
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, DetectorError> {
        let mut all = vec![&*self];
        for other in others {
            all.push(Self::of(&**other).expect("a key that is answered with this one"));
        }
        Self::scans(&all, task, progress)
    }
}

impl From<ScanOutput> for Answer {
    fn from(output: ScanOutput) -> Self {
        Self {
            response: Response::Scan(output.scanned),
            stages: output.stages,
            unusable_clues: output.unusable_clues,
        }
    }
}
