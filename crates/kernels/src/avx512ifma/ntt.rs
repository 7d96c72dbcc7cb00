//! Forward transform: Cooley-Tukey, several levels a pass, depth first.
//!
//! Levels form a binary tree of blocks: the block at heap slot `s` (root 1) splits into slots `2s`
//! and `2s + 1`, and its butterflies take twiddle `s`. A pass takes a block through 1 to 3 levels in
//! registers; the last 6 levels of each 64 residues are one pass.
//!
//! Lanes carry rubbish (see [`super::field`]) and grow up to `2^52`: they are reduced in every so
//! many levels (see [`period`]). A difference must not be negative: a level that reduces adds as many
//! `q`, at no cost, as the levels up to the next one can take away; the first level of all adds its
//! own.

use std::arch::x86_64::*;

use super::field::{
    Block, Factors, Field, every_second_pair, halves, interleave, load, load_at, load_u32, splat,
    store, store_at,
};
use crate::{
    Encoding, Modulus, scalar,
    table::{NttTable, Twiddles},
};

/// Residues of the last pass.
pub(super) const LEAF: usize = 64;
const LEAF_BLOCKS: usize = LEAF / 8;
/// The number of blocks that are written to tiles together, from the first-level cache: single streaming stores
/// between other stores would delay those.
const SPREAD_BLOCKS: usize = SPREAD / 8;
const SPREAD: usize = 1024;
pub(super) type Leaf = [Block; LEAF_BLOCKS];

/// The period of reductions: counted from the last level, number 0, one level out of each `period` reduces.
///
/// A level that reduces takes first partners to `[0, 2q)` plus `period q`; every level adds to lanes,
/// or takes away, less than `q`. So they stay below `2 (period + 1) q`; where at most the last level
/// reduces, below `35 q` after 17 levels.
const fn period(m: &Modulus) -> u32 {
    match (1 << 52) / m.value() {
        35.. => ONCE,
        12.. => 5,
        8.. => 3,
        _ => 1,
    }
}

/// At most the last level reduces.
const ONCE: u32 = 32;

/// Results in `[0, q)`: the last level reduces.
const CANONICAL: u32 = 0;
/// Results of any size, with rubbish: the level before the first does (where lanes allow it).
const FACTORS: u32 = 1;
/// Results of any size, with rubbish, in transforms from coefficients to tiles.
const ENCODED: u32 = 2;

/// In the mask of a pass: its first level takes canonical lanes, and adds what later ones take away.
const STARTS: u32 = 8;

/// Levels from `first` on before the next one that reduces, `first` not counted as one.
fn until_reduction(period: u32, results: u32, first: u32) -> u32 {
    let reduces = |&left: &u32| reductions(period, results, first - left, 1) != 0;
    (1..=first).find(reduces).unwrap_or(first + 1)
}

/// Bit i: whether level `first - i` reduces, for the `levels` of a pass.
const fn reductions(period: u32, results: u32, first: u32, levels: u32) -> u32 {
    let (mut mask, mut i) = (0, 0);
    let shift = (results != CANONICAL) as u32;
    while i < levels {
        mask |= ((first - i + shift).is_multiple_of(period) as u32) << i;
        i += 1;
    }
    mask
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    if row.len() <= LEAF {
        return scalar::ntt::forward(t, row);
    }
    Work::new(t).run::<CANONICAL>(row);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn forward_factors(t: &NttTable, row: &mut [u64]) {
    if row.len() <= LEAF {
        return scalar::ntt::forward(t, row);
    }
    Work::new(t).run::<FACTORS>(row);
}

/// Lift, transform and spread in two passes over memory less. False, and nothing done: for shapes
/// that it does not know.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn encode(t: &NttTable, row: &mut [u64], e: Encoding) -> bool {
    let (q, p) = (t.modulus().value(), u64::from(e.p));
    let whole_pieces = e.piece.is_power_of_two() && e.piece >= 8 && e.every.is_multiple_of(8);
    let aligned = e.out.as_ptr().addr().is_multiple_of(64);
    let by_eight = row.len() > SPREAD && pass_levels((row.len() / LEAF).trailing_zeros()) == 3;
    if !(whole_pieces && aligned && by_eight && p <= q) {
        return false;
    }
    let mut work = Work::new(t);
    work.lift = Lift {
        coeffs: e.coeffs.as_chunks().0,
        half: splat(p / 2),
        down: splat(q - p),
    };
    work.tiles = Tiles {
        words: e.out,
        every: e.every,
        piece: e.piece,
    };
    work.run::<ENCODED>(row);
    // Streaming stores are ordered with later ones only behind a fence.
    _mm_sfence();
    true
}

