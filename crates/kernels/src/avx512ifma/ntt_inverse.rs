//! Inverse transform: Gentleman-Sande, the forward transform's passes in the opposite order.
//!
//! Products come out in `[0, 2q)`, sums twice as large as what went in: every second level reduces
//! them, where `8q` fits 52 bits, else every level. The others are *light*.
//!
//! A difference must not be negative. So lanes carry a bias, `+` in first partners, `-` in second
//! ones, next to rubbish (see [`super::field`]); it costs nothing to add to a product or to a sum that
//! is reduced. A sum that is not must come out with a bias as well: there the two partners' biases
//! differ (see [`multiple`]). The root pass also multiplies by a constant, `1 / n` times a scale, and
//! makes the residues canonical.

use std::arch::x86_64::*;

use super::{
    field::{
        Block, Factors, Field, every_second_pair, interleave, load, load_at, splat, store, store_at,
    },
    ntt::{HeapFactors, LEAF, Leaf, LeafFactors, pass_levels},
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
    run(t, row, &[], last);
}

/// The inverse of `src`, out of place.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn inverse_from(t: &NttTable, out: &mut [u64], src: &[u64], last: [Factor; 2]) {
    if out.len() < LEAF {
        out.copy_from_slice(src);
        return scalar::ntt::inverse(t, out, last);
    }
    run(t, out, src.as_chunks().0.as_chunks().0, last);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn run(t: &NttTable, row: &mut [u64], source: &[Leaf], last: [Factor; 2]) {
    let (blocks, _) = row.as_chunks_mut();
    let (f, lazy) = (Field::new(t.modulus()), t.modulus().value() <= 1 << 49);
    let plan = Plan {
        twiddles: t.inverse(),
        source,
        last: last.map(|factor| Factors::splat(factor)),
        biases: std::array::from_fn(|i| Bias::new(&f, |_| i as i64 - 3)),
        lanes: LaneBiases::new(&f, !lazy),
        f,
    };
    if lazy {
        ascend::<true, true>(&plan, 1, blocks)
    } else {
        ascend::<true, false>(&plan, 1, blocks)
    }
}

/// The tables and rows that all passes of a transform share.
struct Plan<'a> {
    f: Field,
    twiddles: Twiddles<'a>,
    /// The residues to read; empty where the transform is in place.
    source: &'a [Leaf],
    /// The constant factor of the whole, alone and times the root's twiddle.
    last: [Factors; 2],
    /// `-3 q` to `3 q`.
    biases: [Bias; 7],
    lanes: LaneBiases,
}

/// Transforms the block at heap slot `slot` up from the leaves.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ascend<const ROOT: bool, const LAZY: bool>(plan: &Plan, slot: usize, block: &mut [Block]) {
    let left = (block.len() * 8 / LEAF).trailing_zeros();
    let levels = pass_levels(left);
    if levels == 0 {
        let leaves: &mut [Leaf] = block.as_chunks_mut().0;
        return leaf::<ROOT, LAZY>(plan, slot, &mut leaves[0]);
    }
    let child_len = block.len() >> levels;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        ascend::<false, LAZY>(plan, (slot << levels) + i, child);
    }
    // The first level of the pass is the seventh or a later one.
    let heavy_first = (left - levels).is_multiple_of(2);
    match (levels, LAZY, heavy_first) {
        (1, false, _) => pass::<2, ROOT, ALL>(plan, slot, block),
        (1, _, true) => pass::<2, ROOT, HEAVY_FIRST>(plan, slot, block),
        (1, _, false) => pass::<2, ROOT, LIGHT_FIRST>(plan, slot, block),
        (2, false, _) => pass::<4, ROOT, ALL>(plan, slot, block),
        (2, _, true) => pass::<4, ROOT, HEAVY_FIRST>(plan, slot, block),
        (2, _, false) => pass::<4, ROOT, LIGHT_FIRST>(plan, slot, block),
        (_, false, _) => pass::<8, ROOT, ALL>(plan, slot, block),
        (_, _, true) => pass::<8, ROOT, HEAVY_FIRST>(plan, slot, block),
        (_, _, false) => pass::<8, ROOT, LIGHT_FIRST>(plan, slot, block),
    }
}

/// Every level of a pass reduces its sums.
const ALL: u32 = 0b1111;
/// Levels 0, 2, .. of a pass reduce their sums.
const HEAVY_FIRST: u32 = 0b0101;
/// Levels 1, 3, .. of a pass do.
const LIGHT_FIRST: u32 = 0b1010;

