//! The rings and slots that sums are made in, borrowed from a parameter set.

use crate::Packing;
use omr_bgv::Plain;
use omr_codec::Nodes;
use omr_ring::{Basis, Modulus, Ring};

/// The rings, slots and nodes that sums are made in, borrowed from a parameter set.
///
/// A *large* ring of n slots modulo p holds the sparse vectors, which come as ciphertexts of a *small*
/// ring.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Slots of the large ring.
    pub plain: &'a Plain,
    /// Slots of the small ring, modulo the same p.
    pub small_plain: &'a Plain,
    /// One node for each slot of each batch: as many slots as the large ring has.
    pub nodes: &'a Nodes,
    /// The small ring, with the same p, and the ring of digests.
    pub packing: Packing<'a>,
    /// The number of primes that products are added up modulo: the last ones of the small ring, each below `2^31`.
    pub sum_primes: usize,
}

impl<'a> Setting<'a> {
    /// Returns the plaintext modulus.
    pub fn p(self) -> &'a Modulus {
        self.packing.p
    }

    /// Returns the small ring.
    pub fn small(self) -> &'a Ring {
        self.packing.small
    }

    /// Returns the primes that products are added up modulo.
    pub fn sum_basis(self) -> Basis {
        Basis::new((0..self.sum_primes).map(|place| self.sum_prime(place)))
    }

    /// Returns the number in the small ring of the prime at a place of [`Setting::sum_basis`].
    pub(crate) fn sum_prime(self, place: usize) -> usize {
        self.small().everything().len() - self.sum_primes + place
    }

    /// Returns the number of entries of a vector: the slots of the large ring.
    pub fn slots(self) -> usize {
        self.plain.n()
    }

    /// Returns the number of small ciphertexts of a batch, and of classes of slots: the ratio of the dimensions.
    pub fn classes(self) -> usize {
        self.slots() / self.small().n()
    }
}
