//! The primes of a set, and the levels that they make.

use super::lower::{Lower, Supply};
use super::terminals::PRIME_BITS;
use super::{FrontEnd, RingsSpec};
use crate::ParamsError;
use omr_bgv::{Chain, RangePolynomial, fermat_depth};
use omr_ring::{Basis, Modulus, primes_below};
use omr_rlwe::KeyShape;
use omr_rlwe::noise::{self, NoiseModel};
use std::collections::BTreeSet;

/// Size of the special primes but the last: the largest below 2^50.
const SPECIAL_BITS: f64 = 49.99;

/// Least size of the last special prime: enough for several that are 1 modulo 2n.
const LAST_SPECIAL_BITS: f64 = 25.0;

/// By how much the special primes of the baby step exceed a digit: its gadget noise is then near
/// the floor, and log2(PQ) as small as it can be.
pub(super) const STEP_EXCESS: f64 = 3.0;

/// By how much a digit of the giant step may exceed its special primes: the products with
/// diagonals, to which its noise is added, are far above.
pub(super) const GIANT_SLACK: f64 = 28.0;

/// By how much the noise of distances is to lie below the floor, with clues of honest senders.
/// Strangers choose clues, but not the order in which slots hold them: an encoded diagonal is then
/// random, with coefficients of variance at most p^2/4 (1.7 times the amplitude of random slots),
/// and exponential |.|^2 at an embedding. That raises the probability of an escape by 5 % at most
/// (`reference/squaring_tail.py`).
const HONEST_MARGIN: f64 = 3.0;

/// `(level / sigma)^2` at which a chain of 28 squarings at one embedding escapes with probability
/// 2^-41.6 (`reference/squaring_tail.py`).
const ESCAPE: f64 = 53.8;

/// Primes of the last level, which the small ring shares.
pub(super) const BASE_PRIMES: usize = 2;

/// The primes of a parameter set, by purpose. Universe order: top, special, then the chain.
pub(super) struct Primes {
    /// Level 0: how distances are made.
    top: Vec<u64>,
    /// Special primes of key switching. The last one is smaller and serves the baby step alone.
    special: Vec<u64>,
    /// Levels 1 and below.
    lower: Lower,
    /// Besides the last one.
    step_special: usize,
    giant_special: usize,
    product_special: usize,
    descent_special: usize,
}

/// Bits that a level must drop above the root mean square floor, so that the squaring chain
/// explodes at no embedding but with probability 2^-40 a batch.
///
/// Every key that is accepted escapes no likelier than at one embedding with `bound` times the mean
/// (`Secret::fixed_weight`): 2^-41.6 for each of two coordinates. Hostile clues add 5 % to that.
pub fn tail_bits(bound: f64) -> f64 {
    (bound * ESCAPE).log2() / 2.0
}

impl Primes {
    /// The primes of a set.
    ///
    /// Errors: `Ring` where there are not enough primes.
    pub(super) fn derive(spec: &RingsSpec, front: &FrontEnd) -> Result<Self, ParamsError> {
        let mut supply = Supply {
            n: spec.n,
            taken: vec![spec.p],
        };
        let base_bits = compression_bits(spec);
        let (drops, digits) = (&front.drops, spec.product_digits);
        let lower = if front.compact {
            Lower::compact(&mut supply, base_bits, drops, digits)?
        } else {
            Lower::plain(&mut supply, base_bits, drops, digits)?
        };
        let top_bits = lower.bits + front.noise + HONEST_MARGIN - spec.noise_model().floor();
        let least = (top_bits / PRIME_BITS).ceil() as usize;
        let count = if front.compact {
            // Digits of as many primes each: the largest one decides on the special primes.
            least.next_multiple_of(spec.rotation_digits)
        } else {
            least
        };
        let top = supply.take(top_bits / count as f64, count)?;
        let digit_bits = top_bits / count as f64 * count.div_ceil(spec.rotation_digits) as f64;
        let step_bits = digit_bits + STEP_EXCESS;
        let step_special = (step_bits / SPECIAL_BITS) as usize;
        let giant_special = specials(digit_bits - GIANT_SLACK);
        let product_special = product_special(&lower, front.compact);
        let descent_special = specials(base_bits + 4.5);
        let most = [
            step_special,
            giant_special,
            product_special,
            descent_special,
        ];
        let count = most.into_iter().max().expect("four counts");
        let mut special = primes_below(50, spec.n, count, &supply.taken)?;
        supply.taken.extend(&special);
        let rest = step_bits - step_special as f64 * SPECIAL_BITS;
        special.extend(supply.take(rest.max(LAST_SPECIAL_BITS), 1)?);
        Ok(Self {
            top,
            special,
            lower,
            step_special,
            giant_special,
            product_special,
            descent_special,
        })
    }

