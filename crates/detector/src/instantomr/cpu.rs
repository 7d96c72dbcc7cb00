//! The InstantOMR engine of the processor.

use super::{InstantDetector, Session};
use crate::engine::{Answer, Engine, Loaded, Task};
use crate::{DetectorError, Progress};
use omr_protocol::instantomr::{InstantKey, InstantParams, InstantPlan};
use omr_protocol::{DetectionKeyError, DigestHeader, EngineKind, Request, Response};
use std::io::Read;
use std::sync::Arc;

/// An engine that loads InstantOMR's detection keys for the processor.
pub struct CpuEngine {
    params: Arc<InstantParams>,
}

impl CpuEngine {
    /// Makes an engine for keys of these parameters.
    #[must_use]
    pub fn new(params: &Arc<InstantParams>) -> Self {
        Self {
            params: params.clone(),
        }
    }
}

impl Engine for CpuEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Instantomr
    }

    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError> {
        let key = InstantKey::read(&self.params, file)?;
        Ok(Arc::new(InstantDetector::new(self.params.clone(), key)))
    }
}

impl InstantDetector {
    fn plan(&self, request: &Request) -> Result<InstantPlan, DetectorError> {
        Ok(InstantPlan::new(self.params(), request.clone())?)
    }
}

impl Loaded for InstantDetector {
    fn kind(&self) -> EngineKind {
        EngineKind::Instantomr
    }

    fn batch(&self) -> u64 {
        1
    }

    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        InstantDetector::check_board(self, clue_bytes)
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
        let range = plan.range();
        let header = DigestHeader {
            key_id: self.key_id(),
            board_id: task.board_id,
            sealing: task.sealing,
            plan,
            seed: task.seed,
        };
        let mut session = Session::with_room(self, header, range.end - range.start);
        let nothing = |_: &Session| Ok::<(), DetectorError>(());
        session.advance(task.source, range.end, progress, nothing)?;
        let mut stages = std::mem::take(&mut session.stages);
        let digest = stages.time("packing", || session.digest());
        Ok(Answer {
            response: Response::Instantomr(digest),
            stages,
            unusable_clues: session.unusable_clues,
        })
    }
}
