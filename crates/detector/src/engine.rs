//! The seam between what computes and what asks: an [`Engine`] makes detection keys ready, and a [`Loaded`] key answers
//! requests.
//!
//! Whole keys, ranges and digests cross it, never single operations, so that an engine on a device keeps keys and
//! intermediate values there. Today both engines run on the processor ([`on_cpu`]).

use crate::{DetectorError, MessageSource, Progress, Stages, instantomr, sophomr};
use omr_protocol::{
    DetectionKeyError, EngineKind, ParamSet, ParamsError, Request, Response, SEED_BYTES, Scheme,
    Sealing,
};
use std::any::Any;
use std::io::Read;
use std::sync::Arc;

/// Makes detection keys of one kind and one parameter set ready to work.
pub trait Engine: Send + Sync {
    /// The keys that it takes.
    fn kind(&self) -> EngineKind;

    /// Reads the file of a key to its end and makes the key ready; its first digest takes the memory to work in.
    ///
    /// Errors: those of reading the file.
    fn load(&self, file: &mut dyn Read) -> Result<Arc<dyn Loaded>, DetectionKeyError>;
}

/// A recipient's detection key, ready to answer requests.
pub trait Loaded: Any + Send + Sync {
    /// The kind of its engine.
    fn kind(&self) -> EngineKind;

    /// Messages in one batch: a request for one message costs as much as one for all of them. 1 where messages cost
    /// the same each.
    fn batch(&self) -> u64;

    /// Checks that a board's clues, by their length in bytes, are of the kind that the key takes.
    ///
    /// Errors: `ClueKind`.
    fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError>;

    /// Checks that a request can be answered by a scheme, before hours of work.
    ///
    /// Errors: `Plan`.
    fn check(&self, scheme: Scheme, request: &Request) -> Result<(), DetectorError>;

    /// Answers a request by a scheme that needs this engine: makes one digest.
    ///
    /// Errors: the source's; `Plan`; `ClueKind`; `Stopped`.
    fn answer(
        self: Arc<Self>,
        scheme: Scheme,
        task: Task,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError>;

    /// Whether one run for this key and another costs less than one for each.
    fn is_answered_with(&self, _other: &dyn Loaded) -> bool {
        false
    }

    /// Answers a request for this key and for others that [are answered with](Loaded::is_answered_with) it: makes a
    /// digest for each, in this order, with one placement. The seconds of each answer are those of all.
    ///
    /// Errors: as [`Loaded::answer`].   Panics: for keys that are not answered with it.
    fn answer_together(
        self: Arc<Self>,
        others: &[Arc<dyn Loaded>],
        scheme: Scheme,
        mut task: Task,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, DetectorError> {
        let mut answers = vec![self.answer(scheme, task.again(), progress)?];
        for other in others {
            answers.push(other.clone().answer(scheme, task.again(), progress)?);
        }
        let mut all = Stages::default();
        answers.iter().for_each(|one| all.add(&one.stages));
        answers.iter_mut().for_each(|one| one.stages = all.clone());
        Ok(answers)
    }
}

/// A board and what one engine is asked of it.
pub struct Task<'a> {
    /// Where messages are read.
    pub source: &'a mut dyn MessageSource,
    /// Which ones, and how many may be pertinent.
    pub request: Request,
    /// The board.
    pub board_id: [u8; 16],
    /// How its payloads are sealed.
    pub sealing: Sealing,
    /// Random, drawn after the messages were posted.
    pub seed: [u8; SEED_BYTES],
}

impl Task<'_> {
    /// The same once more.
    pub(crate) fn again(&mut self) -> Task<'_> {
        Task {
            source: &mut *self.source,
            request: self.request.clone(),
            ..*self
        }
    }
}

/// A response and how it came about.
pub struct Answer {
    /// The response.
    pub response: Response,
    /// Seconds by stage.
    pub stages: Stages,
    /// Clues that did not parse and counted as impertinent.
    pub unusable_clues: usize,
}

/// The engine of a kind on this machine's processor.
///
/// Errors: `NoEngine` where the set has no such engine.
pub fn on_cpu(set: &ParamSet, kind: EngineKind) -> Result<Box<dyn Engine>, ParamsError> {
    Ok(match kind {
        EngineKind::Sophomr => Box::new(sophomr::CpuEngine::new(set.sophomr()?)),
        EngineKind::Instantomr => Box::new(instantomr::CpuEngine::new(set.instantomr()?)),
    })
}
