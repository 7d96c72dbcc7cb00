use super::{FinalRingSpec, ParamsError};
use omr_ring::NarrowGaussian;
use omr_rlwe::noise::{NoiseModel, convolve};

/// A parameter set as it is published, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Versioned name; a published set never changes.
    pub name: &'static str,
    /// Whether the set is for tests only.
    pub insecure: bool,
    /// Bits of security, the least over clue and keys.
    pub security_bits: f64,
    /// Plaintext modulus, also the modulus of clues.
    pub p: u64,
    /// Dimension of the large ring: messages in a batch.
    pub n: usize,
    /// Dimension of the small ring.
    pub small_n: usize,
    /// The ring of digests.
    pub final_ring: FinalRingSpec,
    /// Non-zero coefficients of the large ring's secret.
    pub weight: usize,
    /// Bound on `|s(zeta)|^2 / weight` for that secret (`Secret::fixed_weight`).
    pub embedding_bound: f64,
    /// Clues.
    pub clue: ClueSpec,
    /// Baby steps of the affine transform.
    pub baby: usize,
    /// Powers of Y in one block of the window polynomial.
    pub block: usize,
    /// Digits of the rotation keys.
    pub rotation_digits: usize,
    /// Digits of the relinearisation key.
    pub product_digits: usize,
}

/// Private signaling (SophOMR, section 3.1): ring LWE over `Z_p[X]/(X^n + 1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClueSpec {
    /// Ring dimension.
    pub n: usize,
    /// Weight of the ternary secret and of the sender's randomness.
    pub weight: usize,
    /// Parameter of the discrete Gaussian errors (0.5: true standard deviation 0.4637).
    pub sigma: f64,
    /// Coordinates of b.
    pub coordinates: usize,
    /// The window: pertinent when every coordinate of d lies in `[-range, range]`.
    pub range: u64,
}

const SOPHOMR_V2: ParamsSpec = ParamsSpec {
    name: "sophomr-v2",
    insecure: false,
    security_bits: 128.4,
    p: 786_433,
    n: 1 << 16,
    small_n: 1 << 13,
    final_ring: FinalRingSpec {
        n: 1 << 11,
        bodies: 8,
        modulus_bits: 50,
        digits: 2,
        digit_bits: 16,
    },
    weight: 4096,
    embedding_bound: 12.0,
    clue: ClueSpec {
        n: 1024,
        weight: 84,
        sigma: 0.5,
        coordinates: 2,
        range: 38,
    },
    baby: 64,
    block: 8,
    rotation_digits: 2,
    product_digits: 2,
};

const INSECURE_TINY_V2: ParamsSpec = ParamsSpec {
    name: "insecure-tiny-v2",
    insecure: true,
    security_bits: 0.0,
    n: 1 << 11,
    small_n: 1 << 8,
    final_ring: FinalRingSpec {
        n: 1 << 6,
        ..SOPHOMR_V2.final_ring
    },
    weight: 128,
    embedding_bound: 12.0,
    clue: ClueSpec {
        n: 64,
        weight: 16,
        sigma: 0.5,
        coordinates: 2,
        range: 38,
    },
    baby: 8,
    ..SOPHOMR_V2
};

impl ParamsSpec {
    /// Every published set, the default first.
    pub fn published() -> Vec<ParamsSpec> {
        vec![SOPHOMR_V2, INSECURE_TINY_V2]
    }

    pub(super) fn check(&self) -> Result<(), ParamsError> {
        let dimension = |ok: bool, expected, found| match ok {
            true => Ok(()),
            false => Err(ParamsError::Dimension { expected, found }),
        };
        let power = usize::is_power_of_two;
        dimension(
            power(self.n) && self.n <= 1 << 16,
            "a power of two up to 65536",
            self.n,
        )?;
        dimension(
            power(self.small_n) && self.small_n >= 64 && self.small_n <= self.n,
            "a power of two from 64 up to the large dimension",
            self.small_n,
        )?;
        dimension(
            power(self.clue.n) && 4 * self.clue.n <= self.n,
            "a power of two up to a quarter of the large dimension",
            self.clue.n,
        )?;
        dimension(
            power(self.baby) && self.baby <= self.clue.n,
            "a power of two up to the clue dimension",
            self.baby,
        )?;
        dimension(
            self.clue.coordinates == 2,
            "two clue coordinates",
            self.clue.coordinates,
        )?;
        dimension(power(self.block), "a power of two", self.block)?;
        self.final_ring.check(self.small_n)
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        NoiseModel {
            n: self.n,
            p: self.p,
            weight: self.weight as f64,
        }
    }

    /// log2 of the probability that an impertinent message passes the window.
    pub fn false_positive_log2(&self) -> f64 {
        let window = (2 * self.clue.range + 1) as f64;
        self.clue.coordinates as f64 * (window / self.p as f64).log2()
    }

    /// log2 of the probability that a pertinent message is missed: the noise of a coordinate is a
    /// sum of `2 weight + 1` independent errors (exact convolution, union bound).
    pub fn miss_log2(&self) -> f64 {
        let gaussian = NarrowGaussian::new(self.clue.sigma);
        let half = gaussian.probabilities();
        let error: Vec<f64> = half.iter().skip(1).rev().chain(half).copied().collect();
        let mut sum = vec![1.0];
        for _ in 0..2 * self.clue.weight + 1 {
            sum = convolve(&sum, &error);
        }
        let center = sum.len() / 2;
        let range = self.clue.range as usize;
        // Summed from the outside in: no cancellation near 2^-30.
        let tail: f64 = (0..center.saturating_sub(range))
            .map(|i| 2.0 * sum[i])
            .sum();
        (self.clue.coordinates as f64 * tail).log2()
    }
}
