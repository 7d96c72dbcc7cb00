//! A ring of one prime with its monomials.

use omr_ring::{Monomials, Ring};

/// A ring with one prime, and its monomials.
pub struct RotationRing {
    ring: Ring,
    monomials: Monomials,
}

impl RotationRing {
    /// From a ring. Panics: when it has not one prime.
    pub fn new(ring: Ring) -> Self {
        assert_eq!(ring.everything().len(), 1, "one prime");
        Self {
            monomials: Monomials::new(ring.table(0)),
            ring,
        }
    }

    /// The monomials over its evaluation domain.
    pub fn monomials(&self) -> &Monomials {
        &self.monomials
    }

    /// The modulus.
    pub fn q(&self) -> u64 {
        self.modulus(0).value()
    }
}

impl std::ops::Deref for RotationRing {
    type Target = Ring;
    fn deref(&self) -> &Ring {
        &self.ring
    }
}
