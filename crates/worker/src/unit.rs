//! Parsing of units of work from a server's messages.

use omr_detector::engines::Costs;
use omr_protocol::stride::MAX_STEP;
use omr_protocol::{ClueKind, EngineKind, ParamSet, Scheme, Stride};
use omr_remote::RemoteError;
use omr_remote::v1;
use omr_runner::{KeyRef, Seed, Unit};
use std::time::Duration;

/// Largest number of jobs of a unit.
const MOST_JOBS: usize = 64;

/// A unit, and the length of its board's clues.
pub struct LeasedUnit {
    /// The work.
    pub unit: Unit,
    /// Length in bytes of a clue.
    pub clue_bytes: usize,
}

fn wrong(expected: &str, found: impl std::fmt::Debug) -> RemoteError {
    RemoteError::answer("Lease", expected, format!("{found:?}"))
}

fn engine(tag: i32) -> Result<EngineKind, RemoteError> {
    let known = u8::try_from(tag).ok().and_then(EngineKind::from_tag);
    known.ok_or_else(|| wrong("the kind of a key", tag))
}

fn fixed<const N: usize>(what: &str, bytes: &[u8]) -> Result<[u8; N], RemoteError> {
    bytes
        .try_into()
        .map_err(|_| wrong(&format!("{what} of {N} bytes"), bytes.len()))
}

fn key(key: &v1::UnitKey, longest: u64) -> Result<KeyRef, RemoteError> {
    if !(1..=longest).contains(&key.total_bytes) {
        return Err(wrong("a key of the set's length", key.total_bytes));
    }
    Ok(KeyRef {
        hash: fixed("a hash", &key.key_hash)?,
        kind: engine(key.kind)?,
        bytes: key.total_bytes,
    })
}

fn stride(span: Option<&v1::Span>) -> Result<Stride, RemoteError> {
    match span {
        Some(found) if found.start < found.end && (1..=MAX_STEP).contains(&found.step) => {
            Ok(Stride::new(found.start..found.end, found.step))
        }
        found => Err(wrong("messages", found)),
    }
}

impl LeasedUnit {
    /// Parses a server's message about a unit of a board with this parameter set.
    ///
    /// Errors: `Answer`.
    pub fn parse(work: &v1::WorkUnit, set: &ParamSet) -> Result<Self, RemoteError> {
        parse(work, set, longest(set))
    }
}

/// Returns the length in bytes of the longest key of a set.
fn longest(set: &ParamSet) -> u64 {
    let clues = [ClueKind::Plain, ClueKind::Bound];
    let engines = set.spec().engines();
    let bytes = engines
        .iter()
        .flat_map(|&engine| clues.map(|kind| set.key_file_bytes(engine, kind).unwrap_or(0)));
    bytes.max().unwrap_or(0)
}

