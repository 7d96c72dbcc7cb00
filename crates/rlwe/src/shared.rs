//! Ciphertexts of several secrets that share one mask, and the key that makes them.

use crate::noise::ERROR_SD;
use crate::{MaskSeed, Secret, SecretPoly, cipher};
use omr_ring::{Basis, Coeff, Eval, Poly, Ring};
use rand_core::CryptoRng;
use zeroize::Zeroize;

/// Several messages under as many secrets with one mask: `bodies[i] + mask z_i = m_i` plus noise,
/// modulo the one prime of the ring.
#[derive(Clone, Debug)]
pub struct SharedRlwe<D> {
    /// The mask.
    pub mask: Poly<D>,
    /// One body for each secret.
    pub bodies: Vec<Poly<D>>,
}

/// The shape of a [`SharedKey`]: the number and dimension of its source ciphertexts, and its number of secrets.
///
/// An element `a` of the larger ring is `sum_c Y^c a_c(Y^components)`: its `components` are
/// elements of the smaller ring. A *part* is one ciphertext of the larger ring; its components go
/// to one body each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedShape {
    /// Components of a ciphertext: ratio of the dimensions.
    pub components: usize,
    /// Ciphertexts that share one mask.
    pub parts: usize,
    /// Digits of a mask coefficient.
    pub digits: usize,
    /// Bits of a digit.
    pub digit_bits: u32,
}

impl SharedShape {
    /// Secrets, and so bodies of a full ciphertext.
    pub fn bodies(&self) -> usize {
        self.parts * self.components
    }

    /// Encryptions that make up the key; each has one mask.
    pub fn rows(&self) -> usize {
        self.bodies() * self.digits
    }

    /// Bits of a mask coefficient: it is a fraction of the modulus, in units of `2^-mask_bits`.
    pub fn mask_bits(&self) -> u32 {
        self.digits as u32 * self.digit_bits
    }

    /// Noise that the key's errors add to a coefficient in dimension `n` modulo `q`: standard
    /// deviation, as a fraction of `q`, when all parts are used. Digits are uniform.
    pub fn key_noise(&self, n: usize, q: u64) -> f64 {
        let terms = (self.rows() * n) as f64 / 12.0;
        f64::from(self.digit_bits).exp2() * terms.sqrt() * ERROR_SD / q as f64
    }

    /// Noise that comes from masks of only `mask_bits` bits, to be multiplied by a uniform ternary
    /// secret: standard deviation of a coefficient, as a fraction of the modulus.
    pub fn mask_noise(&self, n: usize) -> f64 {
        rounding_noise(n * self.components, self.mask_bits())
    }

    /// `round(q / 2^(digit_bits (d + 1)))` for digit d, the most significant first.
    fn gadget(&self, q: u64, digit: usize) -> u64 {
        let bits = self.digit_bits * (digit as u32 + 1);
        (q + (1 << (bits - 1))) >> bits
    }
}

/// Noise that rounding a mask of `n` coefficients to `bits` bits adds under a uniform ternary
/// secret: standard deviation of a coefficient, as a fraction of the modulus.
pub fn rounding_noise(n: usize, bits: u32) -> f64 {
    (n as f64 / 18.0).sqrt() / f64::from(bits).exp2()
}

/// A ciphertext of the larger ring, ready to be switched: coefficients.
#[derive(Clone, Debug)]
pub struct SharedInput {
    /// The body modulo the smaller ring's prime.
    pub body: Vec<u64>,
    /// The mask modulo `2^mask_bits`.
    pub mask: Vec<u64>,
}

/// Switches ciphertexts of a larger ring to one ciphertext with a shared mask in a smaller one.
///
/// The row of part t, component k and digit d encrypts, with a single mask, `gadget_d` times
/// component c of `Y^k s` in body `t components + c` for all c, and 0 in the bodies of all other
/// parts: so one digit of the mask serves all components at once. Messages and errors are integers
/// modulo q, the message in the high part.
///
/// Several messages on one mask under independent secrets: Peikert, Vaikuntanathan, Waters 2008.
pub struct SharedKey {
    shape: SharedShape,
    rows: Vec<SharedRlwe<Eval>>,
}

impl SharedKey {
    /// Makes the key from `from` to the secrets `to` of `ring`, whose one prime is the modulus.
    /// The path of a mask is the number of its row.
    ///
    /// Panics: when `to` or the dimension of `from` does not fit the shape.
    pub fn generate(
        ring: &Ring,
        shape: SharedShape,
        from: &Secret,
        to: &[SecretPoly],
        seed: MaskSeed<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        assert_eq!(to.len(), shape.bodies(), "one secret for each body");
        assert_eq!(from.coeffs().len(), ring.n() * shape.components);
        let basis = ring.everything();
        let row = |row: usize| {
            let (input, digit) = (row / shape.digits, row % shape.digits);
            let (part, k) = (input / shape.components, input % shape.components);
            let factor = shape.gadget(ring.modulus(0).value(), digit);
            let mask = seed.mask(ring, &basis, &[row as u64]);
            let mut body = |i: usize| {
                let mut message = if i / shape.components == part {
                    shifted(ring, from, k, i % shape.components)
                } else {
                    Poly::zero(ring, &basis)
                };
                ring.scale_assign(&mut message, |_| factor);
                let body = cipher::encrypt(ring, &to[i], &message, 1, &mask, rng);
                message.zeroize();
                body
            };
            let bodies = (0..shape.bodies()).map(&mut body).collect();
            SharedRlwe { mask, bodies }
        };
        let rows = (0..shape.rows()).map(row).collect();
        Self { shape, rows }
    }

