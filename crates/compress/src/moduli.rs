//! The noise of compression, and the sizes of its moduli.

use crate::MAX_WIDTH;
use omr_rlwe::noise::{self, NoiseModel};

/// Bits that primes of sums have at most: products of two residues are added up in words of 64 bits.
pub const SUM_PRIME_BITS: u32 = 31;

/// Bits of the largest primes of [`SUM_PRIME_BITS`] that suit a ring.
const PRIME: f64 = 30.999;

/// The largest share of the variance of noise, as a power of two, that the switch to the modulus of sums may have.
const SHARE: f64 = -0.42;

/// The noise of compression. All noises here are log2 of the root mean square of one coefficient.
#[derive(Clone, Copy, Debug)]
pub struct SumsNoise {
    /// The model of the small ring.
    pub small: NoiseModel,
    /// The number of small ciphertexts that one large ciphertext becomes.
    pub classes: usize,
}

impl SumsNoise {
    /// Returns the noise that a switch of the modulus leaves.
    pub fn floor(&self) -> f64 {
        self.small.floor() - (self.small.n as f64).log2() / 2.0
    }

    /// Returns the noise of the small ciphertexts that constants of `width` exponents are multiplied with, made from
    /// large ciphertexts of noise `large`. A descent and every turn add a key switch, which leaves about the floor. Half
    /// of the images are turned 0 to `width / 2 - 1` times, and the others swapped once more: `width / 4` turns on
    /// average.
    pub fn images(&self, large: f64, width: usize) -> f64 {
        let turns = (width as f64 / 4.0).log2();
        let descended = noise::add(large, self.floor());
        noise::add(descended, self.floor() + turns / 2.0)
    }

    /// Returns the noise of a product with constants, summed over the classes, of small ciphertexts with noise `images`.
    pub fn constants(&self, images: f64) -> f64 {
        noise::sum(self.small.times_plain(images), self.classes)
    }

    /// Returns the bits by which noise grows in sums of products with symbols of the largest norm, which senders can
    /// choose, over all automorphisms, classes and `batches` batches.
    pub fn growth(&self, width: usize, batches: usize) -> f64 {
        let worst_symbol = 3f64.log2() / 2.0;
        let terms = width * self.classes * batches;
        noise::sum(self.small.times_plain(0.0) + worst_symbol, terms)
    }

    /// Returns the smallest moduli for sums of up to `batches` batches of large ciphertexts with noise `large`, which
    /// leave `margin` bits above the noise.
    pub fn moduli(&self, large: f64, batches: usize, margin: f64) -> Moduli {
        let constants = self.constants(self.images(large, MAX_WIDTH));
        let growth = self.growth(MAX_WIDTH, batches);
        Moduli::new(self.floor(), constants, growth + margin)
    }
}

/// The moduli of compression. Ciphertexts are multiplied with constants modulo a *base*; these products are switched to
/// a smaller modulus of many short primes, which sums are added up modulo, and sums are switched back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moduli {
    /// The number of primes of sums.
    pub sum_primes: usize,
    /// Bits of the base.
    pub base_bits: f64,
}

impl Moduli {
    /// Returns the smallest moduli. `floor` is the noise that a switch of the modulus leaves in a coefficient, `constants`
    /// that of a product with constants, and `growth` what the modulus exceeds either by: the growth of noise in sums,
    /// and a margin. All are in bits.
    fn new(floor: f64, constants: f64, growth: f64) -> Self {
        let sums = floor + growth;
        let sum_primes = ((sums - SHARE / 2.0) / PRIME).ceil();
        let share = (2.0 * (sums - PRIME * sum_primes)).exp2();
        Self {
            sum_primes: sum_primes as usize,
            base_bits: constants + growth - (1.0 - share).log2() / 2.0,
        }
    }

    /// Returns the bits of the modulus of sums.
    pub fn sum_bits(&self) -> f64 {
        PRIME * self.sum_primes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_noises_fit_both_moduli() {
        for (floor, constants, growth) in
            [(24.0, 50.7, 36.9), (24.0, 50.7, 37.97), (20.0, 21.0, 90.0)]
        {
            let moduli = Moduli::new(floor, constants, growth);
            let of_sums = floor + growth - PRIME * moduli.sum_primes as f64;
            let of_base = constants + growth - moduli.base_bits;
            let all = (2.0 * of_sums).exp2() + (2.0 * of_base).exp2();
            assert!((all - 1.0).abs() < 1e-9, "{moduli:?}: {all}");
            assert!(of_sums <= SHARE / 2.0);
            assert!(moduli.base_bits - (constants + growth) <= 1.1);
        }
    }
}
