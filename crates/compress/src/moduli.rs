//! The sizes of the moduli of compression.

/// Bits that primes of sums have at most: products of two residues are added up in words of 64 bits.
pub const SUM_PRIME_BITS: u32 = 31;

/// Bits of the largest primes of [`SUM_PRIME_BITS`] that suit a ring.
const PRIME: f64 = 30.999;

/// The largest share of the variance of noise, as a power of two, that the switch to the modulus of sums may have.
const SHARE: f64 = -0.42;

/// Returns log2 of the mean number of key switches behind the images that sums of `width` exponents are made of: half of
/// them are turned 0 to `width / 2 - 1` times, and the others swapped once more.
pub fn turns_log2(width: usize) -> f64 {
    (width as f64 / 4.0).log2()
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
    pub fn new(floor: f64, constants: f64, growth: f64) -> Self {
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
