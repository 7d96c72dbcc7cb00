//! Binary block secrets.

use omr_marks::published;
use rand_core::CryptoRng;
use std::ops::RangeInclusive;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A binary secret in blocks, each with at most one 1; coordinates beyond the last whole block are 0.
/// Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct BlockSecret {
    bits: Vec<u64>,
    #[zeroize(skip)]
    block: usize,
}

impl BlockSecret {
    /// `n` coordinates in blocks of `block`: each block is empty or has its 1 at any position, all
    /// `block + 1` ways equally likely. Drawn again until the weight lies in `weight`.
    ///
    /// Time: constant for each draw; the number of draws is independent of the last one.
    pub fn new(
        rng: &mut impl CryptoRng,
        n: usize,
        block: usize,
        weight: RangeInclusive<usize>,
    ) -> Self {
        loop {
            let secret = Self::any(rng, n, block);
            // Public: how many candidates were thrown away says nothing about this one.
            let found = secret.weight();
            if published((*weight.start() <= found) & (found <= *weight.end())) {
                return secret;
            }
        }
    }

    fn any(rng: &mut impl CryptoRng, n: usize, block: usize) -> Self {
        let mut bits = Vec::with_capacity(n);
        for _ in 0..n / block {
            // The bias is below 2^-59.
            let mut choice = ((u128::from(rng.next_u64()) * (block as u128 + 1)) >> 64) as u64;
            bits.extend((0..block as u64).map(|i| u64::from(is_zero(choice ^ i))));
            choice.zeroize();
        }
        bits.resize(n, 0);
        Self { bits, block }
    }

    /// The secret with these bits in blocks of `block`; `None` if one is neither 0 nor 1, a block has
    /// two or a bit beyond the last whole block is not 0.
    pub fn from_bits(bits: Vec<u64>, block: usize) -> Option<Self> {
        let secret = Self { bits, block };
        if block == 0 {
            return None;
        }
        // Whatever no secret has: bits of a word above the lowest, in a block in all, and any beyond the last block.
        let above = secret.bits.iter().fold(0, |above, bit| above | bit >> 1);
        let blocks = secret.bits.chunks_exact(block);
        let beyond = blocks.remainder().iter().fold(0, |all, bit| all | bit);
        let sums = blocks.map(|bits| bits.iter().fold(0u64, |sum, &bit| sum.wrapping_add(bit)));
        let wrong = sums.fold(above | beyond, |wrong, sum| wrong | sum >> 1);
        // Public: a secret that is none is refused in the open.
        (published(wrong) == 0).then_some(secret)
    }

    /// The bits of the secret, one word a coordinate.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Positions of a block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// How many are 1.
    pub fn weight(&self) -> usize {
        self.bits.iter().sum::<u64>() as usize
    }
}

/// Without a branch.
fn is_zero(x: u64) -> bool {
    (x | x.wrapping_neg()) >> 63 == 0
}
