//! The chain of ciphertext moduli that levels are numbered by.

use omr_ring::{Basis, Ring};

/// The chain of ciphertext moduli: level 0 is the largest.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    levels: Vec<Basis>,
}

impl Chain {
    /// A chain of these bases, the largest first.
    pub fn new(levels: Vec<Basis>) -> Self {
        Self { levels }
    }

    /// The number of levels.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Whether the chain has no level.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The primes of a level. Panics: past the end.
    pub fn basis(&self, level: usize) -> &Basis {
        &self.levels[level]
    }

    /// The modulus of a level, in bits.
    pub fn log2(&self, ring: &Ring, level: usize) -> f64 {
        ring.log2(self.basis(level))
    }
}
