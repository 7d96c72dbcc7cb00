//! The primes of a parameter set and the levels that they form.

use super::lower::{Lower, Supply};
use super::terminals::PRIME_BITS;
use super::{FrontEnd, RingsSpec};
use crate::ParamsError;
use omr_bgv::{Chain, RangePolynomial, fermat_depth};
use omr_compress::{Moduli, SUM_PRIME_BITS, SumsNoise};
use omr_ring::{Basis, Modulus, primes_below};
use omr_rlwe::KeyShape;
use omr_rlwe::noise::NoiseModel;
use std::collections::BTreeSet;

/// Bits of the special primes except the last; they are the largest primes below 2^50.
const SPECIAL_BITS: f64 = 49.99;

/// Least bits of the last special prime, so that several primes are 1 modulo 2n.
const LAST_SPECIAL_BITS: f64 = 25.0;

/// Bits by which the special primes of the baby step exceed a digit: the noise of its gadget is then near the floor,
/// with the least log2(PQ).
pub(super) const STEP_EXCESS: f64 = 3.0;

/// Bits by which a digit of the giant step may exceed its special primes: its noise is added to products with
/// diagonals, whose noise is far larger.
pub(super) const GIANT_SLACK: f64 = 28.0;

/// Bits by which the noise of distances is below the floor, with clues of honest senders. Strangers choose clues, but
/// not their order in the slots. An encoded diagonal is therefore random, with coefficients of variance at most p^2/4
/// (1.7 times the amplitude of random slots), and |.|^2 at an embedding is exponentially distributed. That raises the
/// probability of an escape by 5 % at most (`reference/squaring_tail.py`).
const HONEST_MARGIN: f64 = 3.0;

/// Value of `(level / sigma)^2` at which a chain of 28 squarings at one embedding escapes with probability 2^-41.6
/// (`reference/squaring_tail.py`).
const ESCAPE: f64 = 53.8;

/// Number of primes of the last level, which the small ring shares.
pub(super) const BASE_PRIMES: usize = 2;

/// The primes of a parameter set, by purpose. Their order in the ring is: top, special, lower levels.
pub(super) struct Primes {
    /// Primes that level 0 has in place of lower ones: distances are computed there.
    top: Vec<u64>,
    /// Special primes of key switching. The last one is smaller and used by the baby step only.
    special: Vec<u64>,
    /// Primes of level 1 and below.
    lower: Lower,
    /// Primes that the small ring adds up sums modulo.
    sums: Vec<u64>,
    /// Special primes of the baby step beside the last one.
    step_special: usize,
    giant_special: usize,
    product_special: usize,
    descent_special: usize,
}

/// Returns the bits that a level must drop above the root mean square floor, so that the chain of squarings overflows
/// at some embedding with probability 2^-40 a batch at most.
///
/// An accepted key (`Secret::fixed_weight`) escapes no more often than if one embedding had `bound` times the mean:
/// with probability 2^-41.6 for each of two coordinates. Hostile clues add 5 % to that.
pub fn tail_bits(bound: f64) -> f64 {
    (bound * ESCAPE).log2() / 2.0
}

impl Primes {
    /// Derives the primes of a set.
    ///
    /// Errors: `Ring` if there are not enough primes.
    pub(super) fn derive(spec: &RingsSpec, front: &FrontEnd) -> Result<Self, ParamsError> {
        let mut supply = Supply {
            n: spec.n,
            taken: vec![spec.p],
        };
        let Moduli {
            sum_primes,
            base_bits,
        } = compression_moduli(spec);
        let (drops, digits) = (&front.drops, spec.product_digits);
        let lower = if front.compact {
            Lower::compact(&mut supply, base_bits, drops, digits)?
        } else {
            Lower::plain(&mut supply, base_bits, drops, digits)?
        };
        let top_bits = lower.bits + front.noise + HONEST_MARGIN - spec.noise_model().floor();
        let least = (top_bits / PRIME_BITS).ceil() as usize;
        let of_digit = least.div_ceil(spec.rotation_digits);
        // All digits have as many primes and bits: the largest digit determines the special primes.
        let top = supply.take_runs(top_bits, of_digit, spec.rotation_digits)?;
        let digit_bits = top_bits / spec.rotation_digits as f64;
        let step_bits = digit_bits + STEP_EXCESS;
        let step_special = (step_bits / SPECIAL_BITS) as usize;
        let giant_special = specials(digit_bits - GIANT_SLACK);
        let product_special = product_special(&lower);
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
            sums: primes_below(SUM_PRIME_BITS, spec.small_n, sum_primes, &supply.taken)?,
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
            &self.sums,
        ]
        .concat()
    }

    pub(super) fn sum_primes(&self) -> usize {
        self.sums.len()
    }

    pub(super) fn chain(&self) -> Chain {
        let lower = self.lower.levels.iter().map(|level| self.lower(level));
        let chain = Chain::new([self.top_basis()].into_iter().chain(lower).collect());
        if self.lower.compact {
            chain.with_cuts()
        } else {
            chain
        }
    }

    /// Returns the basis of the primes at these places of the lower levels.
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

    /// Returns the gadgets of relinearisation keys with fewer special primes, each for all levels from some level on
    /// that need no more. There are none unless levels are compact ([`FrontEnd::compact`]).
    pub(super) fn lowered_shapes(&self, spec: &RingsSpec) -> Vec<KeyShape> {
        let (_, from) = self.lower.levels.split_last().expect("the last level");
        let more = spec.noise_model().lowered_key().max(0.0);
        let enough = |level: &[usize], count: usize| {
            let digit = self.lower.largest_digit(level) - HIDDEN + more;
            digit <= count as f64 * SPECIAL_BITS
        };
        let lowered = (1..LOWERED).rev().filter_map(|part| {
            let count = (self.product_special * part + 1) / LOWERED;
            // A key can be used at every level whose primes it has.
            let mut tails = (0..from.len()).map(|first| {
                from[first..]
                    .iter()
                    .flatten()
                    .copied()
                    .collect::<BTreeSet<usize>>()
            });
            let serves = |places: &BTreeSet<usize>| {
                let served = |level: &&Vec<usize>| level.iter().all(|place| places.contains(place));
                from.iter().filter(served).all(|level| enough(level, count))
            };
            let places: Vec<usize> = tails.find(serves)?.into_iter().collect();
            let (modulus, special) = (self.lower(&places), self.special(count));
            (count > 0).then(|| self.product_shape().lowered(&modulus, &special))
        });
        if self.lower.compact {
            lowered.collect()
        } else {
            Vec::new()
        }
    }
}

