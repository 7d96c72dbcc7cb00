//! Inverse transform: Gentleman-Sande, the forward transform's passes in the opposite order.
//!
//! Lanes are `[0, 2q)` plus a bias, with rubbish (see [`super::field`]): the first partner of the
//! next butterfly carries `+q`, the second `-q`. Their difference is then positive and their sum
//! unbiased, and the bias costs nothing to add (see [`Bias`]). The root pass also multiplies by
//! a constant, `1 / n` times a scale, and makes the residues canonical.

use std::arch::x86_64::*;

use super::{
    field::{Block, Factors, Field, load, load_at, store, store_at},
    ntt::{LEAF, LeafFactors, pass_levels},
};
use crate::{
    modulus::Factor,
    scalar,
    table::{NttTable, Twiddles},
};

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    if row.len() < LEAF {
        return scalar::ntt::inverse(t, row, last);
    }
    let (blocks, _) = row.as_chunks_mut();
    let plan = Plan {
        f: Field::new(t.modulus()),
        twiddles: t.inverse(),
        last,
    };
    ascend::<true>(&plan, 1, blocks);
}

/// What every pass needs.
struct Plan<'a> {
    f: Field,
    twiddles: Twiddles<'a>,
    /// The constant factor of the whole, alone and times the root's twiddle.
    last: [Factor; 2],
}

/// Transforms the block at heap slot `slot` up from the leaves.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ascend<const ROOT: bool>(plan: &Plan<'_>, slot: usize, block: &mut [Block]) {
    let levels = pass_levels((block.len() * 8 / LEAF).trailing_zeros());
    if levels == 0 {
        return leaf::<ROOT>(plan, slot, block);
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        ascend::<false>(plan, (slot << levels) + i, child);
    }
    match levels {
        1 => pass::<2, ROOT>(plan, slot, block),
        2 => pass::<4, ROOT>(plan, slot, block),
        _ => pass::<8, ROOT>(plan, slot, block),
    }
}

/// What a butterfly adds to its results.
#[derive(Clone, Copy)]
struct Bias {
    /// Where the quotient of the sum starts: one less adds `q`.
    quotient: __m512i,
    /// Where the product starts.
    product: __m512i,
}

impl Bias {
    /// For the results of block `slot`, which go to a first (`+q`) or second (`-q`) partner.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn of_block(f: &Field, slot: usize) -> Self {
        let (quotient, product) = if slot.is_multiple_of(2) {
            (f.minus_one, f.q)
        } else {
            (f.one, f.neg_q)
        };
        Self { quotient, product }
    }

    /// For lanes of alternate blocks.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn alternating(f: &Field) -> Self {
        const ODD: u8 = 0b1010_1010;
        Self {
            quotient: _mm512_mask_mov_epi64(f.minus_one, ODD, f.one),
            product: _mm512_mask_mov_epi64(f.q, ODD, f.neg_q),
        }
    }
}

/// The butterflies of a pass, in registers: one line a block, named by its twiddle. Macros because
/// the body must be unrolled and is too large for the compiler to inline it twice.
macro_rules! butterflies {
    ($c:expr, $x:ident, 2) => {
        butterflies!($c, $x, root 1; 0 1);
    };
    ($c:expr, $x:ident, 4) => {
        butterflies!($c, $x, even 2; 0 1);
        butterflies!($c, $x, odd 3; 2 3);
        butterflies!($c, $x, root 1; 0 2, 1 3);
    };
    ($c:expr, $x:ident, 8) => {
        butterflies!($c, $x, even 4; 0 1);
        butterflies!($c, $x, odd 5; 2 3);
        butterflies!($c, $x, even 6; 4 5);
        butterflies!($c, $x, odd 7; 6 7);
        butterflies!($c, $x, even 2; 0 2, 1 3);
        butterflies!($c, $x, odd 3; 4 6, 5 7);
        butterflies!($c, $x, root 1; 0 4, 1 5, 2 6, 3 7);
    };
    ($c:expr, $x:ident, root $w:literal; $($i:literal $j:literal),*) => {
        if ROOT {
            let (n_inv, w) = (Factors::splat($c.w[0]), Factors::splat($c.w[1]));
            $(($x[$i], $x[$j]) = root_butterfly($c.f, $x[$i], $x[$j], n_inv, w);)*
        } else {
            butterflies!($c, $x, own $w; $($i $j),*);
        }
    };
    ($c:expr, $x:ident, $bias:ident $w:literal; $($i:literal $j:literal),*) => {
        let w = Factors::splat($c.w[$w]);
        $(($x[$i], $x[$j]) = butterfly($c.f, $x[$i], $x[$j], w, $c.$bias());)*
    };
}

