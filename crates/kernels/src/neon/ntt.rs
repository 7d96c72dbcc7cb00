//! Negacyclic transforms, two levels a pass, depth first.
//!
//! The tree of blocks is the same in all back ends: the block at heap slot `s` (root 1) splits into
//! slots `2s` and `2s + 1`, and its butterflies take twiddle `s`. Between the first and the last pass
//! a row holds the bits of doubles, of either sign. Bounds on them are given as multiples of `q`;
//! every integer below `8q < 2^53` is exact.

use std::arch::aarch64::*;

use super::float::{Block, Factor, Field, load_float, load_residues, store, store_float};
use crate::{
    modulus, scalar,
    table::{NttTable, Twiddles},
};

/// Residues of the last pass of the forward transform and the first of the inverse.
pub(super) const LEAF: usize = 16;
const LEAF_BLOCKS: usize = LEAF / 2;

/// How a pass takes its input: residues; doubles as they are; doubles that it reduces.
const RESIDUES: u8 = 0;
const WITHIN: u8 = 1;
const REDUCED: u8 = 2;

#[target_feature(enable = "neon")]
pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    if row.len() <= LEAF {
        return scalar::ntt::forward(t, row);
    }
    let (f, tw) = (Field::new(t.modulus()), t.forward());
    let (blocks, _) = row.as_chunks_mut();
    let levels = pass_levels(levels_above(blocks));
    match levels {
        1 => pass_2::<RESIDUES>(&f, tw, 1, blocks),
        _ => pass_4::<RESIDUES>(&f, tw, 1, blocks),
    }
    let child_len = blocks.len() >> levels;
    for (i, child) in blocks.chunks_exact_mut(child_len).enumerate() {
        descend(&f, tw, (1 << levels) + i, child);
    }
}

/// Transforms the block at heap slot `slot` down to the leaves, from within 3.1.
///
/// One of any two successive passes reduces its input, to within 0.51 q; a pass that does not ends within 7.1 q.
#[target_feature(enable = "neon")]
fn descend(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    match levels_above(block) {
        0 => return leaf(f, tw, slot, block),
        levels if levels % 4 == 0 => pass_4::<REDUCED>(f, tw, slot, block),
        _ => pass_4::<WITHIN>(f, tw, slot, block),
    }
    let child_len = block.len() / 4;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        descend(f, tw, 4 * slot + i, child);
    }
}

/// Levels from this block to the leaves.
pub(super) fn levels_above(block: &[Block]) -> u32 {
    (block.len() / LEAF_BLOCKS).trailing_zeros()
}

/// Levels of the pass that is `left` levels above the leaves.
pub(super) fn pass_levels(left: u32) -> u32 {
    2 - left % 2
}

/// One level.
#[target_feature(enable = "neon")]
fn pass_2<const INPUT: u8>(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let w = f.factor(tw.at(slot).w);
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = butterfly(f, input::<INPUT>(f, a), input::<INPUT>(f, b), w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels: from within 1 to within 3.1, from within 0.51 to within 2.2.
#[target_feature(enable = "neon")]
fn pass_4<const INPUT: u8>(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let heap = tw.heap(slot);
    let [whole, low, high] = [1, 2, 3].map(|i| f.factor(heap[i].w));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let (x, z) = butterfly(f, input::<INPUT>(f, a), input::<INPUT>(f, c), whole);
        let (y, u) = butterfly(f, input::<INPUT>(f, b), input::<INPUT>(f, d), whole);
        let (x, y) = butterfly(f, x, y, low);
        let (z, u) = butterfly(f, z, u, high);
        for (out, x) in [a, b, c, d].into_iter().zip([x, y, z, u]) {
            store_float(out, x);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn input<const INPUT: u8>(f: &Field, x: &Block) -> float64x2_t {
    match INPUT {
        RESIDUES => load_residues(x),
        WITHIN => load_float(x),
        _ => f.reduce(load_float(x)),
    }
}

/// `(x + w y, x - w y)`: within `a` in, `0.5 + 1.375 a` out.
#[inline]
#[target_feature(enable = "neon")]
fn butterfly(f: &Field, x: float64x2_t, y: float64x2_t, w: Factor) -> (float64x2_t, float64x2_t) {
    let t = f.mul(y, w);
    (vaddq_f64(x, t), vsubq_f64(x, t))
}

/// The last four levels of 16 residues, then the canonical range. Within 5.3 before that.
#[target_feature(enable = "neon")]
fn leaf(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<LEAF_BLOCKS>() else {
        return;
    };
    let mut x = [vdupq_n_f64(0.0); LEAF_BLOCKS];
    for i in 0..LEAF_BLOCKS {
        x[i] = f.reduce(load_float(&block[i]));
    }
    let heap = tw.heap(slot);
    for level in 0..3 {
        three_levels(&mut x, level, &heap, |x, y, w| {
            butterfly(f, x, y, f.factor(w.w))
        });
    }
    let ones = &tw.w.as_chunks::<2>().0[4 * slot..][..4];
    for i in 0..4 {
        let (a, b) = (x[2 * i], x[2 * i + 1]);
        let (a, b) = (vzip1q_f64(a, b), vzip2q_f64(a, b));
        let t = f.mul_each(b, f.factors(load_residues(&ones[i])));
        let (a, b) = (vaddq_f64(a, t), vsubq_f64(a, t));
        let (a, b) = (f.residues(f.reduce(a)), f.residues(f.reduce(b)));
        store(&mut block[2 * i], vzip1q_u64(a, b));
        store(&mut block[2 * i + 1], vzip2q_u64(a, b));
    }
}

/// One of the three levels between eight vectors, 0 the uppermost.
#[inline(always)]
pub(super) fn three_levels<V: Copy>(
    x: &mut [V; 8],
    level: u32,
    heap: &[modulus::Factor; 8],
    butterfly: impl Fn(V, V, modulus::Factor) -> (V, V),
) {
    let half = 4 >> level;
    for part in 0..1 << level {
        for i in 2 * half * part..2 * half * part + half {
            (x[i], x[i + half]) = butterfly(x[i], x[i + half], heap[(1 << level) + part]);
        }
    }
}

/// Four equal parts of a block whose length is a multiple of 4.
pub(super) fn quarters(block: &mut [Block]) -> [&mut [Block]; 4] {
    let (low, high) = block.split_at_mut(block.len() / 2);
    let (a, b) = low.split_at_mut(low.len() / 2);
    let (c, d) = high.split_at_mut(high.len() / 2);
    [a, b, c, d]
}