    /// Rebuilds a key from the bodies of all rows; the masks are drawn again.
    /// Panics: when the number of bodies does not fit the shape.
    pub fn from_bodies(
        ring: &Ring,
        shape: SharedShape,
        bodies: Vec<Poly<Eval>>,
        seed: MaskSeed<'_>,
    ) -> Self {
        assert_eq!(bodies.len(), shape.rows() * shape.bodies());
        let basis = ring.everything();
        let mut bodies = bodies.into_iter();
        let row = |row: usize| SharedRlwe {
            mask: seed.mask(ring, &basis, &[row as u64]),
            bodies: bodies.by_ref().take(shape.bodies()).collect(),
        };
        let rows = (0..shape.rows()).map(row).collect();
        Self { shape, rows }
    }

    /// The shape of the key.
    pub fn shape(&self) -> SharedShape {
        self.shape
    }

    /// The bodies, row by row, to be written out.
    pub fn bodies(&self) -> impl Iterator<Item = &Poly<Eval>> {
        self.rows.iter().flat_map(|row| &row.bodies)
    }

    /// Switches up to `parts` ciphertexts; only their bodies are made.
    ///
    /// Panics: when there are too many, or their dimension does not fit.
    pub fn switch(&self, ring: &Ring, inputs: &[SharedInput]) -> SharedRlwe<Coeff> {
        assert!(inputs.len() <= self.shape.parts, "too many ciphertexts");
        let digits: Vec<Poly<Eval>> = inputs
            .iter()
            .flat_map(|input| self.digits(ring, &input.mask))
            .collect();
        let used = &self.rows[..digits.len()];
        let dot = |pick: &dyn Fn(&SharedRlwe<Eval>) -> &Poly<Eval>| {
            let mut sum = Poly::zero(ring, &ring.everything());
            let factors: Vec<&[u64]> = digits.iter().map(|digit| digit.row(0)).collect();
            let rows: Vec<&[u64]> = used.iter().map(|row| pick(row).row(0)).collect();
            let modulus = ring.modulus(0);
            ring.kernels().dot(modulus, sum.row_mut(0), &factors, &rows);
            ring.inverse(sum)
        };
        let body = |i: usize| {
            let mut body = dot(&|row| &row.bodies[i]);
            let (part, c) = (i / self.shape.components, i % self.shape.components);
            let own = component(&inputs[part].body, c, self.shape.components);
            ring.add_assign(&mut body, &coefficients(ring, own.copied()));
            body
        };
        SharedRlwe {
            mask: dot(&|row| &row.mask),
            bodies: (0..inputs.len() * self.shape.components)
                .map(body)
                .collect(),
        }
    }

    /// The digits of a mask, in `[-2^(digit_bits - 1), 2^(digit_bits - 1))`: component by
    /// component, most significant first.
    fn digits(&self, ring: &Ring, mask: &[u64]) -> Vec<Poly<Eval>> {
        let shape = &self.shape;
        assert_eq!(mask.len(), ring.n() * shape.components);
        // Half of every digit's range added beforehand makes plain digits of the centred ones.
        let half = 1u64 << (shape.digit_bits - 1);
        let shift = (0..shape.digits as u32).fold(0, |sum, d| sum | half << (d * shape.digit_bits));
        let digit = |x: u64, d: usize| {
            let low = (shape.digits - 1 - d) as u32 * shape.digit_bits;
            let plain = (x + shift) >> low & ((1 << shape.digit_bits) - 1);
            plain as i64 - half as i64
        };
        let mut out = Vec::with_capacity(shape.components * shape.digits);
        for k in 0..shape.components {
            for d in 0..shape.digits {
                let coeffs: Vec<i64> = component(mask, k, shape.components)
                    .map(|&x| digit(x, d))
                    .collect();
                out.push(ring.forward(ring.lift_signed(&coeffs, &ring.everything())));
            }
        }
        out
    }
}

/// Component `c` of a polynomial of the larger ring.
fn component(coeffs: &[u64], c: usize, components: usize) -> impl Iterator<Item = &u64> {
    coeffs[c..].iter().step_by(components)
}

fn coefficients(ring: &Ring, coeffs: impl Iterator<Item = u64>) -> Poly<Coeff> {
    Poly::from_rows(ring.n(), &Basis::new([0]), coeffs.collect())
}

/// Component `c` of `Y^k s`.
fn shifted(ring: &Ring, s: &Secret, k: usize, c: usize) -> Poly<Eval> {
    let components = s.coeffs().len() / ring.n();
    let mut coeffs: Vec<i64> = (0..ring.n())
        .map(|i| match (i * components + c).checked_sub(k) {
            Some(at) => s.coeffs()[at],
            None => -s.coeffs()[s.coeffs().len() + i * components + c - k],
        })
        .collect();
    let out = ring.forward(ring.lift_signed(&coeffs, &ring.everything()));
    coeffs.zeroize();
    out
}
