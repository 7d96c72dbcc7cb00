//! Forward transform: Cooley-Tukey, several levels a pass, depth first.
//!
//! Levels form a binary tree of blocks: the block at heap slot `s` (root 1) splits into slots `2s`
//! and `2s + 1`, and its butterflies take twiddle `s`. A pass takes a block through 1 to 3 levels in
//! registers; the last 6 levels of each 64 residues are one pass.
//!
//! Lanes carry rubbish (see [`super::field`]) and grow by `2q` a level. How often they are reduced to
//! `[0, 2q)` depends on the modulus ([`ALWAYS`], [`EACH_PASS`], [`NEVER`]).

use std::arch::x86_64::*;

use super::field::{Block, Factors, Field, load, load_at, store, store_at};
use crate::{
    scalar,
    table::{NttTable, Twiddles},
};

/// Residues of the last pass.
pub(super) const LEAF: usize = 64;

/// Every butterfly reduces: lanes stay in `[0, 4q)`.
const ALWAYS: u32 = 50;
/// The first level of every three reduces: lanes stay in `[0, 8q)`.
const EACH_PASS: u32 = 49;
/// No butterfly reduces: lanes stay below `35 q` after 17 levels.
const NEVER: u32 = 46;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    if row.len() < LEAF {
        return scalar::ntt::forward(t, row);
    }
    let f = Field::new(t.modulus());
    let (blocks, _) = row.as_chunks_mut();
    let bits = t.modulus().bits();
    if bits <= NEVER {
        descend::<NEVER>(&f, t.forward(), 1, blocks);
    } else if bits <= EACH_PASS {
        descend::<EACH_PASS>(&f, t.forward(), 1, blocks);
    } else {
        descend::<ALWAYS>(&f, t.forward(), 1, blocks);
    }
}

/// Levels of the next pass, where `left` levels come before the leaves.
pub(super) fn pass_levels(left: u32) -> u32 {
    match left {
        0..=2 => left,
        4 => 2,
        _ => 3,
    }
}

/// Transforms the block at heap slot `slot` down to the leaves.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn descend<const BITS: u32>(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let levels = pass_levels((block.len() * 8 / LEAF).trailing_zeros());
    match levels {
        0 => return leaf::<BITS>(f, tw, slot, block),
        1 => pass::<2, BITS>(f, tw, slot, block),
        2 => pass::<4, BITS>(f, tw, slot, block),
        _ => pass::<8, BITS>(f, tw, slot, block),
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        descend::<BITS>(f, tw, (slot << levels) + i, child);
    }
}

/// The butterflies of a pass, in registers: one line a block, named by its twiddle. Macros because
/// the body must be unrolled and is too large for the compiler to inline it twice.
macro_rules! butterflies {
    ($f:expr, $w:expr, $x:ident, 2) => {
        butterflies!($f, $x, first $w[1]; 0 1);
    };
    ($f:expr, $w:expr, $x:ident, 4) => {
        butterflies!($f, $x, first $w[1]; 0 2, 1 3);
        butterflies!($f, $x, later $w[2]; 0 1);
        butterflies!($f, $x, later $w[3]; 2 3);
    };
    ($f:expr, $w:expr, $x:ident, 8) => {
        butterflies!($f, $x, first $w[1]; 0 4, 1 5, 2 6, 3 7);
        butterflies!($f, $x, later $w[2]; 0 2, 1 3);
        butterflies!($f, $x, later $w[3]; 4 6, 5 7);
        butterflies!($f, $x, later $w[4]; 0 1);
        butterflies!($f, $x, later $w[5]; 2 3);
        butterflies!($f, $x, later $w[6]; 4 5);
        butterflies!($f, $x, later $w[7]; 6 7);
    };
    ($f:expr, $x:ident, first $w:expr; $($i:literal $j:literal),*) => {
        let w = Factors::splat($w);
        $(($x[$i], $x[$j]) = butterfly::<BITS, true>($f, $x[$i], $x[$j], w);)*
    };
    ($f:expr, $x:ident, later $w:expr; $($i:literal $j:literal),*) => {
        let w = Factors::splat($w);
        $(($x[$i], $x[$j]) = butterfly::<BITS, false>($f, $x[$i], $x[$j], w);)*
    };
}

