//! Answering one request with several engines: full batches by SophOMR, the remaining messages by InstantOMR if that is
//! cheaper.

mod together;

pub use together::{Answers, respond_together};

use crate::engine::{Answer, Loaded, Task};
use crate::rounds::RoundsDetector;
use crate::{DetectorError, MessageSource, Progress};
use omr_protocol::{EngineKind, Request, SEED_BYTES, Scheme, Sealing};
use std::ops::Range;
use std::sync::Arc;

/// The costs of the engines on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Seconds that SophOMR takes for a batch.
    pub batch_s: f64,
    /// Seconds that InstantOMR takes for a message, with several in progress.
    pub message_s: f64,
}

impl Default for Costs {
    /// Returns the costs measured with AVX2 for `hybrid-v4` (docs/performance.md). Only their ratio matters.
    fn default() -> Self {
        Self {
            batch_s: 18.39,
            message_s: 0.0251,
        }
    }
}

impl Costs {
    /// Returns the number of messages from which on a batch is cheaper.
    pub fn crossover(&self) -> u64 {
        (self.batch_s / self.message_s).ceil() as u64
    }

    /// Returns the first message of `range` for InstantOMR. Full batches of `slots` messages are never for InstantOMR;
    /// remaining messages are, if that costs less than another batch. The result depends on the range only.
    ///
    /// Panics: if `slots` is 0.
    pub fn split(&self, range: &Range<u64>, slots: u64) -> u64 {
        let rest = (range.end - range.start) % slots;
        if rest < self.crossover() {
            range.end - rest
        } else {
            range.end
        }
    }

    /// Returns the engines of a scheme with their parts of a range, in the order of the board. If there are two
    /// engines, the second has the messages that remain after full batches of `batch` messages, if that costs less. No
    /// engine has an empty part of a range with messages. The result depends on the length of the range only.
    ///
    /// Panics: if `batch` is 0.
    #[must_use]
    pub fn parts(
        &self,
        scheme: Scheme,
        range: &Range<u64>,
        batch: u64,
    ) -> Vec<(EngineKind, Range<u64>)> {
        let [batches, messages] = *scheme.engines() else {
            let alone = |engine: &EngineKind| (*engine, range.clone());
            return scheme.engines().iter().map(alone).collect();
        };
        let split = self.split(range, batch);
        if split == range.start && !range.is_empty() {
            return vec![(messages, range.clone())];
        }
        // An empty range is for the batches, which refuse it.
        let mut parts = vec![(batches, range.start..split)];
        if split < range.end {
            parts.push((messages, split..range.end));
        }
        parts
    }

    /// Returns a scheme that answers a range as `scheme` does, with or without `payloads`. If a single engine of a
    /// scheme with two has the whole range, it is the scheme of that engine alone, if there is one, so that the other
    /// engine's key need not be read.
    ///
    /// Panics: if `batch`, the number of messages in a batch, is 0.
    #[must_use]
    pub fn narrowed(
        &self,
        scheme: Scheme,
        range: &Range<u64>,
        batch: u64,
        payloads: bool,
    ) -> Scheme {
        let parts = self.parts(scheme, range, batch);
        let engines: Vec<EngineKind> = parts.into_iter().map(|(engine, _)| engine).collect();
        if engines[..] == *scheme.engines() {
            scheme
        } else {
            Scheme::of_engines(&engines, payloads).unwrap_or(scheme)
        }
    }
}

/// The loaded keys of a recipient, at most one of each kind.
#[derive(Clone, Default)]
pub struct Engines(Vec<Arc<dyn Loaded>>);

/// A key that has a part of a request, and the request for this part.
type Part = (Arc<dyn Loaded>, Request);

/// A board and a recipient's request about it.
pub struct Job<'a> {
    /// The source of messages.
    pub source: &'a mut dyn MessageSource,
    /// The request.
    pub request: Request,
    /// The board.
    pub board_id: [u8; 16],
    /// The sealing of payloads.
    pub sealing: Sealing,
    /// Returns the seed for an engine. Seeds are random and drawn after the messages were posted.
    pub seed: &'a dyn Fn(EngineKind) -> [u8; SEED_BYTES],
    /// The costs that determine where a range is divided.
    pub costs: Costs,
}

impl Engines {
    /// Adds a key, which replaces a key of its kind.
    pub fn add(&mut self, key: Arc<dyn Loaded>) {
        self.0.retain(|other| other.kind() != key.kind());
        self.0.push(key);
    }

    /// Returns the keys with one more, which replaces a key of its kind.
    #[must_use]
    pub fn with(mut self, key: Arc<dyn Loaded>) -> Self {
        self.add(key);
        self
    }

