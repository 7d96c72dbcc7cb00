//! Inverse transform: Gentleman-Sande, the forward transform's passes in the opposite order.
//!
//! Lanes stay in `[0, 2q)` with rubbish (see [`super::field`]). The root pass also multiplies by
//! `1 / n` and makes the residues canonical.

use std::arch::x86_64::*;

use super::{
    field::{Block, Factors, Field, load, load_at, store, store_at},
    ntt::{LEAF, LeafFactors, pass_levels},
};
use crate::{
    scalar,
    table::{Factor, NttTable},
};

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64]) {
    if row.len() < LEAF {
        return scalar::ntt::inverse(t, row);
    }
    let (blocks, _) = row.as_chunks_mut();
    ascend::<true>(&Field::new(t.modulus()), t, 1, blocks);
}

/// Transforms the block at heap slot `slot` up from the leaves.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ascend<const ROOT: bool>(f: &Field, t: &NttTable, slot: usize, block: &mut [Block]) {
    let levels = pass_levels((block.len() * 8 / LEAF).trailing_zeros());
    if levels == 0 {
        return leaf::<ROOT>(f, t, slot, block);
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        ascend::<false>(f, t, (slot << levels) + i, child);
    }
    match levels {
        1 => pass::<1, 2, ROOT>(f, t, slot, block),
        2 => pass::<2, 4, ROOT>(f, t, slot, block),
        3 => pass::<3, 8, ROOT>(f, t, slot, block),
        _ => pass::<4, 16, ROOT>(f, t, slot, block),
    }
}

/// The butterflies of a pass, in registers: from the last level to the first. A macro because
/// the unrolled body is too large for the compiler to inline it twice.
macro_rules! butterflies {
    ($f:expr, $factors:expr, $x:ident: $r:expr, $k:expr, root: $root:expr) => {
        for level in (0..$k).rev() {
            let half = $r >> (level + 1);
            for i in 0..1 << level {
                let w = Factors::splat($factors[(1 << level) + i]);
                for k in 2 * half * i..2 * half * i + half {
                    ($x[k], $x[k + half]) = if $root && level == 0 {
                        root_butterfly($f, $x[k], $x[k + half], Factors::splat($factors[0]), w)
                    } else {
                        butterfly($f, $x[k], $x[k + half], w)
                    };
                }
            }
        }
    };
}

/// `K` levels over a block of `R = 2^K` equal parts.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pass<const K: usize, const R: usize, const ROOT: bool>(
    f: &Field,
    t: &NttTable,
    slot: usize,
    block: &mut [Block],
) {
    let stride = block.len() / R;
    let factors = factors::<R, ROOT>(t, slot);
    for j in 0..stride {
        let mut x = [_mm512_setzero_si512(); R];
        for (k, x) in x.iter_mut().enumerate() {
            // SAFETY: j < stride and k < R, so j + k stride < R stride <= block.len().
            *x = unsafe { load_at(block, j + k * stride) };
        }
        butterflies!(f, factors, x: R, K, root: ROOT);
        for (k, &x) in x.iter().enumerate() {
            // SAFETY: as above.
            unsafe { store_at(block, j + k * stride, x) };
        }
    }
}

/// Twiddles of a pass. At the root, entry 1 includes the factor `1 / n` and entry 0 is that factor
/// alone.
#[inline]
fn factors<const R: usize, const ROOT: bool>(t: &NttTable, slot: usize) -> [Factor; R] {
    let mut factors = t.inverse().heap::<R>(slot);
    if ROOT {
        (factors[0], factors[1]) = (t.n_inv(), t.n_inv_root());
    }
    factors
}

/// `(x + y, w (x - y))`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly(f: &Field, x: __m512i, y: __m512i, w: Factors) -> (__m512i, __m512i) {
    let difference = _mm512_sub_epi64(_mm512_add_epi64(x, f.two_q), y);
    (f.reduce(_mm512_add_epi64(x, y)), f.mul(difference, w))
}

/// `(n_inv (x + y), w (x - y))`, canonical.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn root_butterfly(
    f: &Field,
    x: __m512i,
    y: __m512i,
    n_inv: Factors,
    w: Factors,
) -> (__m512i, __m512i) {
    let difference = _mm512_sub_epi64(_mm512_add_epi64(x, f.two_q), y);
    let sum = f.mul(_mm512_add_epi64(x, y), n_inv);
    (f.canonical(sum), f.canonical(f.mul(difference, w)))
}

/// The first six levels of 64 residues.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf<const ROOT: bool>(f: &Field, t: &NttTable, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<8>() else {
        return;
    };
    let mut x = [_mm512_setzero_si512(); 8];
    let lane_factors = LeafFactors::new(t.inverse(), slot);
    for i in 0..4 {
        let (a, b) = (load(&block[2 * i]), load(&block[2 * i + 1]));
        (x[2 * i], x[2 * i + 1]) = lanes(f, lane_factors.of(i), a, b);
    }
    let factors = factors::<8, ROOT>(t, slot);
    butterflies!(f, factors, x: 8, 3, root: ROOT);
    for i in 0..8 {
        store(&mut block[i], x[i]);
    }
}

/// The levels of distance 1, 2 and 4 of 16 residues, with the twiddles `w` in the opposite order.
/// Undoes the riffles of the forward transform, one before each level.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lanes(f: &Field, w: [Factors; 3], a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (x, y) = unriffle(a, b);
    let (x, y) = butterfly(f, x, y, w[2]);
    let (x, y) = unriffle(x, y);
    let (x, y) = butterfly(f, x, y, w[1]);
    let (x, y) = unriffle(x, y);
    let (x, y) = butterfly(f, x, y, w[0]);
    unriffle(x, y)
}

/// Even lanes of `a` and `b`, then odd lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn unriffle(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let even = load(&[0, 2, 4, 6, 8, 10, 12, 14]);
    let odd = load(&[1, 3, 5, 7, 9, 11, 13, 15]);
    (
        _mm512_permutex2var_epi64(a, even, b),
        _mm512_permutex2var_epi64(a, odd, b),
    )
}