/// `log2(R)` levels over a block of `R` equal parts; `R` is 2, 4 or 8.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pass<const R: usize, const BITS: u32>(
    f: &Field,
    tw: Twiddles<'_>,
    slot: usize,
    block: &mut [Block],
) {
    let stride = block.len() / R;
    let w = tw.heap(slot);
    for j in 0..stride {
        let mut x = [_mm512_setzero_si512(); 8];
        for (k, x) in x.iter_mut().enumerate().take(R) {
            // SAFETY: j < stride and k < R, so j + k stride < R stride <= block.len().
            *x = unsafe { load_at(block, j + k * stride) };
        }
        match R {
            2 => {
                butterflies!(f, w, x, 2);
            }
            4 => {
                butterflies!(f, w, x, 4);
            }
            _ => {
                butterflies!(f, w, x, 8);
            }
        }
        for (k, &x) in x.iter().enumerate().take(R) {
            // SAFETY: as above.
            unsafe { store_at(block, j + k * stride, x) };
        }
    }
}

/// `(x + w y, x - w y)`. Both sums start from a multiple of `q` that keeps them positive:
/// `x + q` and `w y - q`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly<const BITS: u32, const FIRST: bool>(
    f: &Field,
    x: __m512i,
    y: __m512i,
    w: Factors,
) -> (__m512i, __m512i) {
    let reduces = BITS == ALWAYS || (BITS == EACH_PASS && FIRST);
    let x = if reduces {
        f.reduce_from(f.minus_one, x)
    } else {
        _mm512_add_epi64(x, f.q)
    };
    let t = f.mul_acc(f.neg_q, y, w);
    (_mm512_add_epi64(x, t), _mm512_sub_epi64(x, t))
}

/// The last six levels of 64 residues, then the canonical range.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf<const BITS: u32>(f: &Field, tw: Twiddles<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<8>() else {
        return;
    };
    let w = tw.heap(slot);
    let mut x = [_mm512_setzero_si512(); 8];
    for i in 0..8 {
        x[i] = load(&block[i]);
    }
    butterflies!(f, w, x, 8);
    let lane_factors = LeafFactors::new(tw, slot);
    for (i, pair) in block.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (a, b) = lanes::<BITS>(f, lane_factors.of(i), x[2 * i], x[2 * i + 1]);
        store(&mut pair[0], f.canonical(f.reduce(a)));
        store(&mut pair[1], f.canonical(f.reduce(b)));
    }
}

/// The levels of distance 4, 2 and 1 of 16 residues, with the twiddles `w` in this order.
///
/// A riffle before each level brings partners to the same lane of two vectors, and the blocks to
/// the order in which their twiddles lie.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lanes<const BITS: u32>(
    f: &Field,
    w: [Factors; 3],
    a: __m512i,
    b: __m512i,
) -> (__m512i, __m512i) {
    let (x, y) = riffle(a, b);
    let (x, y) = butterfly::<BITS, true>(f, x, y, w[0]);
    let (x, y) = riffle(x, y);
    let (x, y) = butterfly::<BITS, false>(f, x, y, w[1]);
    let (x, y) = riffle(x, y);
    let (x, y) = butterfly::<BITS, false>(f, x, y, w[2]);
    riffle(x, y)
}

/// Interleaves: `a0 b0 a1 b1 ...`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn riffle(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let low = load(&[0, 8, 1, 9, 2, 10, 3, 11]);
    let high = load(&[4, 12, 5, 13, 6, 14, 7, 15]);
    (
        _mm512_permutex2var_epi64(a, low, b),
        _mm512_permutex2var_epi64(a, high, b),
    )
}

/// Twiddles of the last three levels of a leaf, as they lie: four groups of 16 residues each.
pub(super) struct LeafFactors<'a> {
    pairs: [&'a [[u64; 2]; 4]; 2],
    quads: [&'a [[u64; 4]; 4]; 2],
    octets: [&'a [[u64; 8]; 4]; 2],
}

impl<'a> LeafFactors<'a> {
    /// Of the leaf at heap slot `slot`.
    #[inline(always)]
    pub(super) fn new(tw: Twiddles<'a>, slot: usize) -> Self {
        let rows = [tw.w, tw.quotient];
        Self {
            pairs: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
            quads: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
            octets: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
        }
    }

    /// Of group `i < 4`, at distance 4, 2 and 1.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn of(&self, i: usize) -> [Factors; 3] {
        [
            Factors::pair(&self.pairs[0][i], &self.pairs[1][i]),
            Factors::quad(&self.quads[0][i], &self.quads[1][i]),
            Factors::octet(&self.octets[0][i], &self.octets[1][i]),
        ]
    }
}
