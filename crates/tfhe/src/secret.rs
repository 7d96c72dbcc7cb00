use rand_core::CryptoRng;
use std::ops::RangeInclusive;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A binary secret in blocks, each with at most one 1. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct BlockSecret {
    bits: Vec<u64>,
    #[zeroize(skip)]
    block: usize,
}

impl BlockSecret {
    /// `blocks` blocks of `block` positions: each one is empty or has its 1 at any of them, all
    /// `block + 1` ways equally likely. Drawn again until the weight lies in `weight`.
    ///
    /// Time: constant for each draw; the number of draws tells nothing about the last one.
    pub fn new(
        rng: &mut impl CryptoRng,
        blocks: usize,
        block: usize,
        weight: RangeInclusive<usize>,
    ) -> Self {
        loop {
            let secret = Self::any(rng, blocks, block);
            if weight.contains(&secret.weight()) {
                return secret;
            }
        }
    }

    fn any(rng: &mut impl CryptoRng, blocks: usize, block: usize) -> Self {
        let mut bits = Vec::with_capacity(blocks * block);
        for _ in 0..blocks {
            // The bias is below 2^-59.
            let mut choice = ((u128::from(rng.next_u64()) * (block as u128 + 1)) >> 64) as u64;
            bits.extend((0..block as u64).map(|i| u64::from(is_zero(choice ^ i))));
            choice.zeroize();
        }
        Self { bits, block }
    }

    /// The secret with these bits in blocks of `block`; `None` if one is neither 0 nor 1, a block has
    /// two or the last one is short.
    pub fn from_bits(bits: Vec<u64>, block: usize) -> Option<Self> {
        let secret = Self { bits, block };
        let binary = secret.bits.iter().fold(true, |ok, &b| ok & (b < 2));
        let whole = block > 0 && secret.bits.len().is_multiple_of(block);
        let valid = binary && whole && {
            let blocks = secret.bits.chunks(block);
            blocks.fold(true, |ok, bits| ok & (bits.iter().sum::<u64>() < 2))
        };
        valid.then_some(secret)
    }

    /// Its bits.
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
