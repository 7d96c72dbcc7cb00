//! The chain of ciphertext moduli that levels are numbered by.

use omr_ring::{Basis, Ring};

/// The chain of ciphertext moduli: level 0 is the largest.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    levels: Vec<Basis>,
    cuts: bool,
}

impl Chain {
    /// A chain of these bases, the largest first.
    pub fn new(levels: Vec<Basis>) -> Self {
        Self {
            levels,
            cuts: false,
        }
    }

    /// Returns the chain with cuts allowed: [`crate::Evaluator::at_level_from_floor`] then leaves out whole primes of
    /// ciphertexts at the noise floor.
    pub fn with_cuts(self) -> Self {
        Self { cuts: true, ..self }
    }

    /// Whether ciphertexts at the noise floor are cut.
    pub fn cuts(&self) -> bool {
        self.cuts
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
