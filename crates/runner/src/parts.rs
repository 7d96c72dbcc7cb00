//! Partial digests: the sums of some batches of a unit, made separately and then added.

use crate::keys::opened;
use crate::run::attempt;
use crate::{Failure, KeyError, KeyRef, Keys, Unit, Worker};
use omr_detector::engine::Loaded;
use omr_detector::sophomr::{Detector, PartialOutput, Wanted, finish, partials};
use omr_detector::{DetectorError, Progress, Watching};
use omr_protocol::sophomr::{DetectionKey, DigestPlan, FinalKey, Params, Partial};
use omr_protocol::{DetectionKeyError, EngineKind, ParamSet, Response};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Returns the messages of each batch of a unit that can be divided: it is for SophOMR alone, over messages without
/// gaps, with one seed. Returns no batches for units that must be run as a whole.
#[must_use]
pub fn batches(unit: &Unit, set: &ParamSet) -> Vec<Range<u64>> {
    match plan(unit, set) {
        Ok(plan) if is_divisible(unit) => (0..plan.batches())
            .map(|number| plan.batch(number))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_divisible(unit: &Unit) -> bool {
    let seeds = unit
        .seeds
        .iter()
        .filter(|seed| seed.engine == EngineKind::Sophomr);
    let alone = *unit.scheme.engines() == [EngineKind::Sophomr];
    alone && !unit.stride.has_gaps() && seeds.count() == 1
}

/// Returns the plan of a unit's digests.
///
/// Errors: `Refused` if there is no plan.
fn plan(unit: &Unit, set: &ParamSet) -> Result<DigestPlan, Failure> {
    let (request, params) = (unit.request(), set.sophomr().map_err(Failure::new)?);
    let plan = DigestPlan::new(params, request.range, request.bound, request.payload_bytes);
    plan.map_err(Failure::new)
}

/// A job whose key is in memory.
struct Ready {
    job: usize,
    key: Arc<dyn Loaded>,
}

impl Ready {
    fn detector(&self) -> &Detector {
        detector(&*self.key)
    }
}

/// Panics: for a key of another engine.
fn detector(key: &dyn Loaded) -> &Detector {
    let key: &dyn Any = key;
    key.downcast_ref().expect("a key of SophOMR")
}

/// Adds the sums in these files.
fn merged(params: &Params, parts: &[Vec<u8>]) -> Result<Partial, Failure> {
    let mut all: Option<Partial> = None;
    for file in parts {
        let part = Partial::from_bytes(params, file).map_err(Failure::new)?;
        match &mut all {
            Some(sums) => sums.merge(params, &part).map_err(Failure::new)?,
            None => all = Some(part),
        }
    }
    all.ok_or_else(|| Failure::Refused("expected parts, found none".into()))
}

impl Worker<'_> {
    /// Makes the sums of some [batches] of a unit for each of its jobs, as files.
    ///
    /// Panics: unless the batches are some of the unit's.
    pub fn part(
        &self,
        pool: &rayon::ThreadPool,
        unit: &Unit,
        batches: &Range<usize>,
        keys: &mut Keys,
    ) -> Vec<Result<Vec<u8>, Failure>> {
        let mut made: Vec<_> = unit.jobs.iter().map(|_| Err(Failure::Stopped)).collect();
        let mut ready = Vec::new();
        for (job, made) in made.iter_mut().enumerate() {
            match attempt(pool, || self.ready(unit, job, keys)) {
                Ok(one) => ready.push(one),
                Err(failure) => *made = Err(failure),
            }
        }
        let together = attempt(pool, || self.sums(unit, batches, &ready));
        match together {
            Ok(sums) => {
                for (of_job, one) in sums.into_iter().zip(&ready) {
                    made[one.job] = Ok(of_job);
                }
            }
            Err(Failure::Stopped) => {}
            // If a run for several jobs fails, each job is run alone.
            Err(failure) => {
                for one in &ready {
                    let alone = std::slice::from_ref(one);
                    made[one.job] = match ready.len() {
                        1 => Err(failure.clone()),
                        _ => attempt(pool, || Ok(self.sums(unit, batches, alone)?.remove(0))),
                    };
                }
            }
        }
        made
    }

    /// Makes the digest of a job from the files of all its sums, in any order. Of a key that is not in memory, only the
    /// necessary part is read.
    ///
    /// Errors: `Refused` for files that do not add up to the digest.
    pub fn finish(
        &self,
        pool: &rayon::ThreadPool,
        unit: &Unit,
        job: usize,
        parts: &[Vec<u8>],
        keys: &mut Keys,
    ) -> Result<Vec<u8>, Failure> {
        attempt(pool, || {
            let key = self.key(unit, job)?;
            let params = self.set.sophomr().map_err(Failure::new)?;
            let all = merged(params, parts)?;
            let digest = match keys.held(key) {
                Some(loaded) => detector(&*loaded).finish(&all),
                None => finish(params, &self.final_key(key).map_err(Failure::new)?, &all),
            };
            let response = Response::Sophomr(digest.map_err(Failure::of)?);
            response.to_bytes(self.set).map_err(Failure::new)
        })
    }

    fn final_key(&self, key: &KeyRef) -> Result<FinalKey, KeyError> {
        let file = opened(key, self.supplies, self.set)?;
        let params = self.set.sophomr().map_err(DetectionKeyError::from)?;
        Ok(DetectionKey::read_final(params, file.reader)?)
    }

    /// Returns the key of a job, if the job is still wanted.
    fn key<'u>(&self, unit: &'u Unit, job: usize) -> Result<&'u KeyRef, Failure> {
        if self.leases.progress(unit, job).is_stopped() {
            return Err(Failure::Stopped);
        }
        let mut keys = unit.jobs[job].iter();
        let key = keys.find(|key| key.kind == EngineKind::Sophomr);
        key.ok_or_else(|| Failure::of(DetectorError::NoKey(EngineKind::Sophomr)))
    }

    /// Loads the key of a job.
    fn ready(&self, unit: &Unit, job: usize, keys: &mut Keys) -> Result<Ready, Failure> {
        let wanted = self.key(unit, job)?;
        let room = self.keys.max(unit.jobs.len());
        let key = keys
            .load(wanted, room, self.supplies, self.set, self.cards)
            .map_err(Failure::new)?;
        Ok(Ready { job, key })
    }

    /// Makes the sums of some batches for jobs of a unit, in their order.
    fn sums(
        &self,
        unit: &Unit,
        batches: &Range<usize>,
        ready: &[Ready],
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let Some(first) = ready.first() else {
            return Ok(Vec::new());
        };
        let plan = plan(unit, self.set)?;
        let seed = unit.seed(EngineKind::Sophomr, first.job);
        let wanted = Wanted {
            plan: &plan,
            board_id: unit.board_id,
            sealing: unit.sealing,
            seed: seed.ok_or_else(|| Failure::Refused("expected a seed, found none".into()))?,
        };
        let detectors: Vec<&Detector> = ready.iter().map(Ready::detector).collect();
        let progress: Vec<Box<dyn Progress + Send>> = ready
            .iter()
            .map(|one| self.leases.progress(unit, one.job))
            .collect();
        let watching = Watching(progress.iter().map(|one| &**one as &dyn Progress).collect());
        let mut source = self.supplies.messages(unit);
        let made = partials(
            &detectors,
            &mut *source,
            &wanted,
            batches.clone(),
            &watching,
        )
        .map_err(Failure::of)?;
        if let Some(one) = made.first() {
            self.leases.ran(unit, &one.stages);
        }
        let file = |one: PartialOutput| {
            let file = one.partial.to_bytes(first.detector().params());
            file.map_err(Failure::new)
        };
        made.into_iter().map(file).collect()
    }
}
