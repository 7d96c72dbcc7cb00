//! Parameter sets compared by what they cost: modelled seconds, bytes of keys, clues and digests.

mod grid;
mod instant;

pub use grid::{Grid, base, embedding_pass_log2};
pub use instant::{InstantCandidate, InstantFound, search_instant};

use crate::measure::{Units, cost};
use omr_protocol::params::LEAST_BITS;
use omr_protocol::sophomr::{Digest, DigestPlan, Outline, Params, ParamsSpec};
use omr_protocol::{ClueKind, ParamsError, PlanError};
use omr_ring::Kernels;
use rayon::ThreadPoolBuildError;
use rayon::prelude::*;

/// What digests are to be made of.
#[derive(Clone, Copy, Debug)]
pub struct Digests {
    /// Messages covered.
    pub messages: u64,
    /// Pertinent messages that a digest may carry.
    pub bound: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
}

/// A set and what it costs.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The set, under the name it was derived from.
    pub spec: ParamsSpec,
    /// Bits of security: the least over clues and keys.
    pub security_bits: f64,
    /// Modelled seconds of a digest, one thread.
    pub seconds: f64,
    /// Bytes of the body of a detection key for bound clues.
    pub key_bytes: u64,
    /// Bytes of a clue.
    pub clue_bytes: u64,
    /// Bytes of a digest's file.
    pub digest_bytes: u64,
    /// Bytes of the baby steps in memory, half of what a detector holds.
    pub baby_step_bytes: u64,
}

/// What a search found.
pub struct Found {
    /// Sets that no other set beats in everything, the smallest key first.
    pub best: Vec<Candidate>,
    /// The published default, whether beaten or not.
    pub published: Candidate,
    /// Sets derived.
    pub tried: usize,
    /// Of these, sets that are below 128 bits or do not fit.
    pub refused: usize,
}

/// A small ring: what depends on its dimension alone.
struct Small {
    n: usize,
    plan: DigestPlan,
    units: Units,
    clue_bytes: u64,
    digest_bytes: u64,
}

/// Searches `grid` for sets derived from `base`.
///
/// Errors: `base` does not fit, no digest like `digests` can be made with it, or no thread could be
/// started.
pub fn search<E: From<ParamsError> + From<PlanError> + From<ThreadPoolBuildError>>(
    base: &ParamsSpec,
    grid: &Grid,
    digests: Digests,
) -> Result<Found, E> {
    let mut smalls = Vec::new();
    for n in grid.small_dimensions(base) {
        let spec = ParamsSpec {
            small_n: n,
            ..base.clone()
        };
        match Params::new(spec, Kernels::detect()) {
            Ok(params) => smalls.push(Small::new::<E>(&params, digests)?),
            Err(ParamsError::Insecure { .. }) if n != base.small_n => {}
            Err(error) => return Err(error.into()),
        }
    }
    let own = |small: &&Small| small.n == base.small_n;
    let own = smalls
        .iter()
        .find(own)
        .expect("the base's dimension is tried");
    let published = candidate(Outline::new(base.clone())?, own);
    let specs = grid.specs(base);
    let derived = |spec: &ParamsSpec| {
        let small = smalls.iter().find(|small| small.n == spec.small_n)?;
        let candidate = candidate(Outline::new(spec.clone()).ok()?, small);
        (candidate.security_bits >= LEAST_BITS).then_some(candidate)
    };
    let candidates: Vec<Candidate> = specs.par_iter().filter_map(derived).collect();
    Ok(Found {
        tried: specs.len(),
        refused: specs.len() - candidates.len(),
        best: unbeaten(candidates),
        published,
    })
}

impl Small {
    fn new<E>(params: &Params, digests: Digests) -> Result<Self, E>
    where
        E: From<PlanError> + From<ThreadPoolBuildError>,
    {
        let payload = Some(digests.payload_bytes);
        let plan = DigestPlan::new(params, 0..digests.messages, digests.bound, payload)?;
        let plan = plan.for_clues(params, ClueKind::Bound);
        Ok(Self {
            n: params.small.n(),
            units: Units::measure(params, &plan)?,
            clue_bytes: ClueKind::Bound.bytes(&params.clue) as u64,
            digest_bytes: Digest::file_bytes(&plan, params),
            plan,
        })
    }
}

fn candidate(outline: Outline, small: &Small) -> Candidate {
    let spec = outline.spec().clone();
    let stages = cost::stages(&outline, &small.plan);
    let steps = spec.baby + ParamsSpec::COORDINATES - 1;
    let limbs = outline.chain.basis(0).len();
    Candidate {
        security_bits: spec.security_bits(),
        seconds: stages.iter().map(|(_, work)| small.units.model(work)).sum(),
        key_bytes: outline.detection_key_bytes(ClueKind::Bound),
        clue_bytes: small.clue_bytes,
        digest_bytes: small.digest_bytes,
        baby_step_bytes: (steps * limbs * 2 * spec.n * size_of::<u64>()) as u64,
        spec,
    }
}

impl Candidate {
    fn costs(&self) -> [f64; 5] {
        let (key, memory) = (self.key_bytes as f64, self.baby_step_bytes as f64);
        let (clue, digest) = (self.clue_bytes as f64, self.digest_bytes as f64);
        [key, self.seconds, memory, digest, clue]
    }

    /// Whether it is as good as `other` in everything and better in something.
    pub fn beats(&self, other: &Self) -> bool {
        let (own, other) = (self.costs(), other.costs());
        own != other && own.iter().zip(other).all(|(own, other)| *own <= other)
    }
}

/// Those that no other beats, the smallest key first; of equal ones the most secure.
fn unbeaten(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let order = |a: &Candidate, b: &Candidate| {
        let costs = a.costs().into_iter().zip(b.costs());
        let mut unequal = costs.map(|(a, b)| a.total_cmp(&b)).filter(|o| o.is_ne());
        unequal
            .next()
            .unwrap_or_else(|| b.security_bits.total_cmp(&a.security_bits))
    };
    candidates.sort_by(order);
    let mut best: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let taken =
            |other: &Candidate| other.beats(&candidate) || other.costs() == candidate.costs();
        if !best.iter().any(taken) {
            best.push(candidate);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbeaten_sets_are_kept_and_of_equal_ones_the_most_secure() {
        let candidate = |seconds, key_bytes, security_bits| Candidate {
            spec: base(),
            security_bits,
            seconds,
            key_bytes,
            clue_bytes: 1,
            digest_bytes: 1,
            baby_step_bytes: 1,
        };
        let all = vec![
            candidate(2.0, 20, 128.0),
            candidate(1.0, 30, 128.0),
            candidate(3.0, 10, 128.0),
            candidate(3.0, 10, 129.0),
            candidate(3.0, 20, 140.0),
        ];
        let kept: Vec<_> = unbeaten(all)
            .iter()
            .map(|c| (c.seconds, c.key_bytes, c.security_bits))
            .collect();
        assert_eq!(kept, [(3.0, 10, 129.0), (2.0, 20, 128.0), (1.0, 30, 128.0)]);
    }
}
