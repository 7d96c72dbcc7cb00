//! One request for both engines: full batches go to SophOMR, the rest to InstantOMR where that costs
//! less.

use crate::instantomr::{InstantDetector, Session};
use crate::sophomr::Detector;
use crate::{DetectorError, MessageSource, Progress, Stages};
use omr_protocol::instantomr::{Encoding, InstantDigest, InstantPlan};
use omr_protocol::sophomr::{Digest, DigestPlan};
use omr_protocol::{DigestHeader, Request, Response, SEED_BYTES, Scheme, Sealing};
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
    /// In the proportion measured with AVX-512: 75,000 transforms a batch, 76 a message, see
    /// docs/performance.md.
    fn default() -> Self {
        Self {
            batch_s: 12.0,
            message_s: 0.0122,
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

    /// The scheme that answers a range as `scheme` does, with `payloads` or without: instead of `Hybrid` the one engine
    /// that does it all, where there is one, so that nobody need read the other's key.
    ///
    /// Panics: when `slots`, the messages of a batch, is 0.
    #[must_use]
    pub fn narrowed(
        &self,
        scheme: Scheme,
        range: &Range<u64>,
        slots: u64,
        payloads: bool,
    ) -> Scheme {
        match (scheme, self.split(range, slots)) {
            (Scheme::Hybrid, first) if first == range.end => Scheme::bulk(payloads),
            (Scheme::Hybrid, first) if first == range.start => {
                Scheme::instant(Encoding::Powers, payloads)
            }
            _ => scheme,
        }
    }
}

/// The engines that a recipient gave keys for.
#[derive(Default)]
pub struct Engines {
    /// SophOMR.
    pub bulk: Option<Arc<Detector>>,
    /// InstantOMR.
    pub instant: Option<Arc<InstantDetector>>,
}

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
    /// Random, drawn after the messages were posted; one for each engine.
    pub seeds: [[u8; SEED_BYTES]; 2],
    /// What decides where a range is split.
    pub costs: Costs,
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

impl Engines {
    /// What the keys serve: both, or the one there is.
    pub fn scheme(&self, payloads: bool) -> Scheme {
        match (&self.bulk, &self.instant) {
            (Some(_), Some(_)) => Scheme::Hybrid,
            (None, Some(_)) => Scheme::instant(Encoding::Powers, payloads),
            _ => Scheme::bulk(payloads),
        }
    }

    /// Answers a request by a scheme; whether there are payloads the request says. `Hybrid` makes one
    /// digest where one engine does it all.
    ///
    /// Errors: `NoKey`, `ClueKind` before any work is done, `Plan`, those of the engines.
    pub fn respond(
        &self,
        scheme: Scheme,
        mut job: Job,
        progress: &dyn Progress,
    ) -> Result<Answer, DetectorError> {
        self.check_board(job.source.clue_bytes())?;
        let range = job.request.range.clone();
        let first = match scheme {
            Scheme::Sophomr | Scheme::Sophomd => range.end,
            Scheme::Instantomr
            | Scheme::Instantomd
            | Scheme::InstantomrBuckets
            | Scheme::InstantomdBuckets => range.start,
            Scheme::Hybrid => job
                .costs
                .split(&range, self.bulk()?.params().slots() as u64),
        };
        // What does not fit is refused before hours of work.
        let rest = (first < range.end).then(|| self.singles_plan(&job, scheme, first..range.end));
        let rest = rest.transpose()?;
        let mut stages = Stages::default();
        let mut unusable_clues = 0;
        let mut bulk = None;
        if first > range.start || range.is_empty() {
            let (digest, unusable) =
                self.batches(&mut job, range.start..first, &mut stages, progress)?;
            unusable_clues += unusable;
            bulk = Some(digest);
        }
        let mut singles = None;
        if let Some(plan) = rest {
            let (digest, unusable) = self.singles(&mut job, plan, &mut stages, progress)?;
            unusable_clues += unusable;
            singles = Some(digest);
        }
        let response = match (bulk, singles) {
            (Some(bulk), Some(rest)) => Response::Hybrid(bulk, rest),
            (Some(bulk), None) => Response::Bulk(bulk),
            (None, Some(rest)) => Response::Instant(rest),
            (None, None) => unreachable!("an empty range goes to the batches, which refuse it"),
        };
        Ok(Answer {
            response,
            stages,
            unusable_clues,
        })
    }

    /// Checks that a board's clues, by their length, are of the kind that all keys take.
    ///
    /// Errors: `ClueKind`.
    pub fn check_board(&self, clue_bytes: usize) -> Result<(), DetectorError> {
        if let Some(bulk) = &self.bulk {
            bulk.check_board(clue_bytes)?;
        }
        match &self.instant {
            Some(instant) => instant.check_board(clue_bytes),
            None => Ok(()),
        }
    }

    fn bulk(&self) -> Result<&Arc<Detector>, DetectorError> {
        let expected = "SophOMR";
        self.bulk.as_ref().ok_or(DetectorError::NoKey { expected })
    }

    fn instant(&self) -> Result<&Arc<InstantDetector>, DetectorError> {
        let expected = "InstantOMR";
        self.instant
            .as_ref()
            .ok_or(DetectorError::NoKey { expected })
    }

    fn batches(
        &self,
        job: &mut Job,
        range: Range<u64>,
        stages: &mut Stages,
        progress: &dyn Progress,
    ) -> Result<(Digest, usize), DetectorError> {
        let (detector, request) = (self.bulk()?, &job.request);
        let (bound, payload) = (request.bound, request.payload_bytes);
        let plan = DigestPlan::new(detector.params(), range, bound, payload)?;
        let (board, sealing, seed) = (job.board_id, job.sealing, job.seeds[0]);
        let output = detector.digest(job.source, &plan, board, sealing, seed, progress)?;
        stages.add(&output.stages);
        Ok((output.digest, output.unusable_clues))
    }

    fn singles_plan(
        &self,
        job: &Job,
        scheme: Scheme,
        range: Range<u64>,
    ) -> Result<InstantPlan, DetectorError> {
        let encoding = scheme.encoding().unwrap_or(Encoding::Powers);
        let request = Request {
            range,
            ..job.request.clone()
        };
        Ok(InstantPlan::new(
            self.instant()?.params(),
            encoding,
            request,
        )?)
    }

    fn singles(
        &self,
        job: &mut Job,
        plan: InstantPlan,
        stages: &mut Stages,
        progress: &dyn Progress,
    ) -> Result<(InstantDigest, usize), DetectorError> {
        let (detector, end) = (self.instant()?, plan.range().end);
        let header = DigestHeader {
            key_id: detector.key_id(),
            board_id: job.board_id,
            sealing: job.sealing,
            plan,
            seed: job.seeds[1],
        };
        let mut session = Session::new(detector.clone(), header);
        let nothing = |_: &Session| Ok::<(), DetectorError>(());
        session.advance(job.source, end, progress, nothing)?;
        let mut spent = std::mem::take(&mut session.stages);
        let digest = spent.time("packing", || session.digest());
        stages.add(&spent);
        Ok((digest, session.unusable_clues))
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
}
