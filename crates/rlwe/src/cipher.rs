//! RLWE ciphertexts: encryption from a seed, and decryption.

use crate::SecretPoly;
use omr_ring::{
    Basis, Coeff, Eval, Modulus, Poly, Ring, centered_binomial, uniform_poly, uniform_row,
};
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

    /// Returns the ciphertext in this process's memory.
    #[must_use]
    pub fn here(self) -> Self {
        Self::new(self.c0.here(), self.c1.here())
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

/// The public seed of the masks of a key or a ciphertext, with the number of that key or ciphertext.
///
/// Masks are uniform polynomials and take half of a key's room, so that the seed is sent in their place and both sides
/// draw them from it. A mask must serve one encryption only: every pair of seed and index belongs to one key or
/// ciphertext. The masks of a key differ in their path, the numbers that follow the index.
#[derive(Clone, Copy, Debug)]
pub struct MaskSeed<'a> {
    /// The seed, which may be known to anybody.
    pub seed: &'a [u8; 32],
    /// The number of the key or ciphertext among all that take their masks from the seed.
    pub index: u64,
}

impl<'a> MaskSeed<'a> {
    /// Returns the seed of the masks of key or ciphertext `index`.
    pub const fn new(seed: &'a [u8; 32], index: u64) -> Self {
        Self { seed, index }
    }

    /// Returns the seed of the masks of the key or ciphertext `count` numbers later.
    #[must_use]
    pub const fn later(self, count: u64) -> Self {
        Self::new(self.seed, self.index + count)
    }

    /// Draws the mask at `path`, which is empty where there is one mask only.
    pub fn mask(self, ring: &Ring, basis: &Basis, path: &[u64]) -> Poly<Eval> {
        mask(ring, basis, self.seed, &self.indices(path))
    }

    /// Writes the row of [`MaskSeed::mask`] modulo one prime.
    pub fn mask_row(self, m: &Modulus, path: &[u64], row: &mut [u64]) {
        uniform_row(m, MASK, self.seed, &self.indices(path), row);
    }

    fn indices(self, path: &[u64]) -> Vec<u64> {
        [&[self.index], path].concat()
    }
}

/// The uniform mask that a seed and an index stand for.
pub fn mask(ring: &Ring, basis: &Basis, seed: &[u8; 32], index: &[u64]) -> Poly<Eval> {
    uniform_poly(ring, basis, MASK, seed, index)
}

/// Encrypts `message` (already scaled) under `secret`: returns the body `m + p e - a s` for the mask `a`, which must
/// serve this encryption only.
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

/// Makes the body of [`encrypt`] over `basis` row by row: nothing but the body is as large as a polynomial.
///
/// `mask` writes the mask's row modulo a prime of `basis`, `add` adds the message's. Range: `p` below `2^50`. Panics:
/// when `secret` lacks a prime of `basis`.
pub fn encrypt_rows(
    ring: &Ring,
    secret: &SecretPoly,
    basis: &Basis,
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
