//! Interfaces for leasing units of work and for reading keys and messages.

use crate::{KeyError, KeyRef, Unit};
use omr_detector::{MessageSource, Progress, Stages};
use std::io::Read;
use std::time::Duration;

/// The answer to a request for work.
pub enum Leased {
    /// A unit, until the lease ends.
    Unit(Box<Unit>),
    /// No unit at present.
    Nothing,
    /// There will be no more units: the worker ends.
    Ended,
}

/// A digest and the duration of its run.
pub struct Made {
    /// The digest's file.
    pub digest: Vec<u8>,
    /// Seconds of the run.
    pub seconds: f64,
}

/// The reason why there is no digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The digest is no longer wanted, or the worker stops.
    Stopped,
    /// The digest cannot be made; this is the message for the client.
    Refused(String),
    /// A key or messages could not be read, which may be temporary; this is the message for the client if it persists.
    Unread(String),
    /// The card failed; this is the message for the client unless the processor makes the digest.
    Card(String),
    /// A panic, which the log contains.
    Panicked,
}

/// A source of units that receives their results, job by job. A job is identified by its place in its unit.
pub trait Leases: Sync {
    /// Waits for a unit, at most for about `wait`.
    fn lease(&self, wait: Duration) -> Leased;

    /// Returns the object that receives the progress of a job and knows whether the job is still wanted.
    fn progress<'a>(&'a self, unit: &'a Unit, job: usize) -> Box<dyn Progress + Send + 'a>;

    /// Receives the digest of a job.
    fn complete(&self, unit: &Unit, job: usize, made: Made);

    /// Called when a job has no digest.
    fn fail(&self, unit: &Unit, job: usize, failure: Failure);

    /// Called with the seconds of each stage of a run, which may be for several recipients.
    fn ran(&self, unit: &Unit, stages: &Stages);
}

/// A source of keys and messages.
pub trait Supplies: Sync {
    /// Opens the file of a key. If the content does not have the key's hash, the last read fails at the latest.
    ///
    /// Errors: `Read`.
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError>;

    /// Returns the messages of the unit's board.
    fn messages(&self, unit: &Unit) -> Box<dyn MessageSource + Send + '_>;
}
