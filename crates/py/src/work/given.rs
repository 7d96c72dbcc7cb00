//! The input of a task: keys and messages as arrays. Collects its results.

use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::running::Watch;
use omr_detector::{Held, MessageSource, Progress, Stages};
use omr_protocol::ParamSet;
use omr_protocol::clue::{HashesOf, KeptHashes};
use omr_runner::{Failure, KeyError, KeyRef, Leased, Leases, Made, Supplies, Unit};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::{Error, Read};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// The messages of a range as arrays: the first index, the end, clues, payloads, and hashes.
pub(super) type Piece = (u64, u64, Buffer, Buffer, Option<Buffer>);

/// The messages of a range in arrays.
pub(super) type Messages = omr_detector::Messages<Buffer>;

/// Returns messages of a board in arrays.
///
/// Errors: `Detector` where lengths contradict each other.
pub(super) fn messages(set: &ParamSet, board_id: &[u8; 16], piece: Piece) -> PyResult<Messages> {
    let (start, end, clues, payloads, hashes) = piece;
    let messages = Messages::new(start..end, clues, payloads).map_err(Fault::from)?;
    let Some(array) = hashes else {
        return Ok(messages);
    };
    let hashes = array.part(0..array.bytes()).as_chunks::<32>().0.to_vec();
    let kept = KeptHashes::new(HashesOf::new(set.clue(), board_id), hashes);
    Ok(messages.with_hashes(kept).map_err(Fault::from)?)
}

/// The input of a task and its results.
pub(super) struct Given<'a> {
    pub(super) keys: HashMap<[u8; 32], Buffer>,
    /// Pieces of the board, ascending.
    pub(super) board: Mutex<Vec<Messages>>,
    pub(super) watch: &'a Watch,
    /// The jobs that are wanted; `None` for all.
    pub(super) jobs: Option<&'a [usize]>,
    pub(super) outcomes: Mutex<Vec<Result<Vec<u8>, Failure>>>,
    /// The seconds that the runs of the task took.
    pub(super) seconds: Mutex<f64>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Given<'_> {
    fn end(&self, job: usize, outcome: Result<Vec<u8>, Failure>) {
        if let Some(place) = lock(&self.outcomes).get_mut(job) {
            *place = outcome;
        }
    }
}

/// The progress of one of a task's jobs: it stops when the job is no longer wanted.
struct OfJob<'a> {
    watch: &'a Watch,
    is_wanted: bool,
}

impl Progress for OfJob<'_> {
    fn stage(&self, _: &'static str, _: u64) {}

    fn advance(&self, _: u64) {}

    fn is_stopped(&self) -> bool {
        !self.is_wanted || self.watch.is_stopped()
    }
}

impl Leases for Given<'_> {
    fn lease(&self, _: Duration) -> Leased {
        Leased::Ended
    }

    fn progress<'a>(&'a self, _: &'a Unit, job: usize) -> Box<dyn Progress + Send + 'a> {
        Box::new(OfJob {
            watch: self.watch,
            is_wanted: self.jobs.is_none_or(|jobs| jobs.contains(&job)),
        })
    }

    fn complete(&self, _: &Unit, job: usize, made: Made) {
        self.end(job, Ok(made.digest));
    }

    fn fail(&self, _: &Unit, job: usize, failure: Failure) {
        self.end(job, Err(failure));
    }

    fn ran(&self, _: &Unit, stages: &Stages) {
        *lock(&self.seconds) += stages.total();
    }
}

impl Supplies for Given<'_> {
    fn key(&self, key: &KeyRef) -> Result<Box<dyn Read + Send>, KeyError> {
        match self.keys.get(&key.hash) {
            Some(array) => Ok(Box::new(array.file())),
            None => Err(Error::other("expected the key of a job, found none").into()),
        }
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        Box::new(Pieces(&self.board))
    }
}

/// Consecutive pieces of a board.
struct Pieces<'a>(&'a Mutex<Vec<Messages>>);

impl Pieces<'_> {
    /// Returns the messages of a range, one piece after another.
    ///
    /// Errors: those of a piece, where the range extends beyond the last one.
    fn gather<T>(
        &self,
        mut range: Range<u64>,
        mut take: impl FnMut(&mut Messages, Range<u64>) -> Result<Vec<T>, SourceError>,
    ) -> Result<Vec<T>, SourceError> {
        let mut board = lock(self.0);
        let mut all = Vec::new();
        for piece in board.iter_mut() {
            let end = piece.range().end.min(range.end);
            if piece.range().contains(&range.start) && range.start < end {
                all.append(&mut take(piece, range.start..end)?);
                range.start = end;
            }
        }
        match (range.is_empty(), board.first_mut()) {
            (true, _) => Ok(all),
            // The piece reports the messages that it has.
            (false, Some(piece)) => take(piece, range),
            (false, None) => Err(Box::new(Error::other("expected messages, found none"))),
        }
    }
}

impl MessageSource for Pieces<'_> {
    fn clue_bytes(&self) -> usize {
        lock(self.0).first().map_or(0, Messages::clue_bytes)
    }

    fn clues(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.gather(range, Messages::clues)
    }

    fn payloads(&mut self, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.gather(range, Messages::payloads)
    }

    fn hashes(&mut self, range: Range<u64>) -> Result<Option<KeptHashes>, SourceError> {
        let mut of = None;
        let hashes = self.gather(range.clone(), |piece, range| {
            let kept = piece.hashes(range)?;
            of = kept.as_ref().map(|kept| kept.of);
            Ok(kept.map_or(Vec::new(), |kept| kept.hashes))
        })?;
        let all = hashes.len() as u64 == range.end - range.start;
        Ok(of.filter(|_| all).map(|of| KeptHashes::new(of, hashes)))
    }
}
