//! Negacyclic transforms, two levels a pass, depth first.
//!
//! The tree of blocks is that of the AVX-512 back end: the block at heap slot `s` (root 1) splits
//! into slots `2s` and `2s + 1`, and its butterflies take twiddle `s`. Between the first and the
//! last pass a row holds the bits of doubles, of either sign. Bounds on them are given as multiples of
//! `q`. Every integer below `2^53` is exact, so that passes reduce only where results may exceed it: never in a
//! forward transform of a prime below `2^48`, at every second pass or so above.

use std::arch::x86_64::*;

use super::float::{Block, Factors, Field, load, store, to_float, to_int};
use crate::{
    Modulus,
    modulus::Factor,
    scalar,
    table::{NttTable, Twiddles},
};

/// Residues of a [`Leaf`].
const LEAF: usize = 16;

/// A block whose last four levels, two between its vectors and two within them, are done beside those of other leaves.
type Leaf = [Block; 4];

/// Most residues of a block that is transformed pass by pass: half of the first-level cache, and its twiddles beside it.
const NEAR: usize = 1024;

/// The constants of a transform.
struct Run<'a> {
    f: Field,
    tw: Twiddles<'a>,
    /// By how much the product of a residue one `q` from zero may exceed `0.5 q`.
    excess: f64,
    /// Integers below this bound are exact.
    exact: f64,
}

/// The levels of a pass, whether it reduces what it reads, and the bound of what it leaves.
#[derive(Clone, Copy)]
struct Step {
    levels: u32,
    reduces: bool,
    bound: f64,
}

/// The bound of a residue that was reduced.
const REDUCED: f64 = 0.51;

impl<'a> Run<'a> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus, tw: Twiddles<'a>) -> Self {
        let q = m.value() as f64;
        Self {
            f: Field::new(m),
            tw,
            // `1.5 2^-52 |x|`, as Field::mul has it.
            excess: 1.5 * q / (1u64 << 52) as f64,
            // A percent is left for the roundings of bounds.
            exact: 0.99 * (1u64 << 53) as f64 / q,
        }
    }

    /// Plans the next `levels` of a forward transform, of residues within `bound`.
    fn forward(&self, bound: f64, levels: u32) -> Step {
        let grown = |bound: f64| (0..levels).fold(bound, |a, _| a + 0.5 + self.excess * a);
        self.step(bound, levels, grown)
    }

    /// Plans the next `levels` of an inverse transform, of residues within `bound`.
    fn inverse(&self, bound: f64, levels: u32) -> Step {
        let level = |a: f64| f64::max(2.0 * a, 0.5 + self.excess * 2.0 * a);
        self.step(bound, levels, |bound| {
            (0..levels).fold(bound, |a, _| level(a))
        })
    }

    /// Plans a pass: it reduces what it reads if `grown`, the bound of its results, is not exact otherwise.
    fn step(&self, bound: f64, levels: u32, grown: impl Fn(f64) -> f64) -> Step {
        let lazy = grown(bound);
        let reduces = lazy > self.exact;
        Step {
            levels,
            reduces,
            bound: if reduces { grown(REDUCED) } else { lazy },
        }
    }
}

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
    let run = Run::new(t.modulus(), t.forward());
    descend(&run, 1, blocks, 1.0);
}

/// Transforms the block at heap slot `slot`, of residues within `bound`, down to the leaves.
#[target_feature(enable = "avx2,fma")]
fn descend(run: &Run<'_>, slot: usize, block: &mut [Block], bound: f64) {
    if 4 * block.len() <= NEAR {
        return descend_near(run, slot, block, bound);
    }
    let step = run.forward(bound, pass_levels(block));
    forward_pass(run, slot, block, step);
    let child_len = block.len() >> step.levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        descend(run, (slot << step.levels) + i, child, step.bound);
    }
}

