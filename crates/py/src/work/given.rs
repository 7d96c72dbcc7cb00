//! What a task was given: keys and messages as arrays, and where its outcomes go.

use super::shared::Shared;
use crate::fault::Fault;
use crate::running::Watch;
use omr_detector::{MessageSource, Progress, Stages};
use omr_protocol::ParamSet;
use omr_protocol::clue::{HashesOf, KeptHashes};
use omr_runner::{Failure, KeyError, KeyRef, Leased, Leases, Made, Supplies, Unit};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::{Error, Read};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of an array, `bytes` or whatever else shows them.
pub(super) type Array = PyBuffer<u8>;

/// The messages of a range as arrays: its first index, its end, clues, payloads, hashes.
pub(super) type Piece = (u64, u64, Array, Array, Option<Array>);

/// The messages of a range in arrays.
pub(super) type Messages = omr_detector::Messages<Shared>;

/// Messages of a board in arrays.
///
/// Errors: `Detector` where lengths contradict each other.
pub(super) fn messages(
    py: Python<'_>,
    set: &ParamSet,
    board_id: &[u8; 16],
    (start, end, clues, payloads, hashes): Piece,
) -> PyResult<Messages> {
    let (clues, payloads) = (Shared::new(clues)?, Shared::new(payloads)?);
    let messages = Messages::new(start..end, clues, payloads).map_err(Fault::from)?;
    let Some(hashes) = hashes else {
        return Ok(messages);
    };
    let hashes = hashes.to_vec(py)?.as_chunks::<32>().0.to_vec();
    let kept = KeptHashes::new(HashesOf::new(set.clue(), board_id), hashes);
    Ok(messages.with_hashes(kept).map_err(Fault::from)?)
}

/// What a task works with and what comes of it.
pub(super) struct Given<'a> {
    pub(super) keys: HashMap<[u8; 32], Shared>,
    /// Pieces of the board, ascending.
    pub(super) board: Mutex<Vec<Messages>>,
    pub(super) watch: &'a Watch,
    /// The jobs that are wanted; all unless given.
    pub(super) jobs: Option<&'a [usize]>,
    pub(super) outcomes: Mutex<Vec<Result<Vec<u8>, Failure>>>,
    /// Seconds of its runs.
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

/// Whether one of a task's jobs is wanted.
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
        let array = self.keys.get(&key.hash);
        let array = array.ok_or_else(|| Error::other("expected the key of a job, found none"))?;
        Ok(Box::new(array.file()))
    }

    fn messages(&self, _: &Unit) -> Box<dyn MessageSource + Send + '_> {
        Box::new(Pieces(&self.board))
    }
}

/// Pieces of a board that follow each other.
struct Pieces<'a>(&'a Mutex<Vec<Messages>>);

impl Pieces<'_> {
    /// What pieces have of the messages of a range, one after another.
    ///
    /// Errors: of a piece, where the range goes beyond the last.
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
            // It says what it has.
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
