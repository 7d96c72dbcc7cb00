//! The noise of the results of each operation, in closed form.
//!
//! The *noise* of a ciphertext is `v = c0 + c1 s = m + p e` as an integer polynomial. Everything
//! below is log2 of the root mean square of `|v(zeta)|` over the complex embeddings, for random
//! inputs (average case). For a polynomial with independent coefficients of standard deviation
//! `sd`, that is `sd sqrt(n)`. The tests hold each formula to 0.1 bit of the measured noise. The worst embedding in a
//! chain of squarings grows faster: see `reference/squaring_tail.py`.

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

    /// A fresh public-key encryption, `m + p (e u + e1 + e2 s)` with `u` uniform ternary:
    /// `p sd sqrt(n (1 + 2n/3 + h))` beside the message.
    pub fn fresh_public(&self) -> f64 {
        let blind = self.n as f64 * 2.0 / 3.0;
        let noise = ERROR_SD * ERROR_SD * (1.0 + blind + self.weight);
        self.p_bits() + (noise + 1.0 / 12.0).log2() / 2.0 + self.embed()
    }

    /// The floor that modulus switching leaves: `p sqrt(n (1 + h) / 12)`.
    pub fn floor(&self) -> f64 {
        self.p_bits() + ((1.0 + self.weight) / 12.0).log2() / 2.0 + self.embed()
    }

    /// The noise after a modulus switch that drops `bits` of the modulus.
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

    /// The product of two independent ciphertexts at the floor, before relinearisation.
    ///
    /// Both are `p (e0 + e1 s)`: at an embedding of the one fixed secret, their mean squares share
    /// the factor `1 + |s(zeta)|^2`. That is close to exponential over the embeddings, so the mean
    /// of its square is twice the square of its mean: half a bit. Noise that does not contain the
    /// secret (fresh from the secret key) multiplies without it.
    pub fn product(&self, a: f64, b: f64) -> f64 {
        a + b + 0.5
    }

    /// The square of a ciphertext at the floor, before relinearisation.
    ///
    /// At an embedding the noise is complex Gaussian, whose fourth moment is twice the square of
    /// its second: half a bit, for any noise; the secret adds that of [`Self::product`].
    pub fn square(&self, a: f64) -> f64 {
        2.0 * a + 1.0
    }

    /// Returns the noise that a switching key's own errors add, after division by the special primes: `dnum` digits
    /// of `digit_bits`, special primes of `special_bits`. A digit's coefficients are uniform.
    pub fn gadget(&self, dnum: usize, digit_bits: f64, special_bits: f64) -> f64 {
        let one = self.p_bits() + ERROR_SD.log2() - 12f64.log2() / 2.0 + 2.0 * self.embed();
        sum(one, dnum) + digit_bits - special_bits
    }

    /// By how much the noise of a switching key that special primes were dropped from exceeds that of a fresh one: it
    /// is the floor.
    pub fn lowered_key(&self) -> f64 {
        self.floor() - self.p_bits() - ERROR_SD.log2() - self.embed()
    }

    /// Returns the noise that a key switch adds: the key's noise and the floor of the division.
    pub fn key_switch(&self, dnum: usize, digit_bits: f64, special_bits: f64) -> f64 {
        add(self.gadget(dnum, digit_bits, special_bits), self.floor())
    }

    /// Relinearisation in one step with a modulus switch that drops `bits`: only one floor.
    /// `product`: noise before, as from [`Self::product`].
    pub fn relinearised(&self, product: f64, gadget: f64, bits: f64) -> f64 {
        self.switched(add(product, gadget), bits)
    }
}

/// The distribution of a sum of two independent values.
pub fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j] += x * y;
        }
    }
    out
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
