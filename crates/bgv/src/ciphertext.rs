//! The BGV ciphertext with its level and scale.

use omr_ring::{Eval, Poly};
use omr_rlwe::Rlwe;

/// A BGV ciphertext, which decrypts to `scale * slots`.
#[derive(Clone, Debug)]
pub struct Ciphertext {
    pub(crate) parts: Vec<Poly<Eval>>,
    pub(crate) level: usize,
    pub(crate) scale: u64,
}

impl Ciphertext {
    /// Returns the ciphertext of a pair at `level` whose slots are multiplied by `scale`.
    pub fn new(pair: Rlwe, level: usize, scale: u64) -> Self {
        Self {
            parts: vec![pair.c0, pair.c1],
            level,
            scale,
        }
    }

    /// Returns the ciphertext's level: its position in the modulus chain, where 0 is the largest modulus.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Returns the factor, modulo p, by which the slots are multiplied.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// Returns `c0, c1` and, before relinearisation, `c2`.
    pub fn parts(&self) -> &[Poly<Eval>] {
        &self.parts
    }

    /// Returns the ciphertext as an RLWE pair without level and scale.
    ///
    /// Panics: if the ciphertext is not relinearised.
    pub fn into_pair(self) -> Rlwe {
        let [c0, c1] = <[_; 2]>::try_from(self.parts).expect("two parts");
        Rlwe::new(c0, c1)
    }
}
