//! RLWE ciphertexts: encryption from a seed, and decryption.

use crate::SecretPoly;
use omr_ring::{Basis, Coeff, Eval, Poly, Ring, centered_binomial, uniform_poly};
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

/// The uniform mask that a seed and an index stand for.
pub fn mask(ring: &Ring, basis: &Basis, seed: &[u8; 32], index: &[u64]) -> Poly<Eval> {
    uniform_poly(ring, basis, "omr rlwe mask v1", seed, index)
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

/// `c0 + c1 s` in the coefficient domain: the message plus p times the noise, modulo each prime.
pub fn decrypt_residues(ring: &Ring, ct: &Rlwe, secret: &SecretPoly) -> Poly<Coeff> {
    let mut value = ct.c1.clone();
    ring.mul_assign(&mut value, secret);
    ring.add_assign(&mut value, &ct.c0);
    ring.inverse(value)
}
