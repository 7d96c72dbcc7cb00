//! The small ring that ciphertexts are packed in and the ring of digests that they end in.

use omr_ring::{Basis, Modulus, Ring};
use omr_rlwe::SharedShape;
use std::sync::Arc;

/// The small ring that ciphertexts are packed in, and the *final* ring, of one prime, that holds digests. Both are
/// borrowed from a parameter set.
#[derive(Clone, Copy)]
pub struct Packing<'a> {
    /// The small ring.
    pub small: &'a Ring,
    /// The plaintext modulus.
    pub p: &'a Modulus,
    /// Primes of a small ciphertext, the first of the small ring; from 1 up. The first one stays to the end.
    pub limbs: usize,
    /// The ring of digests.
    pub final_ring: &'a Arc<Ring>,
    /// The shape by which ciphertexts of the small ring share a mask in the final ring.
    pub final_shape: SharedShape,
    /// Bits of a mask coefficient of a digest.
    pub mask_bits: u32,
    /// Bits of a body coefficient of a digest, at most `mask_bits`.
    pub body_bits: u32,
}

impl Packing<'_> {
    /// Returns the primes of a small ciphertext.
    pub fn small_basis(self) -> Basis {
        Basis::new(0..self.limbs)
    }

    /// Returns the ring in which the recipient decrypts digests.
    pub fn last(self) -> FinalRing {
        FinalRing {
            ring: self.final_ring.clone(),
            shape: self.final_shape,
            p: *self.p,
            mask_bits: self.mask_bits,
            body_bits: self.body_bits,
        }
    }
}

/// The ring of digests, and how ciphertexts lie in it: all that decrypting takes.
#[derive(Clone)]
pub struct FinalRing {
    /// The ring, of one prime.
    pub ring: Arc<Ring>,
    /// The shape by which ciphertexts of the small ring share a mask.
    pub shape: SharedShape,
    /// The plaintext modulus.
    pub p: Modulus,
    /// Bits of a mask coefficient of a digest.
    pub mask_bits: u32,
    /// Bits of a body coefficient of a digest, at most `mask_bits`.
    pub body_bits: u32,
}
