//! A keyed permutation of a small range.

use crate::draws::Draws;

/// Pairs of numbers below it hold every number of the range.
const SIDE: usize = 956;
/// The number of rounds, that of the format-preserving cipher FF1.
const ROUNDS: usize = 10;
const DOMAIN: &str = "omr cubic permutation v1";

/// A permutation of `0..limit`: ten rounds of a balanced Feistel network on two digits in base
/// 956, with random round functions, repeated until the number is back in the range.
///
/// Source: Black and Rogaway, *Ciphers with arbitrary finite domains*, cycle walking on a
/// generalised Feistel network.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    limit: usize,
    /// Row `r`: the values of round function `r`.
    rounds: Vec<[u16; SIDE]>,
}

impl Permutation {
    /// Range: `limit` at most `956^2`, and near it for speed.
    pub(super) fn new(seed: &[u8; 32], limit: usize) -> Self {
        debug_assert!(limit <= SIDE * SIDE);
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        let mut draws = Draws::of(hasher.update(seed));
        let rounds = (0..ROUNDS)
            .map(|_| std::array::from_fn(|_| draws.below(SIDE as u64) as u16))
            .collect();
        Self { limit, rounds }
    }

    /// Range: `i` below the limit, in and out.   Ends: a permutation leads back to `i` itself.
    pub(super) fn forward(&self, i: usize) -> usize {
        debug_assert!(i < self.limit);
        let mut x = self.forward_once(i);
        while x >= self.limit {
            x = self.forward_once(x);
        }
        x
    }

    fn forward_once(&self, x: usize) -> usize {
        let (mut left, mut right) = (x / SIDE, x % SIDE);
        for round in &self.rounds {
            (left, right) = (right, wrap(left + usize::from(round[right])));
        }
        left * SIDE + right
    }
}

/// Range: in below `2 * 956`, out below `956`.
#[inline]
fn wrap(x: usize) -> usize {
    if x >= SIDE { x - SIDE } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_image_and_comes_back() {
        for limit in [SIDE * SIDE - 1264, 3] {
            let permutation = Permutation::new(&[7; 32], limit);
            let mut seen = vec![false; limit];
            for i in 0..limit {
                let image = permutation.forward(i);
                assert!(!std::mem::replace(&mut seen[image], true));
            }
        }
    }

    #[test]
    fn seeds_give_unrelated_permutations() {
        let limit = SIDE * SIDE - 1264;
        let one = Permutation::new(&[1; 32], limit);
        let other = Permutation::new(&[2; 32], limit);
        let same = |i: &usize| one.forward(*i) == other.forward(*i);
        assert!((0..10_000).filter(same).count() < 10);
    }
}