/// Does the work of [`descend`] pass by pass: the processor works on several blocks at a time, each a chain of operations
/// that wait for one another.
#[target_feature(enable = "avx2,fma")]
fn descend_near(run: &Run<'_>, slot: usize, block: &mut [Block], mut bound: f64) {
    let (mut first, mut len) = (slot, block.len());
    while 4 * len > LEAF {
        let step = run.forward(bound, pass_levels(&block[..len]));
        for (i, part) in block.chunks_exact_mut(len).enumerate() {
            forward_pass(run, first + i, part, step);
        }
        (first, len) = (first << step.levels, len >> step.levels);
        bound = step.bound;
    }
    let (leaves, _) = block.as_chunks_mut();
    let step = run.forward(bound, 2);
    if step.reduces {
        forward_quads::<true>(run, first, leaves);
    } else {
        forward_quads::<false>(run, first, leaves);
    }
    if run.forward(step.bound, 2).reduces {
        forward_lanes::<true>(run, first, leaves);
    } else {
        forward_lanes::<false>(run, first, leaves);
    }
    for x in block {
        let v = run.f.canonical(run.f.reduce(load_float(x)));
        store(x, to_int(v));
    }
}

/// Does the next pass of the block at heap slot `slot`.
#[target_feature(enable = "avx2,fma")]
fn forward_pass(run: &Run<'_>, slot: usize, block: &mut [Block], step: Step) {
    let Run { f, tw, .. } = run;
    if step.levels == 1 {
        let w = f.splat(tw.at(slot).w);
        if step.reduces {
            forward_pass_2::<true>(f, w, block);
        } else {
            forward_pass_2::<false>(f, w, block);
        }
    } else {
        let w = PassFactors::new(f, &tw.heap(slot));
        if step.reduces {
            forward_pass_4::<true>(f, &w, block);
        } else {
            forward_pass_4::<false>(f, &w, block);
        }
    }
}

/// Returns the levels of the first pass of a forward transform, or of the last one of an inverse transform, of a block
/// that is longer than a leaf.
fn pass_levels(block: &[Block]) -> u32 {
    2 - (4 * block.len() / LEAF).trailing_zeros() % 2
}

/// Reads a vector of a block, and reduces it if that is asked for.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn read<const REDUCES: bool>(f: &Field, x: &Block) -> __m256d {
    if REDUCES {
        f.reduce(load_float(x))
    } else {
        load_float(x)
    }
}

/// One level.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_pass_2<const REDUCES: bool>(f: &Field, w: Factors, block: &mut [Block]) {
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = (read::<REDUCES>(f, a), read::<REDUCES>(f, b));
        let (x, y) = forward_butterfly(f, x, y, w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_pass_4<const REDUCES: bool>(f: &Field, w: &PassFactors, block: &mut [Block]) {
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [&*a, &*b, &*c, &*d].map(|x| read::<REDUCES>(f, x));
        for (out, x) in [a, b, c, d].into_iter().zip(forward_4(f, w, x)) {
            store_float(out, x);
        }
    }
}

/// Two levels of four vectors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_4(f: &Field, w: &PassFactors, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (a, c) = forward_butterfly(f, a, c, w.whole);
    let (b, d) = forward_butterfly(f, b, d, w.whole);
    let (a, b) = forward_butterfly(f, a, b, w.halves[0]);
    let (c, d) = forward_butterfly(f, c, d, w.halves[1]);
    [a, b, c, d]
}

/// `(x + w y, x - w y)`: within `a` in, `a + 0.5 + excess a` out.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_butterfly(f: &Field, x: __m256d, y: __m256d, w: Factors) -> (__m256d, __m256d) {
    let t = f.mul(y, w);
    (_mm256_add_pd(x, t), _mm256_sub_pd(x, t))
}

/// Does two levels of leaves, the first leaf at heap slot `first`.
#[target_feature(enable = "avx2,fma")]
fn forward_quads<const REDUCES: bool>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let Run { f, tw, .. } = run;
    for (slot, leaf) in (first..).zip(leaves) {
        let x = leaf.each_ref().map(|x| read::<REDUCES>(f, x));
        let x = forward_4(f, &PassFactors::new(f, &tw.heap(slot)), x);
        for (out, x) in leaf.iter_mut().zip(x) {
            store_float(out, x);
        }
    }
}

