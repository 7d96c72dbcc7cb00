//! One request for several engines: full batches go to SophOMR, the rest to InstantOMR where that costs
//! less.

mod together;

pub use together::{Answers, respond_together};

use crate::engine::{Answer, Loaded, Task};
use crate::{DetectorError, MessageSource, Progress};
use omr_protocol::{EngineKind, Request, SEED_BYTES, Scheme, Sealing};
use std::ops::Range;
use std::sync::Arc;

/// What the engines cost on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Seconds of a batch by SophOMR.
    pub batch_s: f64,
    /// Seconds of a message by InstantOMR, several in flight.
    pub message_s: f64,
}

impl Default for Costs {
    /// As measured with AVX2 for `hybrid-v4` (docs/performance.md): their ratio alone counts.
    fn default() -> Self {
        Self {
            batch_s: 18.39,
            message_s: 0.0251,
        }
    }
}

impl Costs {
    /// Messages from which on a batch is the cheaper way.
    pub fn crossover(&self) -> u64 {
        (self.batch_s / self.message_s).ceil() as u64
    }

    /// The first message of `range` that goes to InstantOMR: full batches of `slots` messages never
    /// do, what is left does if it costs less than a batch more. Depends on the range alone.
    ///
    /// Panics: when `slots` is 0.
    pub fn split(&self, range: &Range<u64>, slots: u64) -> u64 {
        let rest = (range.end - range.start) % slots;
        if rest < self.crossover() {
            range.end - rest
        } else {
            range.end
        }
    }

    /// The engines of a scheme with the parts of a range that they answer, in the order of the board. Where there are
    /// two, the second one has what is left of full batches of `batch` messages, if that costs less; no engine has an
    /// empty part of a range with messages. Depends on the range's length alone.
    ///
    /// Panics: when `batch` is 0.
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
        // An empty range goes to the batches, which refuse it.
        let mut parts = vec![(batches, range.start..split)];
        if split < range.end {
            parts.push((messages, split..range.end));
        }
        parts
    }

    /// The scheme that answers a range as `scheme` does, with `payloads` or without: in place of one of two engines that
    /// of the one that does it all, where there is one, so that nobody need read the other's key.
    ///
    /// Panics: when `batch`, the messages of a batch, is 0.
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

/// The keys that a recipient gave, ready: at most one of a kind.
#[derive(Clone, Default)]
pub struct Engines(Vec<Arc<dyn Loaded>>);

/// A key that takes part in an answer, and what it is asked.
type Part = (Arc<dyn Loaded>, Request);

/// A board and what a recipient asks of it.
pub struct Job<'a> {
    /// Where messages are read.
    pub source: &'a mut dyn MessageSource,
    /// Which ones, and how many may be pertinent.
    pub request: Request,
    /// The board.
    pub board_id: [u8; 16],
    /// How its payloads are sealed.
    pub sealing: Sealing,
    /// Seeds for the engines that take part: each random, drawn after the messages were posted.
    pub seed: &'a dyn Fn(EngineKind) -> [u8; SEED_BYTES],
    /// What decides where a range is split.
    pub costs: Costs,
}

impl Engines {
    /// Takes a key in place of one of its kind.
    pub fn add(&mut self, key: Arc<dyn Loaded>) {
        self.0.retain(|other| other.kind() != key.kind());
        self.0.push(key);
    }

    /// With a key in place of one of its kind.
    #[must_use]
    pub fn with(mut self, key: Arc<dyn Loaded>) -> Self {
        self.add(key);
        self
    }

    /// The scheme of all keys together, for payloads or indices; `None` without keys.
    #[must_use]
    pub fn scheme(&self, payloads: bool) -> Option<Scheme> {
        let kinds: Vec<EngineKind> = self.0.iter().map(|key| key.kind()).collect();
        Scheme::of_engines(&kinds, payloads)
    }

    /// Answers a request by a scheme; whether there are payloads the request says. A scheme of two engines makes one
    /// digest where one engine does it all.
    ///
    /// Errors: `NoKey`, `ClueKind` before any work is done, `Plan`, those of the engines.
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

    /// Checks that a board's clues, by their length, are of the kind that all keys take.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        self.0
            .iter()
            .try_for_each(|key| key.check_board(clue_bytes))
    }

    /// The keys that take part, with what each is asked, once all was looked at that may forbid it.
    ///
    /// Errors: `NoKey`, `ClueKind`, `Plan`.
    fn checked_parts(&self, scheme: Scheme, job: &Job) -> Result<Vec<Part>, DetectorError> {
        self.check_board(job.source.clue_bytes())?;
        let parts = self.parts(scheme, job)?;
        // What does not fit is refused before hours of work; the last engine is the one with the narrower limits.
        for (key, request) in parts.iter().rev() {
            key.check(scheme, request)?;
        }
        Ok(parts)
    }

    /// The keys that take part, with what each is asked.
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
    /// What one engine is asked.
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
