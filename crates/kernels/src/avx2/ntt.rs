//! Negacyclic transforms, two levels a pass, depth first.
//!
//! The tree of blocks is that of the AVX-512 back end: the block at heap slot `s` (root 1) splits
//! into slots `2s` and `2s + 1`, and its butterflies take twiddle `s`. Between the first and the
//! last pass a row holds the bits of doubles, of either sign. Bounds on them are given as multiples of
//! `q`; every integer below `8q < 2^53` is exact.

use std::arch::x86_64::*;

use super::float::{Block, Factors, Field, load, store, to_float, to_int};
use crate::{
    modulus::Factor,
    scalar,
    table::{NttTable, Twiddles},
};

/// Residues of the last pass of the forward transform and the first of the inverse.
const LEAF: usize = 16;

#[target_feature(enable = "avx2,fma")]
pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    if row.len() < LEAF {
        return scalar::ntt::forward(t, row);
    }
    let (blocks, _) = row.as_chunks_mut();
    for x in blocks.iter_mut() {
        let v = to_float(load(x));
        store_float(x, v);
    }
    descend(&Field::new(t.modulus()), t.forward(), 1, blocks);
}

/// Transforms the block at heap slot `slot` down to the leaves.
#[target_feature(enable = "avx2,fma")]
fn descend(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let levels = pass_levels((4 * block.len() / LEAF).trailing_zeros());
    match levels {
        0 => return forward_leaf(f, tw, slot, block),
        1 => forward_pass_2(f, tw, slot, block),
        _ => forward_pass_4(f, tw, slot, block),
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        descend(f, tw, (slot << levels) + i, child);
    }
}

/// Levels of the pass that is `left` levels above the leaves.
fn pass_levels(left: u32) -> u32 {
    if left == 0 { 0 } else { 2 - left % 2 }
}

/// One level.
#[target_feature(enable = "avx2,fma")]
fn forward_pass_2(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let w = f.splat(tw.at(slot).w);
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = (f.reduce(load_float(a)), f.reduce(load_float(b)));
        let (x, y) = forward_butterfly(f, x, y, w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels.
#[target_feature(enable = "avx2,fma")]
fn forward_pass_4(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let w = PassFactors::new(f, &tw.heap(slot));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [load_float(a), load_float(b), load_float(c), load_float(d)];
        let x = forward_4(f, &w, x.map(|x| f.reduce(x)));
        for (out, x) in [a, b, c, d].into_iter().zip(x) {
            store_float(out, x);
        }
    }
}

/// Two levels of four vectors within 0.51: within 2.16 after them.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_4(f: &Field, w: &PassFactors, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (a, c) = forward_butterfly(f, a, c, w.whole);
    let (b, d) = forward_butterfly(f, b, d, w.whole);
    let (a, b) = forward_butterfly(f, a, b, w.halves[0]);
    let (c, d) = forward_butterfly(f, c, d, w.halves[1]);
    [a, b, c, d]
}

/// `(x + w y, x - w y)`: within `a` in, `0.5 + 1.375 a` out.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_butterfly(f: &Field, x: __m256d, y: __m256d, w: Factors) -> (__m256d, __m256d) {
    let t = f.mul(y, w);
    (_mm256_add_pd(x, t), _mm256_sub_pd(x, t))
}

/// The last four levels of 16 residues, then the canonical range. Within 5.3 before that.
#[target_feature(enable = "avx2,fma")]
fn forward_leaf(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<4>() else {
        return;
    };
    let w = PassFactors::new(f, &tw.heap(slot));
    let mut x = [_mm256_setzero_pd(); 4];
    for i in 0..4 {
        x[i] = f.reduce(load_float(&block[i]));
    }
    let x = forward_4(f, &w, x);
    for (i, pair) in block.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let [twos, ones] = lane_factors(f, tw, 2 * slot + i);
        let (x, y) = riffle(x[2 * i], x[2 * i + 1]);
        let (x, y) = forward_butterfly(f, x, y, twos);
        let (x, y) = riffle(x, y);
        let (x, y) = forward_butterfly(f, x, y, ones);
        let (x, y) = riffle(x, y);
        store(&mut pair[0], to_int(f.canonical(f.reduce(x))));
        store(&mut pair[1], to_int(f.canonical(f.reduce(y))));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    if row.len() < LEAF {
        return scalar::ntt::inverse(t, row, last);
    }
    let f = Field::new(t.modulus());
    let (blocks, _) = row.as_chunks_mut();
    ascend(&f, t.inverse(), 1, blocks);
    let n_inv = f.splat(last[0].w);
    for x in blocks.iter_mut() {
        // Within 2.1, so the product is within 1.29 and needs a reduction.
        let v = f.reduce(f.mul(load_float(x), n_inv));
        store(x, to_int(f.canonical(v)));
    }
}

