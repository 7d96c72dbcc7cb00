//! Digests in parts: the sums of some batches of a unit, made apart, and what they add up to.

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

/// The messages of each batch of a unit that may be done in parts: by SophOMR alone, over messages without gaps,
/// with one seed. None of one that must be done whole.
#[must_use]
pub fn batches(unit: &Unit, set: &ParamSet) -> Vec<Range<u64>> {
    let plan = plan(unit, set).ok().filter(|_| is_divisible(unit));
    let batches = plan.iter().flat_map(|plan| {
        let batch = |number| plan.batch(number);
        (0..plan.batches()).map(batch)
    });
    batches.collect()
}

fn is_divisible(unit: &Unit) -> bool {
    let seeds = unit.seeds.iter();
    let seeds = seeds.filter(|seed| seed.engine == EngineKind::Sophomr);
    let alone = *unit.scheme.engines() == [EngineKind::Sophomr];
    alone && !unit.stride.has_gaps() && seeds.count() == 1
}

/// Errors: `Refused` for what nobody can make.
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

/// What the files of sums add up to.
fn merged(params: &Params, parts: &[Vec<u8>]) -> Result<Partial, Failure> {
    let mut all: Option<Partial> = None;
    for part in parts {
        let part = Partial::from_bytes(params, part).map_err(Failure::new)?;
        match &mut all {
            Some(all) => all.merge(params, &part).map_err(Failure::new)?,
            None => all = Some(part),
        }
    }
    all.ok_or_else(|| Failure::Refused("expected parts, found none".into()))
}

impl Worker<'_> {
    /// The sums of some [batches] of a unit, as files, for each of its jobs.
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
            Ok(sums) => sums
                .into_iter()
                .zip(&ready)
                .for_each(|(sums, one)| made[one.job] = Ok(sums)),
            Err(Failure::Stopped) => {}
            // What fails for several together is done for each alone.
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

    /// The digest of a job from the files of all its sums, in any order. Of a key that is not in memory no more is read
    /// than that takes.
    ///
    /// Errors: `Refused` for files that do not make up the digest.
    pub fn finish(
        &self,
        pool: &rayon::ThreadPool,
        (unit, job): (&Unit, usize),
        parts: &[Vec<u8>],
        keys: &mut Keys,
    ) -> Result<Vec<u8>, Failure> {
        attempt(pool, || {
            let key = self.key(unit, job)?;
            let params = self.set.sophomr().map_err(Failure::new)?;
            let all = merged(params, parts)?;
            let digest = match keys.held(key) {
                Some(key) => detector(&*key).finish(&all),
                None => finish(params, &self.final_key(key).map_err(Failure::new)?, &all),
            };
            let digest = Response::Sophomr(digest.map_err(Failure::of)?).to_bytes(self.set);
            digest.map_err(Failure::new)
        })
    }

    fn final_key(&self, key: &KeyRef) -> Result<FinalKey, KeyError> {
        let file = opened(key, self.supplies, self.set)?;
        let params = self.set.sophomr().map_err(DetectionKeyError::from)?;
        Ok(DetectionKey::read_final(params, file.reader)?)
    }

    /// The key of a job that is still wanted.
    fn key<'u>(&self, unit: &'u Unit, job: usize) -> Result<&'u KeyRef, Failure> {
        if self.leases.progress(unit, job).is_stopped() {
            return Err(Failure::Stopped);
        }
        let mut keys = unit.jobs[job].iter();
        let key = keys.find(|key| key.kind == EngineKind::Sophomr);
        key.ok_or_else(|| Failure::of(DetectorError::NoKey(EngineKind::Sophomr)))
    }

    /// A job with its key.
    fn ready(&self, unit: &Unit, job: usize, keys: &mut Keys) -> Result<Ready, Failure> {
        let key = self.key(unit, job)?;
        let room = self.keys.max(unit.jobs.len());
        let key = keys.load(key, room, self.supplies, self.set, self.cards);
        let key = key.map_err(Failure::new)?;
        Ok(Ready { job, key })
    }

    /// The sums of some batches for jobs of a unit, in their order.
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
        let progress = |one: &Ready| self.leases.progress(unit, one.job);
        let progress: Vec<Box<dyn Progress + Send>> = ready.iter().map(progress).collect();
        let watching = Watching(progress.iter().map(|one| &**one as &dyn Progress).collect());
        let mut source = self.supplies.messages(unit);
        let made = partials(
            &detectors,
            &mut *source,
            &wanted,
            batches.clone(),
            &watching,
        );
        let made = made.map_err(Failure::of)?;
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
