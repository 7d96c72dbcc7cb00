//! Who hands out work, and who gives what it needs.

use crate::{KeyError, KeyRef, Unit};
use omr_detector::{MessageSource, Progress, Stages};
use std::io::Read;
use std::time::Duration;

/// What a worker got when it asked for work.
pub enum Leased {
    /// A unit, for as long as the lease lasts.
    Unit(Box<Unit>),
    /// Nothing for now.
    Nothing,
    /// There will be none: the worker ends.
    Ended,
}

/// A digest and how long its run took.
pub struct Made {
    /// The digest's file.
    pub digest: Vec<u8>,
    /// Seconds of the run.
    pub seconds: f64,
}

/// Why there is no digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Not wanted any more, or the worker stops.
    Stopped,
    /// It cannot be done: what the client is told.
    Refused(String),
    /// A key or messages could not be read, which may pass: what the client is told unless it does.
    Unread(String),
    /// The card that digests are made on failed: what the client is told unless the processor does it.
    Card(String),
    /// A bug, which the log has.
    Panicked,
}

/// Hands out units and takes what became of them, job by job. A job is known by its place in its unit.
pub trait Leases: Sync {
    /// Waits for a unit, for about so long at most.
    fn lease(&self, wait: Duration) -> Leased;

    /// Where the progress of a job goes, and what says whether it is wanted.
    fn progress<'a>(&'a self, unit: &'a Unit, job: usize) -> Box<dyn Progress + Send + 'a>;

    /// Takes the digest of a job.
    fn complete(&self, unit: &Unit, job: usize, made: Made);

    /// Hears that a job has no digest.
    fn fail(&self, unit: &Unit, job: usize, failure: Failure);

    /// Hears what a run for so many recipients took by stage.
    fn ran(&self, unit: &Unit, stages: &Stages);
}

/// Gives keys and messages.
pub trait Supplies: Sync {
    /// The file of a key. Where it is not what its hash names, the last read fails at the latest.
    ///
    /// Errors: `Read`.
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError>;

    /// The board's messages.
    fn messages(&self, unit: &Unit) -> Box<dyn MessageSource + Send + '_>;
}