/// What the butterflies of a pass need.
struct Constants<'a> {
    f: &'a Field,
    /// Twiddles. At the root, entry 1 includes the constant and entry 0 is the constant alone.
    w: [Factor; 8],
    /// For the results of the pass.
    own: Bias,
}

impl<'a> Constants<'a> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new<const ROOT: bool>(plan: &'a Plan<'_>, slot: usize) -> Self {
        let f = &plan.f;
        let mut w = plan.twiddles.heap(slot);
        if ROOT {
            (w[0], w[1]) = plan.last.into();
        }
        Self {
            f,
            w,
            own: Bias::of_block(f, slot),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn even(&self) -> Bias {
        Bias::of_block(self.f, 0)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn odd(&self) -> Bias {
        Bias::of_block(self.f, 1)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn own(&self) -> Bias {
        self.own
    }
}

/// `log2(R)` levels over a block of `R` equal parts; `R` is 2, 4 or 8.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pass<const R: usize, const ROOT: bool>(plan: &Plan<'_>, slot: usize, block: &mut [Block]) {
    let stride = block.len() / R;
    let c = Constants::new::<ROOT>(plan, slot);
    for j in 0..stride {
        let mut x = [_mm512_setzero_si512(); 8];
        for (k, x) in x.iter_mut().enumerate().take(R) {
            // SAFETY: j < stride and k < R, so j + k stride < R stride <= block.len().
            *x = unsafe { load_at(block, j + k * stride) };
        }
        match R {
            2 => {
                butterflies!(c, x, 2);
            }
            4 => {
                butterflies!(c, x, 4);
            }
            _ => {
                butterflies!(c, x, 8);
            }
        }
        for (k, &x) in x.iter().enumerate().take(R) {
            // SAFETY: as above.
            unsafe { store_at(block, j + k * stride, x) };
        }
    }
}

/// `(x + y, w (x - y))` plus `bias`, where `x + q` and `y - q` are given.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly(f: &Field, x: __m512i, y: __m512i, w: Factors, bias: Bias) -> (__m512i, __m512i) {
    let (sum, difference) = (_mm512_add_epi64(x, y), _mm512_sub_epi64(x, y));
    (
        f.reduce_from(bias.quotient, sum),
        f.mul_acc(bias.product, difference, w),
    )
}

/// `(n_inv (x + y), w (x - y))`, canonical, where `x + q` and `y - q` are given.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn root_butterfly(
    f: &Field,
    x: __m512i,
    y: __m512i,
    n_inv: Factors,
    w: Factors,
) -> (__m512i, __m512i) {
    let (sum, difference) = (_mm512_add_epi64(x, y), _mm512_sub_epi64(x, y));
    (
        f.canonical(f.mul(sum, n_inv)),
        f.canonical(f.mul(difference, w)),
    )
}

/// The first six levels of 64 residues.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf<const ROOT: bool>(plan: &Plan<'_>, slot: usize, block: &mut [Block]) {
    let Some((block, _)) = block.split_first_chunk_mut::<8>() else {
        return;
    };
    let lane_factors = LeafFactors::new(plan.twiddles, slot);
    let c = Constants::new::<ROOT>(plan, slot);
    let mut x = [_mm512_setzero_si512(); 8];
    for i in 0..4 {
        let (a, b) = (load(&block[2 * i]), load(&block[2 * i + 1]));
        (x[2 * i], x[2 * i + 1]) = lanes(&plan.f, lane_factors.of(i), a, b);
    }
    butterflies!(c, x, 8);
    for i in 0..8 {
        store(&mut block[i], x[i]);
    }
}

/// The levels of distance 1, 2 and 4 of 16 canonical residues, with the twiddles `w` in the
/// opposite order. Undoes the riffles of the forward transform, one before each level.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lanes(f: &Field, w: [Factors; 3], a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let bias = Bias::alternating(f);
    let (x, y) = unriffle(a, b);
    let (x, y) = (_mm512_add_epi64(x, f.q), _mm512_sub_epi64(y, f.q));
    let (x, y) = butterfly(f, x, y, w[2], bias);
    let (x, y) = unriffle(x, y);
    let (x, y) = butterfly(f, x, y, w[1], bias);
    let (x, y) = unriffle(x, y);
    let (x, y) = butterfly(f, x, y, w[0], bias);
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
