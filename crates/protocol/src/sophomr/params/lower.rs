//! The primes of the levels below the distances, and the digits of their relinearisation key.

use super::chain::BASE_PRIMES;
use super::terminals::{LEAST_BITS, PRIME_BITS, Plan, TERMINALS};
use omr_ring::{RingError, primes_below, primes_near};

/// Distance in bits of the sizes of a terminal prime that the search tries.
const TRIED_BITS: f64 = 0.5;

/// The primes of the levels below the distances.
pub(super) struct Lower {
    /// The primes, with those of the last level first.
    pub(super) primes: Vec<u64>,
    /// For each level, the first level first, the places of its primes in `primes`.
    pub(super) levels: Vec<Vec<usize>>,
    /// For each digit, the places of its primes in `primes`. The digit whose primes are dropped first comes first.
    pub(super) digits: Vec<Vec<usize>>,
    /// Bits of the first level's modulus.
    pub(super) bits: f64,
    /// Whether levels have few, nearly full primes and terminal ones. Ciphertexts at the noise floor are then cut
    /// ([`Chain::with_cuts`](omr_bgv::Chain::with_cuts)).
    pub(super) compact: bool,
}

/// A source of primes that are 1 modulo 2n. It returns each prime once.
pub(super) struct Supply {
    pub(super) n: usize,
    pub(super) taken: Vec<u64>,
}

impl Supply {
    /// Takes `count` primes of this number of bits, or slightly more.
    ///
    /// Errors: if there are not enough primes.
    pub(super) fn take(&mut self, bits: f64, count: usize) -> Result<Vec<u64>, RingError> {
        let found = primes_near(bits, self.n, count, &self.taken)?;
        self.taken.extend(&found);
        Ok(found)
    }

    /// Takes `runs` equal runs of primes that have `bits` bits in all, or slightly more. Keys hold residues in whole
    /// bits, so a run has as many primes of the next lower whole number of bits as it can have.
    ///
    /// Errors: if there are not enough primes.
    pub(super) fn take_runs(
        &mut self,
        bits: f64,
        len: usize,
        runs: usize,
    ) -> Result<Vec<u64>, RingError> {
        let of_run = bits / runs as f64;
        let short = (of_run / len as f64).floor();
        // Primes below a power of two miss it by less than this, all together.
        let left = of_run - short * len as f64 + 0.001;
        let longer = (left.ceil() as usize).min(len);
        let bits_of_longer = short + left / longer as f64;
        let mut found = Vec::with_capacity(runs * len);
        for _ in 0..runs {
            found.extend(self.take(bits_of_longer, longer)?);
            let others = primes_below(short as u32, self.n, len - longer, &self.taken)?;
            self.taken.extend(&others);
            found.extend(others);
        }
        Ok(found)
    }
}

impl Lower {
    /// Returns the bits of the largest digit of a ciphertext over the primes of a level.
    pub(super) fn largest_digit(&self, level: &[usize]) -> f64 {
        let size = |place: &&usize| (self.primes[**place] as f64).log2();
        let bits = |digit: &Vec<usize>| -> f64 {
            let own = digit.iter().filter(|place| level.contains(place));
            own.map(|place| size(&place)).sum()
        };
        self.digits.iter().map(bits).fold(0.0, f64::max)
    }

    /// Makes levels that drop one prime each, above a last level of `base_bits`.
    ///
    /// Errors: if there are not enough primes.
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
            compact: false,
            primes,
        })
    }

    /// Makes levels of few primes, nearly all of them full, that drop at least the given bits. Terminal primes fill the
    /// difference to a product of full ones. Where no such levels exist, the levels are plain.
    ///
    /// Errors: if there are not enough primes.
    pub(super) fn compact(
        supply: &mut Supply,
        base_bits: f64,
        drops: &[f64],
        digits: usize,
    ) -> Result<Self, RingError> {
        let upwards: Vec<f64> = drops.iter().rev().copied().collect();
        let base = supply.take(base_bits / BASE_PRIMES as f64, BASE_PRIMES)?;
        let Some((terminals, plan)) = best(supply, &upwards) else {
            // No prime has the size of some drop.
            supply.taken.retain(|q| !base.contains(q));
            return Self::plain(supply, base_bits, drops, digits);
        };
        supply.taken.extend(terminals);
        let mut primes = base;
        // The place of each terminal prime that some level has.
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
            compact: true,
            levels,
            primes,
        })
    }
}

/// Returns the terminal primes with the cheapest levels: one of the size that most levels drop, and one of any size.
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
        let Some(plan) = Plan::search(terminals.map(|q| (q as f64).log2()), upwards) else {
            continue;
        };
        let is_better = match &best {
            Some((_, best_plan)) => plan.is_better(best_plan),
            None => true,
        };
        if is_better {
            best = Some((terminals, plan));
        }
    }
    best
}

/// Returns digits of nearly equal size, with the last primes first.
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