    /// Returns the scheme of all keys together, for payloads or indices; `None` without keys.
    #[must_use]
    pub fn scheme(&self, payloads: bool) -> Option<Scheme> {
        let kinds: Vec<EngineKind> = self.0.iter().map(|key| key.kind()).collect();
        Scheme::of_engines(&kinds, payloads)
    }

    /// Answers a request by a scheme; the request determines whether there are payloads. The response of a scheme with
    /// two engines has one digest if one engine has the whole range.
    ///
    /// Errors: `NoKey`, `ClueKind` and `Plan` before any work is done; those of the engines.
    pub fn respond(
        &self,
        scheme: Scheme,
        job: Job,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError> {
        respond_together(&[(self, progress)], scheme, job)?
            .answers
            .remove(0)
    }

    /// Returns the key for two rounds.
    ///
    /// Errors: `NoKey`.
    pub fn rounds(&self) -> Result<&RoundsDetector, DetectorError> {
        let key = self.key(EngineKind::Rounds)?;
        RoundsDetector::of(&**key).ok_or(DetectorError::NoKey(EngineKind::Rounds))
    }

    /// Checks by the length of a board's clues that they are of the kind that all keys accept.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        self.0
            .iter()
            .try_for_each(|key| key.check_board(clue_bytes))
    }

    /// Returns the keys with a part of the request, and their parts, after checking everything that could prevent an
    /// answer.
    ///
    /// Errors: `NoKey`, `ClueKind`, `Plan`.
    fn checked_parts(&self, scheme: Scheme, job: &Job) -> Result<Vec<Part>, DetectorError> {
        self.check_board(job.source.clue_bytes())?;
        let parts = self.parts(scheme, job)?;
        // Requests that do not fit are refused before hours of work. The last engine has the narrower limits.
        for (key, request) in parts.iter().rev() {
            key.check(request)?;
        }
        Ok(parts)
    }

    /// Returns the keys with a part of the request, and their parts.
    ///
    /// Errors: `NoKey`.
    fn parts(&self, scheme: Scheme, job: &Job) -> Result<Vec<Part>, DetectorError> {
        let batch = match *scheme.engines() {
            [batches, _] => self.key(batches)?.batch(),
            _ => 1,
        };
        let parts = job.costs.parts(scheme, &job.request.range, batch);
        let part = |(engine, range)| {
            let request = Request {
                range,
                ..job.request.clone()
            };
            Ok((self.key(engine)?.clone(), request))
        };
        parts.into_iter().map(part).collect()
    }

    fn key(&self, kind: EngineKind) -> Result<&Arc<dyn Loaded>, DetectorError> {
        let key = self.0.iter().find(|key| key.kind() == kind);
        key.ok_or(DetectorError::NoKey(kind))
    }
}

impl Job<'_> {
    /// Returns the task of one engine.
    fn task(&mut self, engine: EngineKind, request: Request) -> Task<'_> {
        Task {
            source: &mut *self.source,
            request,
            board_id: self.board_id,
            sealing: self.sealing,
            seed: (self.seed)(engine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_goes_where_it_costs_less() {
        let costs = Costs {
            batch_s: 10.0,
            message_s: 0.1,
        };
        assert_eq!(costs.crossover(), 100);
        for (range, first) in [
            (0..1000, 1000),
            (0..1099, 1000),
            (0..1100, 1100),
            (7..1007, 1007),
            (7..1050, 1007),
            (7..20, 7),
            (7..300, 300),
        ] {
            assert_eq!(costs.split(&range, 1000), first, "{range:?}");
            let expected = match first {
                first if first == range.end => [Scheme::Sophomr, Scheme::Sophomd],
                first if first == range.start => [Scheme::Instantomr, Scheme::Instantomd],
                _ => [Scheme::Hybrid; 2],
            };
            let narrowed = |payloads| costs.narrowed(Scheme::Hybrid, &range, 1000, payloads);
            assert_eq!([true, false].map(narrowed), expected, "{range:?}");
            let asked = costs.narrowed(Scheme::Sophomd, &range, 1000, false);
            assert_eq!(asked, Scheme::Sophomd);
        }
    }

    #[test]
    fn one_engine_alone_needs_no_other_key() {
        let costs = Costs {
            batch_s: 12.0,
            message_s: 0.012,
        };
        let of = |end| costs.narrowed(Scheme::Hybrid, &(0..end), 65_536, true);
        assert_eq!([1, 999].map(of), [Scheme::Instantomr; 2]);
        assert_eq!([65_000, 65_536].map(of), [Scheme::Sophomr; 2]);
        assert_eq!(of(65_536 + 100), Scheme::Hybrid);
        assert_eq!(of(1).engines(), [EngineKind::Instantomr]);
        let empty = costs.parts(Scheme::Hybrid, &(7..7), 65_536);
        assert_eq!(empty, [(EngineKind::Sophomr, 7..7)]);
    }
}
