//! The chain of ciphertext moduli that levels are numbered by.

use omr_ring::{Basis, Ring};

/// The chain of ciphertext moduli. Level 0 has the largest modulus.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    levels: Vec<Basis>,
    cuts: bool,
}

impl Chain {
    /// Returns the chain of these bases, the largest first.
    pub fn new(levels: Vec<Basis>) -> Self {
        Self {
            levels,
            cuts: false,
        }
    }

    /// Allows cuts: [`crate::Evaluator::at_level_from_floor`] then drops whole primes of ciphertexts at the
    /// noise floor.
    pub fn with_cuts(self) -> Self {
        Self { cuts: true, ..self }
    }

    /// Returns whether ciphertexts at the noise floor are cut.
    pub fn cuts(&self) -> bool {
        self.cuts
    }

    /// Returns the number of levels.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Returns whether the chain has no level.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns the primes of a level.
    ///
    /// Panics: if the chain has no such level.
    pub fn basis(&self, level: usize) -> &Basis {
        &self.levels[level]
    }

    /// Returns the modulus of a level, in bits.
    pub fn log2(&self, ring: &Ring, level: usize) -> f64 {
        ring.log2(self.basis(level))
    }
}
