//! What each operation does to the noise, in closed form.
//!
//! The *noise* of a ciphertext is `v = c0 + c1 s = m + p e` as an integer polynomial. Everything
//! below is log2 of the root mean square of `|v(zeta)|` over the complex embeddings, for random
//! inputs (average case). For a polynomial with independent coefficients of standard deviation
//! `sd`, that is `sd sqrt(n)`.

/// Dimension, plaintext modulus and secret of one ring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// Ring dimension.
    pub n: usize,
    /// Plaintext modulus.
    pub p: u64,
    /// Expected number of non-zero coefficients of the ternary secret.
    pub weight: f64,
}

/// Standard deviation of the centred binomial noise.
pub const ERROR_SD: f64 = 3.240_370_349_203_93;

impl NoiseModel {
    fn embed(&self) -> f64 {
        (self.n as f64).log2() / 2.0
    }

    fn p_bits(&self) -> f64 {
        (self.p as f64).log2()
    }

    /// A fresh secret-key encryption.
    pub fn fresh(&self) -> f64 {
        let uniform_message = 1.0 / 12.0;
        self.p_bits() + (ERROR_SD * ERROR_SD + uniform_message).log2() / 2.0 + self.embed()
    }

    /// The floor that modulus switching leaves: `p sqrt(n (1 + h) / 12)`.
    pub fn floor(&self) -> f64 {
        self.p_bits() + ((1.0 + self.weight) / 12.0).log2() / 2.0 + self.embed()
    }

    /// After dropping `bits` of modulus.
    pub fn switched(&self, noise: f64, bits: f64) -> f64 {
        add(noise - bits, self.floor())
    }

    /// The product with a plaintext of uniform slots: `p sqrt(n / 12)` at each embedding.
    pub fn times_plain(&self, noise: f64) -> f64 {
        noise + self.p_bits() - 12f64.log2() / 2.0 + self.embed()
    }

    /// The product with a scalar uniform modulo p.
    pub fn times_scalar(&self, noise: f64) -> f64 {
        noise + self.p_bits() - 12f64.log2() / 2.0
    }

    /// The product of two independent ciphertexts. Half a bit lies between the mean square at
    /// random masks and at a fixed secret's embeddings.
    pub fn product(&self, a: f64, b: f64) -> f64 {
        a + b + 0.5
    }

    /// The square of a ciphertext: the fourth moment of a complex Gaussian is twice the square of
    /// its second, and the secret's own embeddings add as much again.
    pub fn square(&self, a: f64) -> f64 {
        2.0 * a + 1.0
    }

    /// What key switching adds, after division by the special primes: `dnum` digits of
    /// `digit_bits`, special primes of `special_bits`.
    pub fn key_switch(&self, dnum: usize, digit_bits: f64, special_bits: f64) -> f64 {
        let gadget = self.p_bits()
            + ERROR_SD.log2()
            + (dnum as f64 / 12.0).log2() / 2.0
            + self.embed()
            + self.embed();
        add(gadget + digit_bits - special_bits, self.floor())
    }
}

/// The sum of independent noises: log2 of `sqrt(2^2a + 2^2b)`.
pub fn add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    high + (1.0 + (2.0 * (low - high)).exp2()).log2() / 2.0
}

/// The sum of `count` independent noises.
pub fn sum(noise: f64, count: usize) -> f64 {
    noise + (count as f64).log2() / 2.0
}
