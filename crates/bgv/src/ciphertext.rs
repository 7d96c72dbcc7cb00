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
    /// A ciphertext made from a pair at `level` whose slots are multiplied by `scale`.
    pub fn new(pair: Rlwe, level: usize, scale: u64) -> Self {
        Self {
            parts: vec![pair.c0, pair.c1],
            level,
            scale,
        }
    }

    /// The ciphertext's level: its place in the modulus chain, 0 the largest modulus.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The factor, modulo p, by which the slots are multiplied.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// `c0, c1` and, before relinearisation, `c2`.
    pub fn parts(&self) -> &[Poly<Eval>] {
        &self.parts
    }

    /// The ciphertext as a bare RLWE pair, without level and scale. Panics: when it is not
    /// relinearised.
    pub fn into_pair(self) -> Rlwe {
        let [c0, c1] = <[_; 2]>::try_from(self.parts).expect("two parts");
        Rlwe::new(c0, c1)
    }
}
