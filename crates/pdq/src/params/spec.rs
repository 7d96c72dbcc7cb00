//! A parameter set as it is written down, before it is checked.

use crate::ParamsError;
use omr_protocol::Mismatch;
use omr_rlwe::noise::NoiseModel;

/// A parameter set as it is written down. Secrets are uniform ternary in all rings.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Versioned name.
    pub name: &'static str,
    /// Whether security is far below 128 bits, for tests.
    pub insecure: bool,
    /// Dimension of the large ring, the number of rows of a block.
    pub n: usize,
    /// Plaintext modulus, 1 modulo 2n; rows that share an answer's sums are fewer.
    pub p: u64,
    /// Products that may follow one another.
    pub depth: usize,
    /// Dimension of the small ring.
    pub small_n: usize,
    /// Primes of the last level, which the small ring shares.
    pub base_primes: usize,
    /// Bits of flooding noise that the last level has room for (two-sided privacy); 0: none.
    pub flooding_bits: u32,
    /// Primes in a digit of relinearisation and expansion.
    pub digit_primes: usize,
    /// Special primes of these.
    pub product_special: usize,
    /// Digits of the keys to and in the small ring.
    pub descent_digits: usize,
    /// Special primes of these.
    pub descent_special: usize,
    /// Dimension of the ring of answers.
    pub final_n: usize,
}

/// Rows of a block: 16,384. 72 blocks share an answer's sums.
const PDQ_V1: Spec = Spec {
    name: "pdq-v1",
    insecure: false,
    n: 1 << 14,
    p: 1_179_649,
    depth: 6,
    small_n: 1 << 13,
    base_primes: 2,
    flooding_bits: 0,
    digit_primes: 2,
    product_special: 2,
    descent_digits: 1,
    descent_special: 2,
    final_n: 1 << 11,
};

/// The parameters of `pdq-v1` with room for flooding noise.
const PDQ_PRIVATE_V1: Spec = Spec {
    name: "pdq-two-sided-v1",
    depth: 5,
    base_primes: 3,
    flooding_bits: 50,
    digit_primes: 1,
    product_special: 1,
    descent_digits: 3,
    descent_special: 1,
    ..PDQ_V1
};

/// Deeper circuits on blocks of 32,768 rows: patterns with a part that may stand anywhere, many conditions.
const PDQ_DEEP_V1: Spec = Spec {
    name: "pdq-deep-v1",
    n: 1 << 15,
    depth: 14,
    base_primes: 3,
    digit_primes: 4,
    product_special: 3,
    ..PDQ_V1
};

/// For tests: no security at all.
const INSECURE_TINY_DEEP: Spec = Spec {
    name: "insecure-tiny-pdq-deep-v1",
    insecure: true,
    n: 1 << 10,
    small_n: 1 << 9,
    final_n: 1 << 7,
    ..PDQ_DEEP_V1
};

/// For tests: no security at all.
const INSECURE_TINY: Spec = Spec {
    name: "insecure-tiny-pdq-v1",
    insecure: true,
    n: 1 << 10,
    small_n: 1 << 9,
    final_n: 1 << 7,
    ..PDQ_V1
};

/// An insecure set, for tests of two-sided privacy.
const INSECURE_TINY_PRIVATE: Spec = Spec {
    name: "insecure-tiny-pdq-two-sided-v1",
    insecure: true,
    n: 1 << 10,
    small_n: 1 << 9,
    final_n: 1 << 7,
    ..PDQ_PRIVATE_V1
};

impl Spec {
    /// All sets.
    pub const ALL: [Spec; 6] = [
        PDQ_V1,
        PDQ_DEEP_V1,
        PDQ_PRIVATE_V1,
        INSECURE_TINY,
        INSECURE_TINY_DEEP,
        INSECURE_TINY_PRIVATE,
    ];

    /// The set of this name. Errors: `Unknown`.
    pub fn named(name: &str) -> Result<Self, ParamsError> {
        let found = Self::ALL.into_iter().find(|spec| spec.name == name);
        found.ok_or_else(|| {
            ParamsError::Unknown(Mismatch::new(
                Self::ALL.map(|spec| spec.name).join(", "),
                name.to_owned(),
            ))
        })
    }

    /// The noise model of the large ring.
    pub fn noise_model(&self) -> NoiseModel {
        model(self.n, self.p)
    }

    /// The noise model of the small ring.
    pub fn small_noise_model(&self) -> NoiseModel {
        model(self.small_n, self.p)
    }
}

fn model(n: usize, p: u64) -> NoiseModel {
    NoiseModel {
        n,
        p,
        weight: n as f64 * 2.0 / 3.0,
    }
}
