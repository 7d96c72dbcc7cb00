//! The interface of engines: an [`Engine`] loads detection keys, and a [`Loaded`] key answers requests.
//!
//! Calls exchange whole keys, ranges and digests, never single operations, so that an engine on a device can keep keys
//! and intermediate values there. [`on_cpu`] returns the engines of the processor.

use crate::{DetectorError, MessageSource, Progress, Stages, instantomr, rounds, sophomr};
use omr_protocol::{
    DetectionKeyError, EngineKind, ParamSet, ParamsError, Request, Response, SEED_BYTES, Sealing,
};
use std::any::Any;
use std::io::Read;
use std::sync::Arc;

/// An engine, which loads detection keys of one kind and one parameter set.
pub trait Engine: Send + Sync {
    /// Returns the kind of its keys.
    fn kind(&self) -> EngineKind;

    /// Reads the file of a key to its end and loads the key. The key's first digest reserves memory for computing.
    ///
    /// Errors: those of reading the file.
    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError>;
}

/// A recipient's detection key that is ready to answer requests.
pub trait Loaded: Any + Send + Sync {
    /// Returns the kind of the engine.
    fn kind(&self) -> EngineKind;

    /// Returns the number of messages in a batch. A request for one message costs as much as one for a whole batch. It
    /// is 1 if every message has the same cost.
    fn batch(&self) -> u64;

    /// Checks by the length in bytes of a board's clues that they are of the kind that the key accepts.
    ///
    /// Errors: `ClueKind`.
    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError>;

    /// Checks before hours of work that a request can be answered.
    ///
    /// Errors: `Plan`.
    fn check(&self, request: &Request) -> Result<(), DetectorError>;

    /// Answers a request with one digest or one scan.
    ///
    /// Errors: those of the source; `Plan`; `ClueKind`; `Stopped`.
    fn answer(
        self: Arc<Self>,
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError>;

    /// Returns whether one run for this key and another costs less than a run for each.
    fn is_answered_with(&self, _other: &dyn Loaded) -> bool {
        false
    }

    /// Answers a request for this key and for others that [share a run](Loaded::is_answered_with) with it: makes a
    /// digest for each, in this order, with one placement. The seconds of each answer are those of the whole run.
    ///
    /// Errors: those of [`Loaded::answer`].   Panics: for keys that do not share a run with this one.
    fn answer_together(
        self: Arc<Self>,
        others: &[Arc<dyn Loaded>],
        mut task: Task,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, DetectorError> {
        let mut answers = vec![self.answer(task.again(), progress)?];
        for other in others {
            answers.push(other.clone().answer(task.again(), progress)?);
        }
        let mut all = Stages::default();
        answers.iter().for_each(|one| all.add(&one.stages));
        answers.iter_mut().for_each(|one| one.stages = all.clone());
        Ok(answers)
    }
}

/// A board and a request to one engine.
pub struct Task<'a> {
    /// The source of messages.
    pub source: &'a mut dyn MessageSource,
    /// The request.
    pub request: Request,
    /// The board.
    pub board_id: [u8; 16],
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// The random seed, drawn after the messages were posted. For a scan it is the secret from which the seeds of pages
    /// are derived.
    pub seed: [u8; SEED_BYTES],
}

impl Task<'_> {
    /// Returns the task again, for another call.
    pub(crate) fn again(&mut self) -> Task<'_> {
        Task {
            source: &mut *self.source,
            request: self.request.clone(),
            ..*self
        }
    }
}

/// A response with statistics.
pub struct Answer {
    /// The response.
    pub response: Response,
    /// Seconds of each stage.
    pub stages: Stages,
    /// Number of clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

/// Returns the engine of a kind on this machine's processor.
///
/// Errors: `NoEngine` if the set lacks the engine.
pub fn on_cpu(set: &ParamSet, kind: EngineKind) -> Result<Box<dyn Engine>, ParamsError> {
    Ok(match kind {
        EngineKind::Sophomr => Box::new(sophomr::CpuEngine::new(set.sophomr()?)),
        EngineKind::Instantomr => Box::new(instantomr::CpuEngine::new(set.instantomr()?)),
        EngineKind::Rounds => Box::new(rounds::CpuEngine::new(set.rounds()?)),
    })
}
