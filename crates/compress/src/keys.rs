//! The keys that compression takes.

use omr_bgv::GaloisKey;
use omr_ring::parallel::*;
use omr_ring::{Automorphism, Modulus, Ring};
use omr_rlwe::{Rlwe, SharedKey};
use std::ops::RangeInclusive;

/// The switching keys that sums are made and packed with, all of the small ring's secret.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    /// [`KeyUse::Turn`].
    pub turn: &'a GaloisKey,
    /// [`KeyUse::Swap`].
    pub swap: &'a GaloisKey,
    /// The keys that sums are packed with.
    pub merge: MergeKeys<'a>,
    /// The key from the small ring to the ring of digests.
    pub last: &'a SharedKey,
}

/// The switching keys that ciphertexts of the small ring are packed with.
#[derive(Clone, Copy)]
pub struct MergeKeys<'a> {
    /// The keys of [`KeyUse::Merge`], by level from `first_level` up.
    pub keys: &'a [GaloisKey],
    /// The level of the first key.
    pub first_level: u32,
}

impl<'a> MergeKeys<'a> {
    /// Returns the key of a level.
    ///
    /// Panics: when there is none of this level.
    pub(crate) fn key(self, level: u32) -> &'a GaloisKey {
        &self.keys[(level - self.first_level) as usize]
    }
}

/// The purpose of a Galois key of the small ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// Rotation by one slot.
    Turn,
    /// Swap of the slot rows.
    Swap,
    /// `X -> X^(2^level + 1)`: merges sums into one ciphertext (see [`merge_levels`]).
    Merge(u32),
}

impl KeyUse {
    /// The exponent of the automorphism in dimension `n`.
    pub fn exponent(self, n: usize) -> usize {
        match self {
            Self::Turn => Automorphism::rotation(n, 1),
            Self::Swap => Automorphism::row_swap(n),
            Self::Merge(level) => (1 << level) + 1,
        }
    }
}

/// Returns the levels of merging that sums need in dimension `n` when a ciphertext holds `width` exponents, a power
/// of two, or more.
///
/// With `width` 1 these are also the levels of oblivious expansion, which goes the same way back.
///
/// ```
/// use omr_compress::{KeyUse, merge_levels};
///
/// let exponents: Vec<usize> = merge_levels(128, 16)
///     .map(|level| KeyUse::Merge(level).exponent(128))
///     .collect();
/// assert_eq!(exponents, [33, 65, 129]);
/// ```
///
/// Panics: when `n` or `width` is 0.
pub fn merge_levels(n: usize, width: usize) -> RangeInclusive<u32> {
    width.ilog2() + 1..=n.ilog2()
}

/// The image of a small ciphertext under a key's automorphism.
pub(crate) fn turn(ring: &Ring, ct: &Rlwe, key: &GaloisKey, p: &Modulus) -> Rlwe {
    key.apply(ring, &[(&ct.c0, &ct.c1)], p).remove(0)
}

/// The images of small ciphertexts under a key's automorphism. A backend makes all of them together.
pub(crate) fn turn_all(ring: &Ring, cts: &[Rlwe], key: &GaloisKey, p: &Modulus) -> Vec<Rlwe> {
    if ring.backend().is_none() {
        return cts.par_iter().map(|ct| turn(ring, ct, key, p)).collect();
    }
    let pairs: Vec<_> = cts.iter().map(|ct| (&ct.c0, &ct.c1)).collect();
    key.apply(ring, &pairs, p)
}
