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

/// Every back end but the scalar one.
pub(crate) fn backends() -> impl Iterator<Item = &'static Kernels> {
    Kernels::available()
        .into_iter()
        .filter(|k| k.name() != "scalar")
}

/// Largest prime of at most `bits` bits that is 1 modulo `order`.
pub(crate) fn prime_below(bits: u32, order: u64) -> Option<Modulus> {
    let top = ((1 << bits) - 1) / order;
    let q = (1..=top)
        .rev()
        .map(|k| k * order + 1)
        .find(|&q| q < 1 << bits && is_prime(q))?;
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
    let large = [20, 36, 45, 49, 50].into_iter().flat_map(ends);
    tiny.into_iter().chain(large).flatten().collect()
}