/// Does the last two levels of leaves, the first leaf at heap slot `first`.
#[target_feature(enable = "avx2,fma")]
fn forward_lanes<const REDUCES: bool>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let Run { f, tw, .. } = run;
    for (slot, leaf) in (first..).zip(leaves) {
        let [a, b, c, d] = transpose(leaf.each_ref().map(|x| read::<REDUCES>(f, x)));
        let w = LaneFactors::new(f, *tw, slot);
        let (a, c) = forward_butterfly(f, a, c, w.twos);
        let (b, d) = forward_butterfly(f, b, d, w.twos);
        let (a, b) = forward_butterfly(f, a, b, w.ones[0]);
        let (c, d) = forward_butterfly(f, c, d, w.ones[1]);
        for (out, x) in leaf.iter_mut().zip(transpose_back([a, b, c, d])) {
            store_float(out, x);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    if row.len() < LEAF {
        return scalar::ntt::inverse(t, row, last);
    }
    let run = Run::new(t.modulus(), t.inverse());
    let (blocks, _) = row.as_chunks_mut();
    ascend(&run, 1, blocks);
    let (f, n_inv) = (&run.f, run.f.splat(last[0].w));
    for x in blocks.iter_mut() {
        // Below `2^53`, so the product is within 3.5 and needs a reduction.
        let v = f.reduce(f.mul(load_float(x), n_inv));
        store(x, to_int(f.canonical(v)));
    }
}

/// Transforms the block at heap slot `slot` up from the leaves. Returns the bound of the results.
#[target_feature(enable = "avx2,fma")]
fn ascend(run: &Run<'_>, slot: usize, block: &mut [Block]) -> f64 {
    if 4 * block.len() <= NEAR {
        return ascend_near(run, slot, block);
    }
    let levels = pass_levels(block);
    let child_len = block.len() >> levels;
    let mut bound = 0.0;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        // All children have the same one.
        bound = ascend(run, (slot << levels) + i, child);
    }
    let step = run.inverse(bound, levels);
    inverse_pass(run, slot, block, step);
    step.bound
}

/// Does the work of [`ascend`] pass by pass, for the reason of [`descend_near`].
#[target_feature(enable = "avx2,fma")]
fn ascend_near(run: &Run<'_>, slot: usize, block: &mut [Block]) -> f64 {
    let (leaves, _) = block.as_chunks_mut();
    let count = leaves.len();
    inverse_lanes(run, slot * count, leaves);
    let step = run.inverse(run.inverse(1.0, 2).bound, 2);
    if step.reduces {
        inverse_quads::<true>(run, slot * count, leaves);
    } else {
        inverse_quads::<false>(run, slot * count, leaves);
    }
    let (mut parts, mut bound) = (count, step.bound);
    while parts > 1 {
        // An odd level is the last one.
        let levels = parts.trailing_zeros().min(2);
        let step = run.inverse(bound, levels);
        parts >>= levels;
        let len = block.len() / parts;
        for (i, part) in block.chunks_exact_mut(len).enumerate() {
            inverse_pass(run, slot * parts + i, part, step);
        }
        bound = step.bound;
    }
    bound
}

/// Does the last pass of the block at heap slot `slot`.
#[target_feature(enable = "avx2,fma")]
fn inverse_pass(run: &Run<'_>, slot: usize, block: &mut [Block], step: Step) {
    let Run { f, tw, .. } = run;
    if step.levels == 1 {
        let w = f.splat(tw.at(slot).w);
        if step.reduces {
            inverse_pass_2::<true>(f, w, block);
        } else {
            inverse_pass_2::<false>(f, w, block);
        }
    } else {
        let w = PassFactors::new(f, &tw.heap(slot));
        if step.reduces {
            inverse_pass_4::<true>(f, &w, block);
        } else {
            inverse_pass_4::<false>(f, &w, block);
        }
    }
}

/// One level.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_pass_2<const REDUCES: bool>(f: &Field, w: Factors, block: &mut [Block]) {
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = (read::<REDUCES>(f, a), read::<REDUCES>(f, b));
        let (x, y) = inverse_butterfly(f, x, y, w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_pass_4<const REDUCES: bool>(f: &Field, w: &PassFactors, block: &mut [Block]) {
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [&*a, &*b, &*c, &*d].map(|x| read::<REDUCES>(f, x));
        for (out, x) in [a, b, c, d].into_iter().zip(inverse_4(f, w, x)) {
            store_float(out, x);
        }
    }
}

/// Two levels of four vectors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_4(f: &Field, w: &PassFactors, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (a, b) = inverse_butterfly(f, a, b, w.halves[0]);
    let (c, d) = inverse_butterfly(f, c, d, w.halves[1]);
    let (a, c) = inverse_butterfly(f, a, c, w.whole);
    let (b, d) = inverse_butterfly(f, b, d, w.whole);
    [a, b, c, d]
}