/// One transform.
struct Work<'a> {
    f: Field,
    twiddles: Twiddles<'a>,
    period: u32,
    /// `-period`: what a level that reduces starts its quotients from.
    slack: __m512i,
    /// The bias that the first level adds.
    bias: __m512i,
    lift: Lift<'a>,
    tiles: Tiles<'a>,
}

/// The source of [`ENCODED`] transforms: coefficients modulo `p`, to be centred.
struct Lift<'a> {
    coeffs: &'a [[u32; 8]],
    half: __m512i,
    /// The distance that coefficients above `half` are moved by.
    down: __m512i,
}

/// The destination of [`ENCODED`] transforms.
struct Tiles<'a> {
    words: &'a mut [u64],
    every: usize,
    piece: usize,
}

impl Tiles<'_> {
    /// Takes the results from block `start` of the row on.
    #[allow(unsafe_code)]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn take(&mut self, start: usize, blocks: &[Block]) {
        // Whole pieces, or a part of one.
        for (i, piece) in blocks.chunks(self.piece / 8).enumerate() {
            let word = 8 * start + i * self.piece;
            let at = word / self.piece * self.every + word % self.piece;
            let out: &mut [Block] = self.words[at..][..8 * piece.len()].as_chunks_mut().0;
            for (out, x) in out.iter_mut().zip(piece) {
                // SAFETY: writes the 64 bytes of `out`, which start on a cache line: `encode` has
                // checked where tiles start.
                unsafe { _mm512_stream_si512(out.as_mut_ptr().cast(), load(x)) };
            }
        }
    }
}