/// Multiples of `q` that the results of the block at `slot` carry, for a next level that takes
/// partners below `4q` (`LIGHT`: below `2q`).
///
/// A light level adds 4 in all to a difference; its sums get 2 if the block that they belong to is
/// even, else -2.
const fn multiple(all: bool, next_is_light: bool, slot: usize) -> i64 {
    match (all, next_is_light, slot % 4) {
        (true, _, 0 | 2) => 1,
        (true, _, _) => -1,
        (_, true, 0) => 3,
        (_, true, 1) => -1,
        (_, true, 2) => 1,
        (_, true, _) => -3,
        (_, false, 0 | 2) => 2,
        (_, false, _) => -2,
    }
}

/// The multiples of q that a butterfly adds to its results.
#[derive(Clone, Copy)]
struct Bias {
    /// The initial value of the quotient of the sum: a value smaller by one adds `q`.
    quotient: __m512i,
    /// The initial value of the product.
    product: __m512i,
}

impl Bias {
    /// Lane i carries `multiple(i)` times `q`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new(f: &Field, multiple: impl Fn(usize) -> i64) -> Self {
        let multiples: Block = std::array::from_fn(|i| multiple(i) as u64);
        let k = load(&multiples);
        Self {
            quotient: _mm512_sub_epi64(splat(0), k),
            product: _mm512_mullo_epi64(k, f.q),
        }
    }
}

/// The butterflies of a pass, in registers: one line a block, named by its place in the heap below
/// the pass. Macros because the body must be unrolled and is too large for the compiler to inline it
/// twice.
macro_rules! butterflies {
    ($c:expr, $x:ident, 2) => {
        butterflies!($c, $x, 0, last; 0 1);
    };
    ($c:expr, $x:ident, 4) => {
        butterflies!($c, $x, 0, 2; 0 1);
        butterflies!($c, $x, 0, 3; 2 3);
        butterflies!($c, $x, 1, last; 0 2, 1 3);
    };
    ($c:expr, $x:ident, 8) => {
        butterflies!($c, $x, 0, 4; 0 1);
        butterflies!($c, $x, 0, 5; 2 3);
        butterflies!($c, $x, 0, 6; 4 5);
        butterflies!($c, $x, 0, 7; 6 7);
        butterflies!($c, $x, 1, 2; 0 2, 1 3);
        butterflies!($c, $x, 1, 3; 4 6, 5 7);
        butterflies!($c, $x, 2, last; 0 4, 1 5, 2 6, 3 7);
    };
    ($c:expr, $x:ident, $level:literal, last; $($i:literal $j:literal),*) => {
        if ROOT {
            let [n_inv, w] = $c.plan.last;
            $(($x[$i], $x[$j]) = root_butterfly(&$c.plan.f, $x[$i], $x[$j], n_inv, w);)*
        } else {
            butterflies!($c, $x, $level, 1; $($i $j),*);
        }
    };
    ($c:expr, $x:ident, $level:literal, $place:literal; $($i:literal $j:literal),*) => {
        let w = $c.w.splat($place - 1);
        let bias = $c.biases[$place - 1];
        $(($x[$i], $x[$j]) =
            butterfly(&$c.plan.f, HEAVY >> $level & 1 != 0, $x[$i], $x[$j], w, bias);)*
    };
}

/// The twiddles and biases of the butterflies of one pass.
struct Constants<'a> {
    plan: &'a Plan<'a>,
    /// Twiddles by their index in the heap below the block, starting at 1.
    w: HeapFactors<'a>,
    biases: [&'a Bias; 7],
}

impl<'a> Constants<'a> {
    /// The constants of a pass of `levels`, among which those of `heavy` reduce.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new<const ROOT: bool>(plan: &'a Plan<'a>, slot: usize, levels: u32, heavy: u32) -> Self {
        let bias = |place: usize| {
            let depth = place.ilog2();
            let level = levels.saturating_sub(1 + depth);
            // The root takes both kinds.
            let next_is_light = heavy >> (level + 1) & 1 == 0 && !(ROOT && depth == 1);
            let slot = (slot << depth) + place - (1 << depth);
            &plan.biases[(multiple(heavy == ALL, next_is_light, slot) + 3) as usize]
        };
        Self {
            plan,
            w: HeapFactors::new(plan.twiddles, slot),
            biases: std::array::from_fn(|i| bias(i + 1)),
        }
    }
}

