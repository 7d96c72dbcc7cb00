//! The primes of a set, sized by the noise model.

use super::Spec;
use crate::{ParamsError, noise};
use omr_bgv::Chain;
use omr_compress::SUM_PRIME_BITS;
use omr_protocol::params::largest_log_pq;
use omr_ring::{Basis, primes_below, primes_near};
use omr_rlwe::KeyShape;

/// The bits that a product drops above the floor: half a bit for itself, another half for sums of two, and the rest to
/// keep the noise of six products one after another within two bits of the floor at all but the worst embeddings, and
/// within ten there.
const LEVEL_MARGIN: f64 = 2.6;

/// Largest special prime of products, in bits.
const LARGEST_SPECIAL_BITS: f64 = 49.9;

/// Universe order: special primes of products, of the descent, then the chain: the base first, then the drops, the last
/// dropped first.
pub(super) struct Primes<'a> {
    spec: &'a Spec,
    product_special: Vec<u64>,
    descent_special: Vec<u64>,
    lower: Vec<u64>,
    /// Primes of the small ring that sums are added up modulo.
    sums: Vec<u64>,
}

impl<'a> Primes<'a> {
    pub(super) fn derive(spec: &'a Spec) -> Result<Self, ParamsError> {
        let mut taken = vec![spec.p];
        let mut take = |bits: f64, count: usize| -> Result<Vec<u64>, ParamsError> {
            let found = primes_near(bits, spec.n, count, &taken)?;
            taken.extend(&found);
            Ok(found)
        };
        let floor = spec.noise_model().floor();
        let moduli = noise::moduli(spec);
        let leaf = noise::selected(spec) + 1.0 - floor;
        let level = floor + LEVEL_MARGIN;
        let mut lower = take(moduli.base_bits / spec.base_primes as f64, spec.base_primes)?;
        lower.extend(take(level, spec.depth)?);
        lower.extend(take(leaf, 1)?);
        let product_special = take(special_bits(spec, &lower), spec.product_special)?;
        let descent_special = primes_below(50, spec.n, spec.descent_special, &taken)?;
        let sums = primes_below(SUM_PRIME_BITS, spec.small_n, moduli.sum_primes, &taken)?;
        Ok(Self {
            spec,
            product_special,
            descent_special,
            lower,
            sums,
        })
    }

    pub(super) fn universe(&self) -> Vec<u64> {
        [
            &self.product_special[..],
            &self.descent_special,
            &self.lower,
        ]
        .concat()
    }

    pub(super) fn small_universe(&self) -> Vec<u64> {
        let base = &self.lower[..self.spec.base_primes];
        [base, &self.descent_special, &self.sums].concat()
    }

    pub(super) fn sum_primes(&self) -> usize {
        self.sums.len()
    }

    fn lower_from(&self) -> usize {
        self.product_special.len() + self.descent_special.len()
    }

    pub(super) fn chain(&self) -> Chain {
        let from = self.lower_from();
        let levels = (self.spec.base_primes..=self.lower.len()).rev();
        Chain::new(levels.map(|end| Basis::new(from..from + end)).collect())
    }

    pub(super) fn descent_special(&self) -> Basis {
        Basis::new(self.product_special.len()..self.lower_from())
    }

    /// Digits begin with what is dropped first, so that the base, whose primes are the largest, is alone where a
    /// digit is left over.
    pub(super) fn product_shape(&self) -> KeyShape {
        let from = self.lower_from();
        let all = Basis::new((from..from + self.lower.len()).rev());
        let digits = self.lower.len().div_ceil(self.spec.digit_primes);
        KeyShape::new(&all, digits, &Basis::new(0..self.product_special.len()))
    }
}

/// Bits of a special prime: as many as security leaves room for, but no more than a digit needs.
fn special_bits(spec: &Spec, lower: &[u64]) -> f64 {
    let bits: Vec<f64> = lower.iter().map(|&q| (q as f64).log2()).collect();
    let digits = bits.rchunks(spec.digit_primes);
    let needed = digits
        .map(|digit| digit.iter().sum::<f64>())
        .fold(0.0, f64::max);
    let count = spec.product_special as f64;
    // A little off: a prime lies above the size it is asked for.
    let room = largest_log_pq(spec.n, None) - bits.iter().sum::<f64>() - 0.01;
    let wanted = (needed + 1.0).min(LARGEST_SPECIAL_BITS * count);
    let all = if spec.insecure {
        wanted
    } else {
        wanted.min(room)
    };
    all / count
}