impl<'a> Work<'a> {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new(t: &'a NttTable) -> Self {
        let period = period(t.modulus());
        Self {
            f: Field::new(t.modulus()),
            twiddles: t.forward(),
            period,
            slack: splat(u64::from(period).wrapping_neg()),
            bias: splat(0),
            lift: Lift {
                coeffs: &[],
                half: splat(0),
                down: splat(0),
            },
            tiles: Tiles {
                words: &mut [],
                every: LEAF,
                piece: LEAF,
            },
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run<const RESULTS: u32>(&mut self, row: &mut [u64]) {
        let first = row.len().trailing_zeros() - 1;
        let levels = until_reduction(self.period, RESULTS, first);
        self.bias = _mm512_mullo_epi64(splat(levels.into()), self.f.q);
        let blocks = row.as_chunks_mut().0;
        match self.period {
            ONCE => descend::<ONCE, RESULTS>(self, 1, blocks),
            5 => descend::<5, RESULTS>(self, 1, blocks),
            3 => descend::<3, RESULTS>(self, 1, blocks),
            _ => descend::<1, RESULTS>(self, 1, blocks),
        }
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
fn descend<const PERIOD: u32, const RESULTS: u32>(
    work: &mut Work,
    slot: usize,
    block: &mut [Block],
) {
    let left = (block.len() * 8 / LEAF).trailing_zeros();
    let levels = pass_levels(left);
    let mut reduces = reductions(PERIOD, RESULTS, left + 5, levels);
    if slot == 1 {
        reduces = reduces & !1 | STARTS;
    }
    let lifts = slot == 1 && RESULTS == ENCODED;
    match (levels, reduces) {
        (0, _) => {}
        (1, STARTS) => pass::<2, STARTS, false>(work, slot, block),
        (1, 0) => pass::<2, 0, false>(work, slot, block),
        (1, _) => pass::<2, 1, false>(work, slot, block),
        (2, STARTS) => pass::<4, STARTS, false>(work, slot, block),
        (2, 10) => pass::<4, 10, false>(work, slot, block),
        (2, 0) => pass::<4, 0, false>(work, slot, block),
        (2, 1) => pass::<4, 1, false>(work, slot, block),
        (2, 2) => pass::<4, 2, false>(work, slot, block),
        (2, _) => pass::<4, 3, false>(work, slot, block),
        (_, STARTS) if lifts => pass::<8, STARTS, true>(work, slot, block),
        (_, 10) if lifts => pass::<8, 10, true>(work, slot, block),
        (_, 12) if lifts => pass::<8, 12, true>(work, slot, block),
        (_, _) if lifts => pass::<8, 14, true>(work, slot, block),
        (_, STARTS) => pass::<8, STARTS, false>(work, slot, block),
        (_, 10) => pass::<8, 10, false>(work, slot, block),
        (_, 12) => pass::<8, 12, false>(work, slot, block),
        (_, 14) => pass::<8, 14, false>(work, slot, block),
        (_, 0) => pass::<8, 0, false>(work, slot, block),
        (_, 1) => pass::<8, 1, false>(work, slot, block),
        (_, 2) => pass::<8, 2, false>(work, slot, block),
        (_, 4) => pass::<8, 4, false>(work, slot, block),
        (_, _) => pass::<8, 7, false>(work, slot, block),
    }
    let (slot, block_len) = (slot << levels, block.len());
    let child_len = block_len >> levels;
    if child_len == LEAF_BLOCKS {
        leaves::<PERIOD, RESULTS>(work, slot, block.as_chunks_mut().0);
    } else {
        for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
            descend::<PERIOD, RESULTS>(work, slot + i, child);
            if RESULTS == ENCODED && child_len <= SPREAD_BLOCKS && block_len > SPREAD_BLOCKS {
                let start = (slot + i) * child_len - work.lift.coeffs.len();
                work.tiles.take(start, child);
            }
        }
    }
}

/// The leaves from heap slot `slot` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaves<const PERIOD: u32, const RESULTS: u32>(work: &Work, slot: usize, leaves: &mut [Leaf]) {
    for (i, x) in leaves.iter_mut().enumerate() {
        match const { reductions(PERIOD, RESULTS, 5, 6) } {
            0 => leaf::<0, RESULTS>(work, slot + i, x),
            0b000010 => leaf::<0b000010, RESULTS>(work, slot + i, x),
            0b001000 => leaf::<0b001000, RESULTS>(work, slot + i, x),
            0b100000 => leaf::<0b100000, RESULTS>(work, slot + i, x),
            0b100001 => leaf::<0b100001, RESULTS>(work, slot + i, x),
            0b100100 => leaf::<0b100100, RESULTS>(work, slot + i, x),
            _ => leaf::<0b111111, RESULTS>(work, slot + i, x),
        }
    }
}

/// The butterflies of a pass, in registers: one line a block, named by its twiddle. Macros because
/// the body must be unrolled and is too large for the compiler to inline it twice. The bits of `MASK`
/// select the levels that reduce.
macro_rules! butterflies {
    ($work:expr, $w:expr, $x:ident, 2) => {
        butterflies!($work, $x, 1, $w.splat(0); 0 1);
    };
    ($work:expr, $w:expr, $x:ident, 4) => {
        butterflies!($work, $x, 1, $w.splat(0); 0 2, 1 3);
        butterflies!($work, $x, 2, $w.splat(1); 0 1);
        butterflies!($work, $x, 2, $w.splat(2); 2 3);
    };
    ($work:expr, $w:expr, $x:ident, 8) => {
        butterflies!($work, $x, 1, $w.splat(0); 0 4, 1 5, 2 6, 3 7);
        butterflies!($work, $x, 2, $w.splat(1); 0 2, 1 3);
        butterflies!($work, $x, 2, $w.splat(2); 4 6, 5 7);
        butterflies!($work, $x, 4, $w.splat(3); 0 1);
        butterflies!($work, $x, 4, $w.splat(4); 2 3);
        butterflies!($work, $x, 4, $w.splat(5); 4 5);
        butterflies!($work, $x, 4, $w.splat(6); 6 7);
    };
    ($work:expr, $x:ident, $level:literal, $w:expr; $($i:literal $j:literal),*) => {
        let w = $w;
        let kind = kind(MASK, $level);
        $(($x[$i], $x[$j]) = butterfly($work, kind, $x[$i], $x[$j], w);)*
    };
}

/// `log2(R)` levels over a block of `R` equal parts; `R` is 2, 4 or 8.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pass<const R: usize, const MASK: u32, const LIFT: bool>(
    work: &Work,
    slot: usize,
    block: &mut [Block],
) {
    let stride = block.len() / R;
    let w = HeapFactors::new(work.twiddles, slot);
    assert!(!LIFT || work.lift.coeffs.len() == block.len());
    for j in 0..stride {
        let mut x = [_mm512_setzero_si512(); 8];
        for (k, x) in x.iter_mut().enumerate().take(R) {
            let i = j + k * stride;
            // SAFETY: j < stride and k < R, so i < R stride <= block.len(), which is the number of
            // coefficients where they are lifted.
            *x = if LIFT {
                unsafe { work.lift.load_at(i) }
            } else {
                unsafe { load_at(block, i) }
            };
        }
        match R {
            2 => {
                butterflies!(work, w, x, 2);
            }
            4 => {
                butterflies!(work, w, x, 4);
            }
            _ => {
                butterflies!(work, w, x, 8);
            }
        }
        for (k, &x) in x.iter().enumerate().take(R) {
            // SAFETY: as above.
            unsafe { store_at(block, j + k * stride, x) };
        }
    }
}

impl Lift<'_> {
    /// Block `i`, in `[0, q)`.
    ///
    /// # Safety
    /// `i < self.coeffs.len()`.
    #[allow(unsafe_code)]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    unsafe fn load_at(&self, i: usize) -> __m512i {
        debug_assert!(i < self.coeffs.len());
        // SAFETY: in range by contract.
        let v = load_u32(unsafe { self.coeffs.get_unchecked(i) });
        let negative = _mm512_cmpgt_epu64_mask(v, self.half);
        _mm512_mask_add_epi64(v, negative, v, self.down)
    }
}