/// `(x + y, w (x - y))`: within `a` in, `max(2 a, 0.5 + 2 excess a)` out.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_butterfly(f: &Field, x: __m256d, y: __m256d, w: Factors) -> (__m256d, __m256d) {
    (_mm256_add_pd(x, y), f.mul(_mm256_sub_pd(x, y), w))
}

/// Does the first two levels of leaves of canonical residues, the first leaf at heap slot `first`.
#[target_feature(enable = "avx2,fma")]
fn inverse_lanes(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let Run { f, tw, .. } = run;
    for (slot, leaf) in (first..).zip(leaves) {
        let [a, b, c, d] = transpose(leaf.each_ref().map(|x| to_float(load(x))));
        let w = LaneFactors::new(f, *tw, slot);
        let (a, b) = inverse_butterfly(f, a, b, w.ones[0]);
        let (c, d) = inverse_butterfly(f, c, d, w.ones[1]);
        let (a, c) = inverse_butterfly(f, a, c, w.twos);
        let (b, d) = inverse_butterfly(f, b, d, w.twos);
        for (out, x) in leaf.iter_mut().zip(transpose_back([a, b, c, d])) {
            store_float(out, x);
        }
    }
}

/// Does two levels of leaves, the first leaf at heap slot `first`.
#[target_feature(enable = "avx2,fma")]
fn inverse_quads<const REDUCES: bool>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let Run { f, tw, .. } = run;
    for (slot, leaf) in (first..).zip(leaves) {
        let x = leaf.each_ref().map(|x| read::<REDUCES>(f, x));
        let x = inverse_4(f, &PassFactors::new(f, &tw.heap(slot)), x);
        for (out, x) in leaf.iter_mut().zip(x) {
            store_float(out, x);
        }
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

/// Twiddles of the last two levels of a leaf whose four vectors are [`transpose`]d.
struct LaneFactors {
    twos: Factors,
    /// The factors of the first two vectors, then of the others.
    ones: [Factors; 2],
}

impl LaneFactors {
    /// Returns those of the leaf at heap slot `slot`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(f: &Field, tw: Twiddles<'_>, slot: usize) -> Self {
        let twos = to_float(load(&tw.w.as_chunks().0[slot]));
        let [low, high]: &[Block; 2] = &tw.w.as_chunks().0.as_chunks().0[slot];
        let (low, high) = (to_float(load(low)), to_float(load(high)));
        Self {
            twos: f.factors(_mm256_permute4x64_pd::<0b11_01_10_00>(twos)),
            ones: [
                f.factors(_mm256_unpacklo_pd(low, high)),
                f.factors(_mm256_unpackhi_pd(low, high)),
            ],
        }
    }
}

/// Turns four vectors, the rows of a square, into its columns: vector i has lane i of all, in the order 0, 2, 1, 3.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (ac_even, ac_odd) = (_mm256_unpacklo_pd(a, c), _mm256_unpackhi_pd(a, c));
    let (bd_even, bd_odd) = (_mm256_unpacklo_pd(b, d), _mm256_unpackhi_pd(b, d));
    [
        _mm256_permute2f128_pd::<0x20>(ac_even, bd_even),
        _mm256_permute2f128_pd::<0x20>(ac_odd, bd_odd),
        _mm256_permute2f128_pd::<0x31>(ac_even, bd_even),
        _mm256_permute2f128_pd::<0x31>(ac_odd, bd_odd),
    ]
}

/// Undoes [`transpose`].
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose_back([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (even_low, odd_low) = (
        _mm256_permute2f128_pd::<0x20>(a, c),
        _mm256_permute2f128_pd::<0x20>(b, d),
    );
    let (even_high, odd_high) = (
        _mm256_permute2f128_pd::<0x31>(a, c),
        _mm256_permute2f128_pd::<0x31>(b, d),
    );
    [
        _mm256_unpacklo_pd(even_low, odd_low),
        _mm256_unpacklo_pd(even_high, odd_high),
        _mm256_unpackhi_pd(even_low, odd_low),
        _mm256_unpackhi_pd(even_high, odd_high),
    ]
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