/// Parses a unit whose keys have at most `longest` bytes.
///
/// Errors: `Answer`.
fn parse(work: &v1::WorkUnit, set: &ParamSet, longest: u64) -> Result<LeasedUnit, RemoteError> {
    let scheme = u8::try_from(work.scheme)
        .ok()
        .and_then(Scheme::from_tag)
        .filter(|known| set.spec().serves(*known));
    let seed = |placement: &v1::PlacementSeed| {
        Ok(Seed {
            engine: engine(placement.engine)?,
            seed: fixed("a seed", &placement.seed)?,
        })
    };
    let costs = Costs {
        batch_s: work.batch_seconds,
        message_s: work.message_seconds,
    };
    let sensible = |seconds: f64| seconds.is_finite() && seconds > 0.0;
    if !sensible(costs.batch_s) || !sensible(costs.message_s) {
        return Err(wrong("seconds above 0", costs));
    }
    if !(1..=MOST_JOBS).contains(&work.jobs.len()) {
        return Err(wrong("1 to 64 jobs", work.jobs.len()));
    }
    let with_query = work.jobs.iter().filter(|job| !job.query.is_empty());
    let queries: Vec<Vec<u8>> = with_query.map(|job| job.query.to_vec()).collect();
    if !queries.is_empty() && queries.len() != work.jobs.len() {
        return Err(wrong("a query for each job or for none", queries.len()));
    }
    let keys = |job: &v1::UnitJob| job.keys.iter().map(|one| key(one, longest)).collect();
    let unit = Unit {
        id: fixed("an id", &work.unit_id)?,
        board_id: fixed("an id", &work.board_id)?,
        history_id: fixed("an id", &work.history_id)?,
        sealing: work
            .sealing
            .parse()
            .map_err(|_| wrong("a sealing", &work.sealing))?,
        payload_bytes: work.payload_bytes as usize,
        scheme: scheme.ok_or_else(|| wrong("a scheme of the set", work.scheme))?,
        stride: stride(work.span.as_ref())?,
        bound: work.bound,
        indices_only: work.indices_only,
        seeds: work.seeds.iter().map(seed).collect::<Result<_, _>>()?,
        costs,
        jobs: work.jobs.iter().map(keys).collect::<Result<_, _>>()?,
        queries,
        lease: Duration::from_secs(work.lease_seconds.max(1).into()),
    };
    for &engine in unit.scheme.engines() {
        if (0..unit.jobs.len()).any(|job| unit.seed(engine, job).is_none()) {
            return Err(wrong("a seed for each engine and job", work.seeds.len()));
        }
    }
    Ok(LeasedUnit {
        unit,
        clue_bytes: work.clue_bytes as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> v1::WorkUnit {
        v1::WorkUnit {
            unit_id: vec![1; 16].into(),
            scheme: 1,
            span: Some(v1::Span {
                start: 0,
                end: 10,
                step: 1,
            }),
            bound: 5,
            board_id: vec![2; 16].into(),
            history_id: vec![3; 16].into(),
            sealing: "none".into(),
            payload_bytes: 32,
            clue_bytes: 100,
            seeds: vec![v1::PlacementSeed {
                engine: 1,
                seed: vec![3; 32].into(),
            }],
            batch_seconds: 1.0,
            message_seconds: 0.1,
            jobs: vec![v1::UnitJob {
                keys: vec![v1::UnitKey {
                    key_hash: vec![4; 32].into(),
                    kind: 1,
                    total_bytes: 1000,
                }],
                ..v1::UnitJob::default()
            }],
            lease_seconds: 60,
            ..v1::WorkUnit::default()
        }
    }

    #[test]
    fn a_unit_is_accepted_if_all_of_it_makes_sense() {
        let set = ParamSet::named("insecure-tiny-hybrid-v4").unwrap();
        let work = work();
        let parsed = parse(&work, &set, 1000).unwrap();
        assert_eq!((parsed.unit.jobs.len(), parsed.clue_bytes), (1, 100));
        let changes: [&dyn Fn(&mut v1::WorkUnit); 14] = [
            &|unit| {
                unit.jobs.push(unit.jobs[0].clone());
                unit.jobs[1].query = vec![1].into();
            },
            &|unit| unit.unit_id = vec![1; 15].into(),
            &|unit| unit.board_id = vec![1; 17].into(),
            &|unit| unit.history_id = vec![1; 15].into(),
            &|unit| unit.scheme = 99,
            &|unit| unit.scheme = -1,
            &|unit| unit.span = None,
            &|unit| unit.span.as_mut().unwrap().step = 0,
            &|unit| unit.span.as_mut().unwrap().end = 0,
            &|unit| unit.sealing = "wax".into(),
            &|unit| unit.seeds.clear(),
            &|unit| unit.jobs.clear(),
            &|unit| unit.jobs[0].keys[0].total_bytes = 1001,
            &|unit| unit.batch_seconds = f64::NAN,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut wrong = work.clone();
            change(&mut wrong);
            assert!(parse(&wrong, &set, 1000).is_err(), "{number}");
        }
    }
}
