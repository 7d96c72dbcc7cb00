//! Moduli, tables and rows for the tests.
#![allow(dead_code)] // each test binary takes its share

use omr_kernels::{Kernels, Modulus, NttTable, is_prime};

/// SplitMix64: enough randomness for test rows.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn row(&mut self, n: usize, limit: u64) -> Vec<u64> {
        (0..n).map(|_| self.below(limit)).collect()
    }
}

/// Sizes up to the largest that are worth their time: under an emulator (`OMR_EMULATED`), which takes
/// some fifty times as long, none whose passes smaller transforms have, too.
pub(crate) fn sizes(all: impl IntoIterator<Item = usize>) -> impl Iterator<Item = usize> {
    let emulated = std::env::var_os("OMR_EMULATED").is_some();
    let largest = 1 << if emulated { 12 } else { 17 };
    all.into_iter().filter(move |&n| n <= largest)
}

/// Every back end but the scalar one.
pub(crate) fn backends() -> impl Iterator<Item = &'static Kernels> {
    Kernels::available()
        .into_iter()
        .filter(|k| k.name() != "scalar")
}

/// Largest prime of at most `bits` bits that is 1 modulo `order`.
pub(crate) fn prime_below(bits: u32, order: u64) -> Option<Modulus> {
    prime_up_to((1 << bits) - 1, order)
}

/// Largest prime up to `limit` that is 1 modulo `order`.
pub(crate) fn prime_up_to(limit: u64, order: u64) -> Option<Modulus> {
    let q = (1..=limit / order)
        .rev()
        .map(|k| k * order + 1)
        .find(|&q| q <= limit && is_prime(q))?;
    Modulus::new(q).ok()
}

/// Smallest prime of `bits` bits that is 1 modulo `order`.
pub(crate) fn prime_above(bits: u32, order: u64) -> Option<Modulus> {
    let first = (1u64 << (bits - 1)).div_ceil(order);
    let q = (first..2 * first)
        .map(|k| k * order + 1)
        .find(|&q| is_prime(q))?;
    Modulus::new(q).ok()
}

/// Transforms of `n` points modulo the smallest and largest fitting primes of `bits` bits.
pub(crate) fn tables(bits: u32, n: usize) -> impl Iterator<Item = NttTable> {
    let order = 2 * n as u64;
    let ends = [prime_above(bits, order), prime_below(bits, order)];
    ends.into_iter()
        .flatten()
        .filter_map(move |m| NttTable::new(m, n).ok())
}

/// From the smallest moduli to the largest, both ends of a bit length included.
pub(crate) fn moduli() -> Vec<Modulus> {
    let ends = |bits| [prime_above(bits, 2), prime_below(bits, 2)];
    let tiny = [3, 5, 17, 257, 65537].map(|q| Modulus::new(q).ok());
    // Miri takes a thousand times as long.
    let widths: &[u32] = if cfg!(miri) {
        &[20, 50]
    } else {
        &[20, 36, 40, 45, 46, 47, 48, 49, 50]
    };
    let large = widths.iter().copied().flat_map(ends);
    tiny.into_iter().chain(large).flatten().collect()
}

/// Groups, shifts and parts of sliding sums.
pub(crate) const SHAPES: [(usize, usize, usize); 18] = [
    (0, 2, 2),
    (1, 2, 2),
    (2, 2, 2),
    (3, 2, 2),
    (4, 2, 2),
    (5, 2, 2),
    (1, 1, 1),
    (2, 1, 2),
    (3, 2, 1),
    (2, 3, 2),
    (2, 2, 3),
    (1, 4, 4),
    (2, 4, 1),
    (1, 1, 4),
    (3, 1, 4),
    (2, 1, 8),
    (3, 4, 2),
    (2, 8, 2),
];

/// Source indices that move `blocks` blocks of 8 and shuffle them by some of `patterns` patterns.
pub(crate) fn random_blocks(rng: &mut Rng, blocks: usize, patterns: usize) -> Vec<u32> {
    let patterns: Vec<_> = (0..patterns).map(|_| shuffled(rng, 8)).collect();
    let mut index = Vec::with_capacity(8 * blocks);
    for from in shuffled(rng, blocks) {
        let pattern = &patterns[rng.below(patterns.len() as u64) as usize];
        index.extend(pattern.iter().map(|lane| 8 * from + lane));
    }
    index
}

fn shuffled(rng: &mut Rng, n: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        all.swap(i, rng.below(i as u64 + 1) as usize);
    }
    all
}
