//! The search for levels of few primes: full primes, which levels have until they are dropped, and terminal primes,
//! which may come and go from level to level (Samardzic, Sanchez, BitPacker, 2024).

use std::collections::BTreeMap;

/// Largest bits of a full prime: slightly below the limit of the kernels.
pub(super) const PRIME_BITS: f64 = 49.9;

/// Least bits of any prime, so that there are primes that are 1 modulo `2^17`.
pub(super) const LEAST_BITS: f64 = 22.0;

/// Bits that a level may drop more than it must, if it changes only terminal primes.
const SLACK: f64 = 0.5;

/// Transforms that a limb adds to a relinearisation with as many special primes as a digit has.
const LIMB_COST: usize = 6;
/// Transforms that adding a terminal prime costs.
const ADDED_COST: usize = 2;

/// Largest number of full primes that one level has more than the next: two can replace both terminal primes.
const MOST_NEW: usize = 3;

/// Number of terminal primes of a set.
pub(super) const TERMINALS: usize = 2;

/// The primes that a level has beside those of the next level below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Number of full primes that the next level lacks.
    pub(super) new: usize,
    /// Bits of each of these full primes.
    pub(super) bits: f64,
    /// The level's terminal primes, a bit for each.
    pub(super) terminals: usize,
}

/// All levels above the last, with the lowest first.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    cost: usize,
    /// Bits of all full primes together.
    bits: f64,
}

/// The cheapest way to a level with given numbers of full and terminal primes.
#[derive(Clone, Copy)]
struct Best {
    cost: usize,
    bits: f64,
    /// The level below: its number of full primes and its terminal primes.
    below: (usize, usize),
    step: Step,
}

impl Plan {
    /// Returns the cheapest levels with terminal primes of these sizes, in which each level drops at least its entry of
    /// `drops`, the last level's first; `None` if there are none.
    pub(super) fn search(terminals: [f64; TERMINALS], drops: &[f64]) -> Option<Self> {
        let sum = |set: usize| -> f64 {
            let bits = terminals.iter().enumerate();
            bits.filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, b)| b)
                .sum()
        };
        let start = Best {
            cost: 0,
            bits: 0.0,
            below: (0, 0),
            step: Step {
                new: 0,
                bits: 0.0,
                terminals: 0,
            },
        };
        let mut levels = vec![BTreeMap::from([((0, 0), start)])];
        for &drop in drops {
            let mut next = BTreeMap::new();
            for (&(full, set), best) in levels.last()? {
                for to in 0..1 << TERMINALS {
                    let rest = drop - (sum(to) - sum(set));
                    let steps = (0..=MOST_NEW).filter_map(|new| step(rest, new, to));
                    for step in steps {
                        let found = best.then((full, set), step);
                        let entry = next.entry((full + step.new, to)).or_insert(found);
                        if found.is_better(entry) {
                            *entry = found;
                        }
                    }
                }
            }
            levels.push(next);
        }
        let ends = levels.last()?.iter();
        let (&end, best) = ends.reduce(|a, b| if b.1.is_better(a.1) { b } else { a })?;
        let mut steps = Vec::with_capacity(drops.len());
        let mut at = end;
        for level in levels[1..].iter().rev() {
            steps.push(level[&at].step);
            at = level[&at].below;
        }
        steps.reverse();
        Some(Self {
            steps,
            cost: best.cost,
            bits: best.bits + terminals.iter().sum::<f64>(),
        })
    }

    /// Returns whether the plan is cheaper, or equally cheap with fewer bits of full primes.
    pub(super) fn is_better(&self, other: &Self) -> bool {
        (self.cost, self.bits) < (other.cost, other.bits)
    }
}

/// Returns the step to a level whose `new` full primes and terminal primes have `rest` bits more than those of the
/// next.
fn step(rest: f64, new: usize, terminals: usize) -> Option<Step> {
    let bits = match new {
        0 => 0.0,
        _ => rest / new as f64,
    };
    let fits = match new {
        0 => (-SLACK..=0.0).contains(&rest),
        _ => (LEAST_BITS..=PRIME_BITS).contains(&bits),
    };
    fits.then_some(Step {
        new,
        bits,
        terminals,
    })
}

impl Best {
    fn then(&self, below: (usize, usize), step: Step) -> Self {
        let limbs = below.0 + step.new + step.terminals.count_ones() as usize;
        // Terminal primes that are missing here must be added on the way down.
        let added = (below.1 & !step.terminals).count_ones() as usize;
        Self {
            cost: self.cost + LIMB_COST * limbs + ADDED_COST * added,
            bits: self.bits + step.new as f64 * step.bits,
            below,
            step,
        }
    }

    fn is_better(&self, other: &Self) -> bool {
        (self.cost, self.bits) < (other.cost, other.bits)
    }
}