/// How a level treats first partners.
#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Reduces,
    /// Reduces first partners so that results can be made canonical.
    ReducesLast,
    Starts,
}

/// The kind of the level of bit `level` in a pass.
const fn kind(mask: u32, level: u32) -> Kind {
    match (mask & level != 0, level == 1 && mask & STARTS != 0) {
        (true, _) => Kind::Reduces,
        (_, true) => Kind::Starts,
        _ => Kind::Plain,
    }
}

/// `(x + w y, x - w y)`, for an `x` with so much slack that the difference is not negative, or
/// that gets it.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly(work: &Work, kind: Kind, x: __m512i, y: __m512i, w: Factors) -> (__m512i, __m512i) {
    let f = &work.f;
    let x = match kind {
        Kind::Plain => x,
        Kind::Reduces => f.reduce_from(work.slack, x),
        Kind::ReducesLast => f.reduce_from(f.minus_one, x),
        Kind::Starts => _mm512_add_epi64(x, work.bias),
    };
    let t = f.mul_acc(f.neg_q, y, w);
    (_mm512_add_epi64(x, t), _mm512_sub_epi64(x, t))
}

/// The last six levels of 64 residues.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn leaf<const MASK: u32, const RESULTS: u32>(work: &Work, slot: usize, leaf: &mut Leaf) {
    let (f, w) = (&work.f, HeapFactors::new(work.twiddles, slot));
    let mut x = [_mm512_setzero_si512(); 8];
    for (x, block) in x.iter_mut().zip(leaf.iter()) {
        *x = load(block);
    }
    butterflies!(work, w, x, 8);
    // The levels of distance 4, 2 and 1, two vectors at a time: movements before each level bring
    // partners to the same lane.
    let w = LeafFactors::new(work.twiddles, slot);
    for level in 0..3 {
        let kind = match (MASK >> (level + 3) & 1 != 0, level) {
            (true, 2) if RESULTS == CANONICAL => Kind::ReducesLast,
            (true, _) => Kind::Reduces,
            _ => Kind::Plain,
        };
        for i in 0..4 {
            let (a, b) = (x[2 * i], x[2 * i + 1]);
            let (a, b) = match level {
                1 => regroup(a, b),
                _ => halves(a, b),
            };
            (x[2 * i], x[2 * i + 1]) = butterfly(work, kind, a, b, w.after_movements(level, i));
        }
    }
    for (i, pair) in leaf.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (a, b) = regroup(x[2 * i], x[2 * i + 1]);
        let finish = |x| match RESULTS {
            CANONICAL => f.canonical_4q(x),
            _ => x,
        };
        store(&mut pair[0], finish(a));
        store(&mut pair[1], finish(b));
    }
}

