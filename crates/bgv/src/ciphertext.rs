//! The BGV ciphertext with its level and scale.

use omr_ring::{Eval, Poly};
use omr_rlwe::Rlwe;

/// A BGV ciphertext: decrypts to `scale * slots`.
#[derive(Clone, Debug)]
pub struct Ciphertext {
    pub(crate) parts: Vec<Poly<Eval>>,
    pub(crate) level: usize,
    pub(crate) scale: u64,
}

impl Ciphertext {
    /// From a pair at `level` whose slots are multiplied by `scale`.
    pub fn new(pair: Rlwe, level: usize, scale: u64) -> Self {
        Self {
            parts: vec![pair.c0, pair.c1],
            level,
            scale,
        }
    }

    /// Its place in the modulus chain.
    pub fn level(&self) -> usize {
        self.level
    }

    /// What its slots are multiplied by, modulo p.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// `c0, c1` and, before relinearisation, `c2`.
    pub fn parts(&self) -> &[Poly<Eval>] {
        &self.parts
    }

    /// The same pair as a bare RLWE ciphertext. Panics: when it is not relinearised.
    pub fn into_pair(self) -> Rlwe {
        let [c0, c1] = <[_; 2]>::try_from(self.parts).expect("two parts");
        Rlwe { c0, c1 }
    }
}
