//! Seconds of each unit of work on this machine, one thread, with the memory traffic it has in
//! place: what a digest reads from memory is read from memory here.

mod batch;
mod compression;
mod rows;

use crate::measure::cost::{Unit, Work};
use crate::measure::cpu::thread_seconds;
use crate::measure::median::median;
use batch::Batch;
use compression::Compression;
use omr_protocol::sophomr::{DigestPlan, Params};
use omr_ring::{AlignedVec, Ring};
use rows::Rows;

/// Rounds of which the median counts.
const ROUNDS: usize = 5;

/// Least seconds of a round.
const ROUND: f64 = 0.004;

/// Seconds after which no further round begins.
const ENOUGH: f64 = 0.4;

/// Seconds of processor time of each [`Unit`].
#[derive(Clone, Debug)]
pub struct Units([f64; Unit::ALL.len()]);

impl Units {
    /// Measures them at the dimensions of `params`, for digests like `plan`: some seconds, and half
    /// a gigabyte.
    ///
    /// Errors: no thread could be started.
    pub fn measure(
        params: &Params,
        plan: &DigestPlan,
    ) -> Result<Self, rayon::ThreadPoolBuildError> {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(one.install(|| Self::measure_here(params, plan)))
    }

    fn measure_here(params: &Params, plan: &DigestPlan) -> Self {
        let mut units = Self([0.0; Unit::ALL.len()]);
        let mut set = |measured: Measured| {
            for (unit, seconds) in measured {
                units.0[unit as usize] = seconds;
            }
        };
        set(Rows::new(params).measure());
        set(Batch::new(params).measure());
        set(Compression { params, plan }.measure());
        units
    }

    /// Seconds of one unit.
    pub fn seconds(&self, unit: Unit) -> f64 {
        self.0[unit as usize]
    }

    /// Seconds of work, one thread.
    pub fn model(&self, work: &Work) -> f64 {
        let cost = |unit: Unit| work.count(unit) * self.seconds(unit);
        Unit::ALL.into_iter().map(cost).sum()
    }
}

/// Units with their seconds.
type Measured = Vec<(Unit, f64)>;

/// Seconds of `work`: the median of rounds of several milliseconds each.
fn time(mut work: impl FnMut()) -> f64 {
    let begin = thread_seconds();
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS && (rounds.is_empty() || thread_seconds() - begin < ENOUGH) {
        let start = thread_seconds();
        let mut count = 0;
        while count == 0 || thread_seconds() - start < ROUND {
            work();
            count += 1;
        }
        rounds.push((thread_seconds() - start) / f64::from(count));
    }
    median(rounds)
}

/// Seconds of `work` on one of the rows, all in turn.
fn each(rows: &mut [AlignedVec], mut work: impl FnMut(usize, &mut [u64])) -> f64 {
    let count = rows.len() as f64;
    time(|| {
        for (i, row) in rows.iter_mut().enumerate() {
            work(i, row);
        }
    }) / count
}

/// Rows of numbers below the smallest prime of the ring.
fn rows(ring: &Ring, count: usize) -> Vec<AlignedVec> {
    let moduli = ring.everything();
    let q = moduli
        .ids()
        .iter()
        .map(|&id| ring.modulus(id).value())
        .min();
    let q = q.expect("a ring has primes");
    (0..count as u64).map(|i| row(ring.n(), q, i)).collect()
}

fn row(n: usize, q: u64, seed: u64) -> AlignedVec {
    let mut row = AlignedVec::zeroed(n);
    for (i, x) in row.iter_mut().enumerate() {
        *x = (i as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
    }
    row
}