/// `a0 b0 a4 b4 a1 b1 a5 b5` from `a0 a1 ..` and `b0 b1 ..`, then what is left.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn regroup(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    let (a, b) = interleave(a, b);
    every_second_pair(a, b)
}

/// Twiddles of the last three levels of a leaf: four groups of 16 residues each.
pub(super) struct LeafFactors<'a> {
    pairs: [&'a [[u64; 2]; 4]; 2],
    quads: [&'a [[u64; 4]; 4]; 2],
    octets: [&'a [[u64; 8]; 4]; 2],
}

impl<'a> LeafFactors<'a> {
    /// The twiddles of the leaf at heap slot `slot`.
    #[inline(always)]
    pub(super) fn new(tw: Twiddles<'a>, slot: usize) -> Self {
        let rows = [tw.w, tw.quotient];
        Self {
            pairs: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
            quads: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
            octets: rows.map(|row| &row.as_chunks().0.as_chunks().0[slot]),
        }
    }

    /// The twiddles of group `i < 4`, at distance 4, 2 and 1 for level 0, 1 and 2, in the lanes
    /// where the forward transform's movements bring them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn after_movements(&self, level: usize, i: usize) -> Factors {
        match level {
            0 => Factors::halves(&self.pairs[0][i], &self.pairs[1][i]),
            1 => self.of(level, i),
            _ => Factors::octet_by_parity(&self.octets[0][i], &self.octets[1][i]),
        }
    }

    /// The twiddles of group `i < 4`, at distance 4, 2 and 1 for level 0, 1 and 2.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn of(&self, level: usize, i: usize) -> Factors {
        match level {
            0 => Factors::pair(&self.pairs[0][i], &self.pairs[1][i]),
            1 => Factors::quad(&self.quads[0][i], &self.quads[1][i]),
            _ => Factors::octet(&self.octets[0][i], &self.octets[1][i]),
        }
    }
}

/// The first seven entries of the tree below a slot, where the children of entry `s` are `2s` and
/// `2s + 1`.
pub(super) struct HeapFactors<'a> {
    w: [&'a u64; 7],
    quotient: [&'a u64; 7],
}

impl<'a> HeapFactors<'a> {
    #[inline(always)]
    pub(super) fn new(tw: Twiddles<'a>, slot: usize) -> Self {
        Self {
            w: heap(tw.w, slot),
            quotient: heap(tw.quotient, slot),
        }
    }

    /// Entry `i`, in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn splat(&self, i: usize) -> Factors {
        Factors::splat_at(self.w[i], self.quotient[i])
    }
}

#[inline(always)]
fn heap(words: &[u64], slot: usize) -> [&u64; 7] {
    let (twos, fours) = (words.as_chunks().0, words.as_chunks().0);
    let (s1, [s2, s3], [s4, s5, s6, s7]) = (&words[slot], &twos[slot], &fours[slot]);
    [s1, s2, s3, s4, s5, s6, s7]
}
