//! Inverse transforms, from the leaves up. Order, bounds: see [`super::ntt`].

use std::arch::aarch64::*;

use super::float::{Block, Factor, Field, load_float, load_residues, store, store_float};
use super::ntt::{LEAF, levels_above, pass_levels, quarters, three_levels};
use crate::{
    modulus, scalar,
    table::{NttTable, Twiddles},
};

#[target_feature(enable = "neon")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [modulus::Factor; 2]) {
    // Of 32 residues the sums of the last level would leave the range.
    if row.len() <= 2 * LEAF {
        return scalar::ntt::inverse(t, row, last);
    }
    let (f, tw) = (Field::new(t.modulus()), t.inverse());
    let (blocks, _) = row.as_chunks_mut();
    let levels = pass_levels(levels_above(blocks));
    let child_len = blocks.len() >> levels;
    for (i, child) in blocks.chunks_exact_mut(child_len).enumerate() {
        ascend(&f, tw, (1 << levels) + i, child);
    }
    let last = last.map(|factor| f.factor(factor.w));
    match levels_above(blocks) % 4 {
        0 => last_pass_4::<false>(&f, tw, last, blocks),
        2 => last_pass_4::<true>(&f, tw, last, blocks),
        _ => last_pass_2(&f, last, blocks),
    }
}

/// Transforms the block at heap slot `slot` up from the leaves. Of any two passes the first reduces all
/// of its input and ends within 1.8, the second ends within 3.7: a reduction of sums of four is enough.
#[target_feature(enable = "neon")]
fn ascend(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let levels = levels_above(block);
    if levels == 0 {
        return leaf(f, tw, slot, block);
    }
    let child_len = block.len() / 4;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        ascend(f, tw, 4 * slot + i, child);
    }
    match levels % 4 {
        0 => pass_4::<false>(f, tw, slot, block),
        _ => pass_4::<true>(f, tw, slot, block),
    }
}

/// Two levels. Sums of four are reduced.
#[target_feature(enable = "neon")]
fn pass_4<const REDUCE: bool>(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let heap = tw.heap(slot);
    let [whole, low, high] = [1, 2, 3].map(|i| f.factor(heap[i].w));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let [x, y, z, u] = [&*a, b, c, d].map(|x| input::<REDUCE>(f, x));
        let (x, y) = butterfly(f, x, y, low);
        let (z, u) = butterfly(f, z, u, high);
        let (x, z) = butterfly(f, x, z, whole);
        let (y, u) = butterfly(f, y, u, whole);
        for (out, x) in [a, b, c, d].into_iter().zip([f.reduce(x), y, z, u]) {
            store_float(out, x);
        }
    }
}

/// The root, and the constant that the transform is multiplied by: from within 3.7.
#[target_feature(enable = "neon")]
fn last_pass_2(f: &Field, last: [Factor; 2], block: &mut [Block]) {
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = last_butterfly(f, load_float(a), load_float(b), last);
        store(a, x);
        store(b, y);
    }
}

/// The root's children before it.
#[target_feature(enable = "neon")]
fn last_pass_4<const REDUCE: bool>(
    f: &Field,
    tw: Twiddles<'_>,
    last: [Factor; 2],
    block: &mut [Block],
) {
    let [low, high] = [2, 3].map(|slot| f.factor(tw.at(slot).w));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let [x, y, z, u] = [&*a, b, c, d].map(|x| input::<REDUCE>(f, x));
        let (x, y) = butterfly(f, x, y, low);
        let (z, u) = butterfly(f, z, u, high);
        let (x, z) = last_butterfly(f, x, z, last);
        let (y, u) = last_butterfly(f, y, u, last);
        for (out, x) in [a, b, c, d].into_iter().zip([x, y, z, u]) {
            store(out, x);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn input<const REDUCE: bool>(f: &Field, x: &Block) -> float64x2_t {
    if REDUCE {
        f.reduce(load_float(x))
    } else {
        load_float(x)
    }
}

/// `(x + y, w (x - y))`: within `a` in, `max(2 a, 0.5 + 0.75 a)` out.
#[inline]
#[target_feature(enable = "neon")]
fn butterfly(f: &Field, x: float64x2_t, y: float64x2_t, w: Factor) -> (float64x2_t, float64x2_t) {
    (vaddq_f64(x, y), f.mul(vsubq_f64(x, y), w))
}

#[inline]
#[target_feature(enable = "neon")]
fn last_butterfly(
    f: &Field,
    x: float64x2_t,
    y: float64x2_t,
    [sum, difference]: [Factor; 2],
) -> (uint64x2_t, uint64x2_t) {
    let (x, y) = (
        f.mul(vaddq_f64(x, y), sum),
        f.mul(vsubq_f64(x, y), difference),
    );
    (f.residues(f.reduce(x)), f.residues(f.reduce(y)))
}

/// The first four levels of 16 canonical residues. After two of them sums of four are within 4, the
/// rest within 1.8; those reduced, the last two end within 5.
#[target_feature(enable = "neon")]
fn leaf(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<{ LEAF / 2 }>() else {
        return;
    };
    let heap = tw.heap(slot);
    let ones = &tw.w.as_chunks::<2>().0[4 * slot..][..4];
    let mut x = [vdupq_n_f64(0.0); LEAF / 2];
    for i in 0..4 {
        let (a, b) = (
            load_residues(&block[2 * i]),
            load_residues(&block[2 * i + 1]),
        );
        let (a, b) = (vuzp1q_f64(a, b), vuzp2q_f64(a, b));
        let w = f.factors(load_residues(&ones[i]));
        let (a, b) = (vaddq_f64(a, b), f.mul_each(vsubq_f64(a, b), w));
        (x[2 * i], x[2 * i + 1]) = (vuzp1q_f64(a, b), vuzp2q_f64(a, b));
    }
    for level in (0..3).rev() {
        three_levels(&mut x, level, &heap, |x, y, w| {
            butterfly(f, x, y, f.factor(w.w))
        });
        if level == 2 {
            for i in 0..4 {
                x[2 * i] = f.reduce(x[2 * i]);
            }
        }
    }
    for (out, x) in block.iter_mut().zip(x) {
        store_float(out, x);
    }
}