/// `log2(R)` levels over a block of `R` equal parts; `R` is 2, 4 or 8.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pass<const R: usize, const ROOT: bool, const HEAVY: u32>(
    plan: &Plan,
    slot: usize,
    block: &mut [Block],
) {
    let stride = block.len() / R;
    let c = Constants::new::<ROOT>(plan, slot, R.ilog2(), HEAVY);
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

/// `(x + y, w (x - y))` plus `bias`, where the difference is positive. A sum that is not reduced
/// keeps the bias of its partners.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly(
    f: &Field,
    reduces: bool,
    x: __m512i,
    y: __m512i,
    w: Factors,
    bias: &Bias,
) -> (__m512i, __m512i) {
    let (sum, difference) = (_mm512_add_epi64(x, y), _mm512_sub_epi64(x, y));
    let sum = if reduces {
        f.reduce_from(bias.quotient, sum)
    } else {
        sum
    };
    (sum, f.mul_acc(bias.product, difference, w))
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
    let (sum, difference) = (_mm512_add_epi64(x, y), _mm512_sub_epi64(x, y));
    (
        f.canonical(f.mul(sum, n_inv)),
        f.canonical(f.mul(difference, w)),
    )
}

/// The first six levels of 64 canonical residues: light, light, heavy, light, heavy, light, or all
/// heavy.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf<const ROOT: bool, const LAZY: bool>(plan: &Plan, slot: usize, leaf: &mut Leaf) {
    if LAZY {
        leaf_of::<ROOT, LIGHT_FIRST>(plan, slot, leaf)
    } else {
        leaf_of::<ROOT, ALL>(plan, slot, leaf)
    }
}

/// `HEAVY`: the last three levels that reduce their sums.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf_of<const ROOT: bool, const HEAVY: u32>(plan: &Plan, slot: usize, leaf: &mut Leaf) {
    let f = &plan.f;
    let mut x = [_mm512_setzero_si512(); 8];
    // The first leaf has as many slots before it as there are leaves.
    let source = slot.checked_sub(plan.source.len());
    let source = source.and_then(|i| plan.source.get(i)).unwrap_or(leaf);
    for (x, block) in x.iter_mut().zip(source) {
        *x = load(block);
    }
    // Undoes the riffles of the forward transform, one before each level.
    let biases = &plan.lanes;
    for i in 0..4 {
        let (a, b) = unriffle(x[2 * i], x[2 * i + 1]);
        x[2 * i] = _mm512_add_epi64(a, biases.plus);
        x[2 * i + 1] = _mm512_sub_epi64(b, biases.minus);
    }
    let w = LeafFactors::new(plan.twiddles, slot);
    for level in 0..3 {
        let reduces = HEAVY == ALL || level == 2;
        for i in 0..4 {
            let (a, b) = (x[2 * i], x[2 * i + 1]);
            let bias = &biases.levels[level][i % 2];
            let (a, b) = butterfly(f, reduces, a, b, w.of(2 - level, i), bias);
            (x[2 * i], x[2 * i + 1]) = unriffle(a, b);
        }
    }
    let c = Constants::new::<ROOT>(plan, slot, 3, HEAVY);
    butterflies!(c, x, 8);
    for (block, x) in leaf.iter_mut().zip(x) {
        store(block, x);
    }
}

/// Biases of the first three levels of a leaf, whose blocks are lanes.
struct LaneBiases {
    /// Bias that the first level adds to first partners and subtracts from second ones, which are canonical.
    plus: __m512i,
    minus: __m512i,
    /// Biases for the results of each level, in even and odd pairs of vectors.
    levels: [[Bias; 2]; 3],
}

impl LaneBiases {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new(f: &Field, all: bool) -> Self {
        // The first sums keep the bias of their partners.
        let [plus, minus] = [1, -1].map(|sign| {
            let own = |lane| sign * multiple(false, true, lane);
            let half = |lane| if all { 1 } else { (5 + own(lane)) / 2 };
            Bias::new(f, half).product
        });
        let of = |level: usize, pair: usize| {
            let blocks = 8 >> level;
            Bias::new(f, |lane| {
                multiple(all, level != 1, pair * blocks + lane % blocks)
            })
        };
        Self {
            plus,
            minus,
            levels: std::array::from_fn(|level| [of(level, 0), of(level, 1)]),
        }
    }
}

/// Even lanes of `a` and `b`, then odd lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn unriffle(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (a, b) = every_second_pair(a, b);
    interleave(a, b)
}