/// Bits by which the noise of a product that is rescaled at once exceeds that of a gadget with digits larger than its
/// special primes.
const HIDDEN: f64 = 20.0;

/// Number of relinearisation keys with compact levels, including the full one; key `i` has about `i / LOWERED` of its
/// special primes.
const LOWERED: usize = 3;

/// Returns the bits that the levels of SophOMR's range check drop: those of the window polynomial, the norm of two
/// coordinates and its Fermat power.
pub(super) fn window_drops(spec: &RingsSpec) -> Result<Vec<f64>, ParamsError> {
    let p = Modulus::new(spec.p).map_err(omr_ring::RingError::from)?;
    let window = RangePolynomial::new(&p, spec.range, spec.block).depth();
    let mut drops = vec![spec.level_bits(); window + 1 + fermat_depth(spec.p)];
    // At this level the norm is scaled back below the larger of the two squares.
    drops[window] += norm_growth_bits(&p);
    Ok(drops)
}

/// Returns the number of special primes that have at least this many bits together.
fn specials(bits: f64) -> usize {
    (bits / SPECIAL_BITS).ceil() as usize
}

/// Returns the number of special primes of relinearisation. A product is rescaled at once, so its own noise exceeds
/// that of a gadget with digits larger than P: always by 20 bits, and by 32 in the only product that has the whole
/// first digit.
fn product_special(lower: &Lower) -> usize {
    let bits = |place: &usize| (lower.primes[*place] as f64).log2();
    let mut needed = 0f64;
    for (i, digit) in lower.digits.iter().enumerate() {
        // With compact levels several products have the whole first digit.
        let hidden = if i == 0 && !lower.compact {
            32.0
        } else {
            HIDDEN
        };
        needed = needed.max(digit.iter().map(bits).sum::<f64>() - hidden);
    }
    specials(needed)
}

/// Returns the c of the norm `g1^2 + g1 g2 + c g2^2`: the least in absolute value for which the discriminant `1 - 4 c`
/// is no square modulo p, so that the norm is zero only if both arguments are.
pub(super) fn norm_constant(p: &Modulus) -> i64 {
    let half = (p.value() - 1) / 2;
    (1..)
        .flat_map(|c| [c, -c])
        .find(|c| p.pow(p.from_i64(1 - 4 * c), half) == p.value() - 1)
        .expect("half of all residues are no squares")
}

/// Returns an upper bound, in bits, of the norm divided by the square of the larger of its two arguments.
fn norm_growth_bits(p: &Modulus) -> f64 {
    (2.0 + norm_constant(p).abs() as f64).log2()
}

/// Returns the moduli of compression: that of the last level, and that of sums. They suit the largest number of merged
/// batches.
fn compression_moduli(spec: &RingsSpec) -> Moduli {
    let noise = SumsNoise {
        small: NoiseModel {
            n: spec.small_n,
            p: spec.p,
            weight: spec.small_n as f64 * 2.0 / 3.0,
        },
        classes: spec.n / spec.small_n,
    };
    let large = spec.noise_model().floor() - (spec.n as f64).log2() / 2.0;
    let batches = (spec.p as usize - 1) / spec.n;
    // Ten standard deviations, for the largest number of batches that add up and the worst payloads, of the 0.57 of a half
    // step that roundings leave.
    let tail = 4.14;
    let sign = 1.0;
    noise.moduli(large, batches, tail + sign)
}