    pub(super) fn universe(&self) -> Vec<u64> {
        [&self.top[..], &self.special, &self.lower.primes].concat()
    }

    pub(super) fn small_universe(&self) -> Vec<u64> {
        [
            &self.lower.primes[..BASE_PRIMES],
            &self.special[..self.descent_special],
        ]
        .concat()
    }

    pub(super) fn chain(&self) -> Chain {
        let lower = self.lower.levels.iter().map(|level| self.lower(level));
        let chain = Chain::new([self.top_basis()].into_iter().chain(lower).collect());
        if self.lower.cuts {
            chain.with_cuts()
        } else {
            chain
        }
    }

    /// The lower levels' primes at these places.
    fn lower(&self, places: &[usize]) -> Basis {
        let from = self.top.len() + self.special.len();
        Basis::new(places.iter().map(|place| from + place))
    }

    fn special(&self, count: usize) -> Basis {
        Basis::new(self.top.len()..self.top.len() + count)
    }

    pub(super) fn descent_special(&self) -> Basis {
        self.special(self.descent_special)
    }

    pub(super) fn step_shape(&self, spec: &RingsSpec) -> KeyShape {
        let last = self.top.len() + self.special.len() - 1;
        let special = self.special(self.step_special).union(&Basis::new([last]));
        KeyShape::new(&self.top_basis(), spec.rotation_digits, &special)
    }

    pub(super) fn giant_shape(&self, spec: &RingsSpec) -> KeyShape {
        let special = self.special(self.giant_special);
        KeyShape::new(&self.top_basis(), spec.rotation_digits, &special)
    }

    fn top_basis(&self) -> Basis {
        Basis::new(0..self.top.len())
    }

    pub(super) fn product_shape(&self) -> KeyShape {
        let digits = self.lower.digits.iter();
        KeyShape::of_digits(
            digits.map(|digit| self.lower(digit)).collect(),
            &self.special(self.product_special),
        )
    }

    /// Gadgets of keys of fewer special primes, each for all levels from one on that need no more: none where older
    /// sets' digests are made without.
    pub(super) fn lowered_shapes(&self, spec: &RingsSpec) -> Vec<KeyShape> {
        let (_, from) = self.lower.levels.split_last().expect("the last level");
        let more = spec.noise_model().lowered_key().max(0.0);
        let enough = |level: &[usize], count: usize| {
            let digit = self.lower.largest_digit(level) - HIDDEN + more;
            digit <= count as f64 * SPECIAL_BITS
        };
        let lowered = (1..LOWERED).rev().filter_map(|part| {
            let count = (self.product_special * part + 1) / LOWERED;
            // A key serves every level that it has the primes of.
            let mut places = (0..from.len()).map(|first| {
                let places: BTreeSet<usize> = from[first..].iter().flatten().copied().collect();
                places
            });
            let serves = |places: &BTreeSet<usize>| {
                let served = |level: &&Vec<usize>| level.iter().all(|place| places.contains(place));
                from.iter().filter(served).all(|level| enough(level, count))
            };
            let places: Vec<usize> = places.find(serves)?.into_iter().collect();
            let (modulus, special) = (self.lower(&places), self.special(count));
            (count > 0).then(|| self.product_shape().lowered(&modulus, &special))
        });
        if self.lower.cuts {
            lowered.collect()
        } else {
            Vec::new()
        }
    }
}

