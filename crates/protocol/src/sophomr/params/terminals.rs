//! The search for levels of few primes: full ones, which stay until they are dropped, and terminal ones, which come
//! and go from level to level (Samardzic, Sanchez, BitPacker, 2024).

use std::collections::BTreeMap;

/// Largest size of a full prime: one bit below what the kernels take.
pub(super) const PRIME_BITS: f64 = 49.9;

/// Least size of any prime: there are some that are 1 modulo `2^17`.
pub(super) const LEAST_BITS: f64 = 22.0;

/// By how much a level may drop more than it has to, where it does so by terminal primes alone.
const SLACK: f64 = 0.5;

/// Transforms that a limb costs a relinearisation whose special primes are as many as a digit's, and that a prime
/// which comes costs: results alone.
const LIMB_COST: usize = 6;
const ADDED_COST: usize = 2;

/// Full primes that one level may have more than the next: two take the places of both terminal primes.
const MOST_NEW: usize = 3;

/// Terminal primes, by their places in a set.
pub(super) const TERMINALS: usize = 2;

/// The primes of a level beside those of the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Full primes that the next level lacks.
    pub(super) new: usize,
    /// Their size.
    pub(super) bits: f64,
    /// Which terminal primes it has, a bit for each.
    pub(super) terminals: usize,
}

/// All levels above the last, which is the first to be stated.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    cost: usize,
    /// Of all full primes.
    bits: f64,
}

/// The best way to a level of some full primes and terminal ones.
#[derive(Clone, Copy)]
struct Best {
    cost: usize,
    bits: f64,
    /// The level below, and the step from it.
    below: (usize, usize),
    step: Step,
}

impl Plan {
    /// The levels of least cost with terminal primes of these sizes, where each drops at least its share of `drops`,
    /// the last level's first; `None` where there are none.
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

    /// Cheaper, or as cheap with fewer bits in all.
    pub(super) fn is_better(&self, other: &Self) -> bool {
        (self.cost, self.bits) < (other.cost, other.bits)
    }
}

/// A level whose full primes, `new` of them, and terminal primes have `rest` bits more than those of the next.
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
        // Those that are missing here come on the way down.
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
