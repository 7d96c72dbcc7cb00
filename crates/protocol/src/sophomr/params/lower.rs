//! The primes of the levels below the affine transform, and the digits of their relinearisation key.

use super::chain::BASE_PRIMES;
use super::terminals::{LEAST_BITS, PRIME_BITS, Plan, TERMINALS};
use omr_ring::{RingError, primes_near};

/// Sizes of a terminal prime that are tried, apart.
const TRIED_BITS: f64 = 0.5;

/// The primes of the levels below the affine transform.
pub(super) struct Lower {
    /// Those of the last level first.
    pub(super) primes: Vec<u64>,
    /// Places in `primes`, for each level, the first level first.
    pub(super) levels: Vec<Vec<usize>>,
    /// Places in `primes`, for each digit: that of the primes that are dropped first comes first.
    pub(super) digits: Vec<Vec<usize>>,
    /// Size of the first level's modulus.
    pub(super) bits: f64,
    /// Whether ciphertexts at the noise floor are cut.
    pub(super) cuts: bool,
}

/// Primes that are 1 modulo 2n, each once.
pub(super) struct Supply {
    pub(super) n: usize,
    pub(super) taken: Vec<u64>,
}

impl Supply {
    /// So many primes of a size, or little above.
    ///
    /// Errors: where there are not enough.
    pub(super) fn take(&mut self, bits: f64, count: usize) -> Result<Vec<u64>, RingError> {
        let found = primes_near(bits, self.n, count, &self.taken)?;
        self.taken.extend(&found);
        Ok(found)
    }
}

impl Lower {
    /// Bits of the largest digit of a ciphertext over these primes.
    pub(super) fn largest_digit(&self, level: &[usize]) -> f64 {
        let size = |place: &&usize| (self.primes[**place] as f64).log2();
        let bits = |digit: &Vec<usize>| -> f64 {
            let own = digit.iter().filter(|place| level.contains(place));
            own.map(|place| size(&place)).sum()
        };
        self.digits.iter().map(bits).fold(0.0, f64::max)
    }

    /// Levels that drop a prime each, above a last one of `base_bits`.
    ///
    /// Errors: where there are not enough primes.
    pub(super) fn plain(
        supply: &mut Supply,
        base_bits: f64,
        drops: &[f64],
        digits: usize,
    ) -> Result<Self, RingError> {
        let mut primes = supply.take(base_bits / BASE_PRIMES as f64, BASE_PRIMES)?;
        for &bits in drops.iter().rev() {
            primes.extend(supply.take(bits, 1)?);
        }
        let size = primes.len().div_ceil(digits);
        let places: Vec<usize> = (0..primes.len()).rev().collect();
        let level = |end| (0..end).collect();
        Ok(Self {
            levels: (BASE_PRIMES..=primes.len()).rev().map(level).collect(),
            digits: places.chunks(size).map(<[usize]>::to_vec).collect(),
            bits: base_bits + drops.iter().sum::<f64>(),
            cuts: false,
            primes,
        })
    }

    /// Levels of few primes, nearly all of them full, that drop at least as much: terminal primes make up what a
    /// product of full ones is too large for.
    ///
    /// Errors: where there are not enough primes.
    pub(super) fn compact(
        supply: &mut Supply,
        base_bits: f64,
        drops: &[f64],
        digits: usize,
    ) -> Result<Self, RingError> {
        let upwards: Vec<f64> = drops.iter().rev().copied().collect();
        let base = supply.take(base_bits / BASE_PRIMES as f64, BASE_PRIMES)?;
        let Some((terminals, plan)) = best(supply, &upwards) else {
            // Drops that no prime has the size of.
            supply.taken.retain(|q| !base.contains(q));
            return Self::plain(supply, base_bits, drops, digits);
        };
        supply.taken.extend(terminals);
        let mut primes = base;
        // Where each terminal prime is, if any level has it.
        let places = [0, 1].map(|i| {
            let used = plan.steps.iter().any(|step| step.terminals >> i & 1 == 1);
            used.then(|| {
                primes.push(terminals[i]);
                primes.len() - 1
            })
        });
        let first_full = primes.len();
        let mut levels: Vec<Vec<usize>> = vec![(0..BASE_PRIMES).collect()];
        for step in &plan.steps {
            primes.extend(supply.take(step.bits, step.new)?);
            let has = |i: &usize| step.terminals >> i & 1 == 1;
            let terminals = (0..TERMINALS).filter(has).filter_map(|i| places[i]);
            let level = (0..BASE_PRIMES).chain(terminals);
            levels.push(level.chain(first_full..primes.len()).collect());
        }
        levels.reverse();
        let size = |&place: &usize| (primes[place] as f64).log2();
        Ok(Self {
            bits: levels[0].iter().map(size).sum(),
            digits: balanced(&primes, digits),
            cuts: true,
            levels,
            primes,
        })
    }
}

/// The terminal primes that make levels cheapest: one of the size that most levels drop, the other of any.
fn best(supply: &Supply, upwards: &[f64]) -> Option<([u64; TERMINALS], Plan)> {
    let mut sorted = upwards.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let usual = *sorted.get(sorted.len() / 2)?;
    let first = *primes_near(usual, supply.n, 1, &supply.taken)
        .ok()?
        .first()?;
    let taken = [&supply.taken[..], &[first]].concat();
    let count = ((PRIME_BITS - LEAST_BITS) / TRIED_BITS) as usize;
    let grid = (0..=count).map(|i| LEAST_BITS + TRIED_BITS * i as f64);
    let mut best: Option<([u64; TERMINALS], Plan)> = None;
    for bits in [usual].into_iter().chain(grid) {
        let Some(&second) = primes_near(bits, supply.n, 1, &taken)
            .iter()
            .flatten()
            .next()
        else {
            continue;
        };
        let terminals = [first, second];
        let plan = Plan::search(terminals.map(|q| (q as f64).log2()), upwards);
        let better = |plan: &Plan| best.as_ref().is_none_or(|(_, best)| plan.is_better(best));
        if let Some(plan) = plan.filter(better) {
            best = Some((terminals, plan));
        }
    }
    best
}

/// Digits of nearly equal size, the last primes first.
fn balanced(primes: &[u64], digits: usize) -> Vec<Vec<usize>> {
    let size = |q: u64| (q as f64).log2();
    let all: f64 = primes.iter().map(|&q| size(q)).sum();
    let mut out = vec![Vec::new(); digits];
    let mut before = 0.0;
    for (place, &q) in primes.iter().enumerate().rev() {
        let middle = before + size(q) / 2.0;
        out[(digits as f64 * middle / all) as usize].push(place);
        before += size(q);
    }
    out.retain(|digit| !digit.is_empty());
    out
}