/// Transforms the block at heap slot `slot` up from the leaves.
#[target_feature(enable = "avx2,fma")]
fn ascend(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let levels = pass_levels((4 * block.len() / LEAF).trailing_zeros());
    if levels == 0 {
        return inverse_leaf(f, tw, slot, block);
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        ascend(f, tw, (slot << levels) + i, child);
    }
    match levels {
        1 => inverse_pass_2(f, tw, slot, block),
        _ => inverse_pass_4(f, tw, slot, block),
    }
}

/// One level.
#[target_feature(enable = "avx2,fma")]
fn inverse_pass_2(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let w = f.splat(tw.at(slot).w);
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = (f.reduce(load_float(a)), f.reduce(load_float(b)));
        let (x, y) = inverse_butterfly(f, x, y, w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels.
#[target_feature(enable = "avx2,fma")]
fn inverse_pass_4(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let w = PassFactors::new(f, &tw.heap(slot));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [load_float(a), load_float(b), load_float(c), load_float(d)];
        let x = inverse_4(f, &w, x.map(|x| f.reduce(x)));
        for (out, x) in [a, b, c, d].into_iter().zip(x) {
            store_float(out, x);
        }
    }
}

/// Two levels of four vectors within 0.51: within 2.04 after them.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_4(f: &Field, w: &PassFactors, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (a, b) = inverse_butterfly(f, a, b, w.halves[0]);
    let (c, d) = inverse_butterfly(f, c, d, w.halves[1]);
    let (a, c) = inverse_butterfly(f, a, c, w.whole);
    let (b, d) = inverse_butterfly(f, b, d, w.whole);
    [a, b, c, d]
}

/// `(x + y, w (x - y))`: within `a` in, `max(2 a, 0.5 + 0.75 a)` out.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_butterfly(f: &Field, x: __m256d, y: __m256d, w: Factors) -> (__m256d, __m256d) {
    (_mm256_add_pd(x, y), f.mul(_mm256_sub_pd(x, y), w))
}

/// The first four levels of 16 canonical residues, with a reduction in the middle.
#[target_feature(enable = "avx2,fma")]
fn inverse_leaf(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<4>() else {
        return;
    };
    let mut x = [_mm256_setzero_pd(); 4];
    for i in 0..2 {
        let [twos, ones] = lane_factors(f, tw, 2 * slot + i);
        let (a, b) = (
            to_float(load(&block[2 * i])),
            to_float(load(&block[2 * i + 1])),
        );
        let (a, b) = unriffle(a, b);
        let (a, b) = inverse_butterfly(f, a, b, ones);
        let (a, b) = unriffle(a, b);
        let (a, b) = inverse_butterfly(f, a, b, twos);
        let (a, b) = unriffle(a, b);
        (x[2 * i], x[2 * i + 1]) = (f.reduce(a), f.reduce(b));
    }
    let x = inverse_4(f, &PassFactors::new(f, &tw.heap(slot)), x);
    for (out, x) in block.iter_mut().zip(x) {
        store_float(out, x);
    }
}

/// Twiddles of two levels: of the block and of its halves.
struct PassFactors {
    whole: Factors,
    halves: [Factors; 2],
}

impl PassFactors {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(f: &Field, heap: &[Factor; 8]) -> Self {
        Self {
            whole: f.splat(heap[1].w),
            halves: [f.splat(heap[2].w), f.splat(heap[3].w)],
        }
    }
}

/// Twiddles at distance 2 and 1 of the 8 residues at heap slot `slot`: two alternating, four.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lane_factors(f: &Field, tw: Twiddles<'_>, slot: usize) -> [Factors; 2] {
    let [a, b] = tw.w.as_chunks().0[slot];
    let twos = to_float(load(&[a, b, a, b]));
    let ones = to_float(load(&tw.w.as_chunks().0[slot]));
    [f.factors(twos), f.factors(ones)]
}

/// Interleaves: `a0 b0 a1 b1`, `a2 b2 a3 b3`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn riffle(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    (
        _mm256_permute2f128_pd::<0x20>(even, odd),
        _mm256_permute2f128_pd::<0x31>(even, odd),
    )
}

/// Even lanes of `a` and `b`, then odd lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn unriffle(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    let low = _mm256_permute2f128_pd::<0x20>(a, b);
    let high = _mm256_permute2f128_pd::<0x31>(a, b);
    (_mm256_unpacklo_pd(low, high), _mm256_unpackhi_pd(low, high))
}

/// Four equal parts of a block whose length is a multiple of 4.
fn quarters(block: &mut [Block]) -> [&mut [Block]; 4] {
    let (low, high) = block.split_at_mut(block.len() / 2);
    let (a, b) = low.split_at_mut(low.len() / 2);
    let (c, d) = high.split_at_mut(high.len() / 2);
    [a, b, c, d]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_float(x: &Block) -> __m256d {
    _mm256_castsi256_pd(load(x))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_float(x: &mut Block, v: __m256d) {
    store(x, _mm256_castpd_si256(v));
}
