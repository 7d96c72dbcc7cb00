//! The rings and slots that sums are made in, borrowed from a parameter set.

use omr_bgv::Plain;
use omr_codec::Nodes;
use omr_ring::{Basis, Modulus, Ring};
use omr_rlwe::SharedShape;
use std::sync::Arc;

/// The rings, slots and nodes that sums are made in, borrowed from a parameter set.
///
/// A *large* ring of n slots modulo p holds the sparse vectors, which come as ciphertexts of a *small*
/// ring; the *final* ring, of one prime, holds digests.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Slots of the large ring.
    pub plain: &'a Plain,
    /// The small ring.
    pub small: &'a Ring,
    /// Slots of the small ring, modulo the same p.
    pub small_plain: &'a Plain,
    /// Primes of a small ciphertext, the first of the small ring; from 1 up. The first one stays to the end.
    pub limbs: usize,
    /// One node for each slot of each batch: as many slots as the large ring has.
    pub nodes: &'a Nodes,
    /// The ring of digests.
    pub final_ring: &'a Arc<Ring>,
    /// The shape by which ciphertexts of the small ring share a mask in the final ring.
    pub final_shape: SharedShape,
    /// Bits of a mask coefficient of a digest.
    pub mask_bits: u32,
    /// Bits of a body coefficient of a digest, at most `mask_bits`.
    pub body_bits: u32,
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

impl<'a> Setting<'a> {
    /// The plaintext modulus.
    pub fn p(self) -> &'a Modulus {
        self.plain.p()
    }

    /// Entries of a vector: the slots of the large ring.
    pub fn slots(self) -> usize {
        self.plain.n()
    }

    /// Returns the ring in which the recipient decrypts digests.
    pub fn last(self) -> FinalRing {
        FinalRing {
            ring: self.final_ring.clone(),
            shape: self.final_shape,
            p: *self.p(),
            mask_bits: self.mask_bits,
            body_bits: self.body_bits,
        }
    }

    /// The primes of a small ciphertext.
    pub fn small_basis(self) -> Basis {
        Basis::new(0..self.limbs)
    }

    /// Small ciphertexts of a batch, and classes of slots: the ratio of the dimensions.
    pub fn classes(self) -> usize {
        self.slots() / self.small.n()
    }
}