/// By how many bits the noise of a product hides that of a gadget larger than its special primes, when it is rescaled
/// at once.
const HIDDEN: f64 = 20.0;

/// Keys that are made from the relinearisation key where levels are of few primes: of so many parts of its special
/// primes less one.
const LOWERED: usize = 3;

/// What the levels of SophOMR's range check drop: those of the window polynomial, the norm of two coordinates and
/// its Fermat power.
pub(super) fn window_drops(spec: &RingsSpec) -> Result<Vec<f64>, ParamsError> {
    let p = Modulus::new(spec.p).map_err(omr_ring::RingError::from)?;
    let window = RangePolynomial::new(&p, spec.range, spec.block).depth();
    let mut drops = vec![spec.level_bits(); window + 1 + fermat_depth(spec.p)];
    // Here the norm is scaled back below the larger of the squares it comes from.
    drops[window] += norm_growth_bits(&p);
    Ok(drops)
}

/// How many special primes make up at least this many bits.
fn specials(bits: f64) -> usize {
    (bits / SPECIAL_BITS).ceil() as usize
}

/// Special primes of relinearisation. A product is rescaled at once, so that its own noise hides
/// that of a gadget larger than P: by 20 bits always, by 32 in the one product that still meets
/// the whole first digit.
fn product_special(lower: &Lower, compact: bool) -> usize {
    let bits = |place: &usize| (lower.primes[*place] as f64).log2();
    let mut needed = 0f64;
    for (i, digit) in lower.digits.iter().enumerate() {
        // Of terminal primes, some products more meet the whole first digit.
        let hidden = if i == 0 && !compact { 32.0 } else { HIDDEN };
        needed = needed.max(digit.iter().map(bits).sum::<f64>() - hidden);
    }
    specials(needed)
}

/// The c of the norm `g1^2 + g1 g2 + c g2^2`: the least in absolute value whose discriminant
/// `1 - 4 c` is no square modulo p, so that the norm vanishes only where both do.
pub(super) fn norm_constant(p: &Modulus) -> i64 {
    let half = (p.value() - 1) / 2;
    (1..)
        .flat_map(|c| [c, -c])
        .find(|c| p.pow(p.from_i64(1 - 4 * c), half) == p.value() - 1)
        .expect("half of all residues are no squares")
}

/// The norm over the square of the larger of its two arguments, in bits, at most.
fn norm_growth_bits(p: &Modulus) -> f64 {
    (2.0 + norm_constant(p).abs() as f64).log2()
}

/// Modulus of the last level: what compression needs, for the most merged batches.
fn compression_bits(spec: &RingsSpec) -> f64 {
    let small = NoiseModel {
        n: spec.small_n,
        p: spec.p,
        weight: spec.small_n as f64 * 2.0 / 3.0,
    };
    let embed = (spec.small_n as f64).log2() / 2.0;
    let classes = spec.n / spec.small_n;
    // Noise of one coefficient: constants, payloads (largest norm, not the mean: senders choose
    // them), all automorphisms and classes, merged batches, packing.
    let start = noise::add(
        spec.noise_model().floor() - (spec.n as f64).log2() / 2.0,
        small.floor() - embed,
    );
    let constants = noise::sum(small.times_plain(start), classes);
    let worst_payload = 3f64.log2() / 2.0;
    let batches = (spec.p as usize - 1) / spec.n;
    let compressed = |width: usize| {
        let terms = width * classes * batches;
        let packing = (spec.small_n / width) as f64;
        noise::sum(small.times_plain(constants) + worst_payload, terms) + packing.log2()
    };
    // 14 standard deviations for one batch, 10 for the most that add up.
    let tail = 4.5;
    let sign = 1.0;
    compressed(16).max(compressed(64)) + tail + sign
}
