//! RLWE ciphertexts: encryption from a seed, and decryption.

use crate::SecretPoly;
use omr_ring::{Basis, Coeff, Eval, Poly, Ring, centered_binomial, uniform_poly, uniform_row};
use rand_core::CryptoRng;
use std::sync::Arc;
use zeroize::Zeroize;

/// A pair with `c0 + c1 s = m + p e`, in the evaluation domain.
#[derive(Clone, Debug)]
pub struct Rlwe {
    /// The body.
    pub c0: Poly<Eval>,
    /// The mask.
    pub c1: Poly<Eval>,
}

impl Rlwe {
    /// A body and its mask.
    pub const fn new(c0: Poly<Eval>, c1: Poly<Eval>) -> Self {
        Self { c0, c1 }
    }

    /// The basis of both polynomials.
    pub fn basis(&self) -> &Basis {
        self.c0.basis()
    }

    /// Adds another one under the same secret. Panics: when it lacks one of its primes.
    pub fn add_assign(&mut self, ring: &Ring, other: &Self) {
        ring.add_assign(&mut self.c0, &other.c0);
        ring.add_assign(&mut self.c1, &other.c1);
    }

    /// An encryption of zero without noise.
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        Self {
            c0: Poly::zero(ring, basis),
            c1: Poly::zero(ring, basis),
        }
    }
}

/// Masks of a key, in its order. Keys whose masks come from one seed may hold them together.
pub type Masks = Arc<[Poly<Eval>]>;

const MASK: &str = "omr rlwe mask v1";

/// The uniform mask that a seed and an index stand for.
pub fn mask(ring: &Ring, basis: &Basis, seed: &[u8; 32], index: &[u64]) -> Poly<Eval> {
    uniform_poly(ring, basis, MASK, seed, index)
}

/// Encrypts `message` (already scaled) under `secret` with the mask of `seed` and `index`:
/// `c0 = m + p e - a s`, `c1 = a`. Every (seed, index) serves once.
pub fn encrypt(
    ring: &Ring,
    secret: &SecretPoly,
    message: &Poly<Eval>,
    p: u64,
    mask: &Poly<Eval>,
    rng: &mut impl CryptoRng,
) -> Poly<Eval> {
    let noise = centered_binomial(rng, ring.n());
    encrypt_with(ring, secret, message, p, mask, noise)
}

/// [`encrypt`] with noise from elsewhere, one coefficient for each power of X.
pub fn encrypt_with(
    ring: &Ring,
    secret: &SecretPoly,
    message: &Poly<Eval>,
    p: u64,
    mask: &Poly<Eval>,
    mut noise: Vec<i64>,
) -> Poly<Eval> {
    let mut body = ring.forward(ring.lift_signed(&noise, message.basis()));
    noise.zeroize();
    ring.scale_assign(&mut body, |m| m.reduce(p));
    ring.add_assign(&mut body, message);
    let mut product = mask.clone();
    ring.mul_assign(&mut product, secret);
    ring.sub_assign(&mut body, &product);
    product.zeroize();
    body
}

/// [`encrypt`] with the mask of `seed` and `index`, which is drawn row by row: nothing but the body is as large as a
/// polynomial. `add` adds the message's row modulo a prime of `basis`. Range: `p` below `2^50`.
pub fn encrypt_seeded(
    ring: &Ring,
    secret: (&SecretPoly, &Basis),
    p: u64,
    (seed, index): (&[u8; 32], &[u64]),
    add: impl Fn(usize, &mut [u64]) + Send + Sync,
    rng: &mut impl CryptoRng,
) -> Poly<Eval> {
    let mask = |id, row: &mut [u64]| uniform_row(ring.modulus(id), MASK, seed, index, row);
    encrypt_rows(ring, secret, p, mask, add, rng)
}

/// [`encrypt`] row by row: of the sizes of a polynomial is the body alone. `mask` writes the mask's row modulo a prime,
/// `add` adds the message's. Range: `p` below `2^50`.
pub(crate) fn encrypt_rows(
    ring: &Ring,
    (secret, basis): (&SecretPoly, &Basis),
    p: u64,
    mask: impl Fn(usize, &mut [u64]) + Send + Sync,
    add: impl Fn(usize, &mut [u64]) + Send + Sync,
    rng: &mut impl CryptoRng,
) -> Poly<Eval> {
    let mut noise = centered_binomial(rng, ring.n());
    let mut body = Poly::<Eval>::scratch(ring, basis);
    ring.each_row(&mut body, |id, row| {
        let (k, m) = (ring.kernels(), ring.modulus(id));
        for (x, &error) in row.iter_mut().zip(&noise) {
            *x = m.from_i64(error * p as i64);
        }
        k.ntt_forward(ring.table(id), row);
        add(id, row);
        let mut product = vec![0; ring.n()];
        mask(id, &mut product);
        k.mul_assign(m, &mut product, secret.row_of(id));
        k.sub_assign(m, row, &product);
        product.zeroize();
    });
    noise.zeroize();
    body
}

/// `c0 + c1 s` in the coefficient domain: the message plus p times the noise, modulo each prime.
pub fn decrypt_residues(ring: &Ring, ct: &Rlwe, secret: &SecretPoly) -> Poly<Coeff> {
    let mut value = ct.c1.clone();
    ring.mul_assign(&mut value, secret);
    ring.add_assign(&mut value, &ct.c0);
    ring.inverse(value)
}
