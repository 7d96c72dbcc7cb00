//! Negacyclic transforms, two levels a pass, depth first.
//!
//! The tree of blocks is that of the AVX-512 back end: the block at heap slot `s` (root 1) splits
//! into slots `2s` and `2s + 1`, and its butterflies take twiddle `s`. Between the first and the
//! last pass a row holds the bits of doubles, of either sign. Bounds on them are given as multiples of
//! `q`. Integers up to `2^53` are exact and those up to `2^52` may be multiplied, so that passes reduce only where results
//! would exceed this.

use std::arch::x86_64::*;

use super::float::{Block, Factors, Field, load, store, to_float, to_int};
use crate::{
    Modulus,
    modulus::Factor,
    scalar,
    table::{FloatTwiddles, NttTable},
};

/// Residues of a [`Leaf`].
const LEAF: usize = 16;

/// A block whose last four levels, two between its vectors and two within them, are done beside those of other leaves.
type Leaf = [Block; 4];

/// Most residues of a block that is transformed pass by pass: half of the first-level cache, and its twiddles beside it.
const NEAR: usize = 1024;

/// How a pass reads a row: as integers.
const INTEGERS: u8 = 0;
/// How a pass reads a row: as doubles.
const DOUBLES: u8 = 1;
/// How a pass reads a row: as doubles that it reduces.
const REDUCED: u8 = 2;

/// Calls a function of vectors that reduces the given number of four results.
macro_rules! by_reduced {
    ($reduced:expr, $pass:ident($($argument:expr),*)) => {
        match $reduced {
            0 => $pass::<0>($($argument),*),
            1 => $pass::<1>($($argument),*),
            2 => $pass::<2>($($argument),*),
            _ => $pass::<3>($($argument),*),
        }
    };
}

/// The bound of a residue that was reduced.
const NEAREST: f64 = 0.51;

/// The constants of a transform.
struct Run<'a> {
    f: Field,
    tw: &'a FloatTwiddles,
    /// By how much the product of a residue one `q` from zero may exceed `0.5 q`.
    excess: f64,
    /// Residues up to this bound may be multiplied; those up to twice as much are exact.
    limit: f64,
}

/// The levels of a forward pass, how it reads a row, and the bound of what it leaves.
#[derive(Clone, Copy)]
struct Step {
    levels: u32,
    read: u8,
    bound: f64,
}

/// How many of four results an inverse pass of two levels reduces, the largest first, and the bound of what it leaves.
#[derive(Clone, Copy)]
struct Rise {
    reduced: u8,
    bound: f64,
}

impl<'a> Run<'a> {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus, tw: &'a FloatTwiddles) -> Self {
        let q = m.value() as f64;
        Self {
            f: Field::new(m),
            tw,
            // See Field::mul: twiddles are within half of q.
            excess: q / (1u64 << 53) as f64,
            // A thousandth is left for the roundings of bounds.
            limit: 0.999 * (1u64 << 52) as f64 / q,
        }
    }

    /// The bound of a product with a twiddle.
    fn product(&self, bound: f64) -> f64 {
        0.5 + self.excess * bound
    }

    /// Plans the next `levels` of a forward transform, of residues within `bound` in blocks from heap slot `slot` on.
    fn fall(&self, slot: usize, bound: f64, levels: u32) -> Step {
        let level = |bound: f64| bound + self.product(bound);
        let before = |bound: f64| (1..levels).fold(bound, |a, _| level(a));
        let (read, start) = if slot == 1 {
            (INTEGERS, 1.0)
        } else if before(bound) <= self.limit && level(before(bound)) <= 2.0 * self.limit {
            (DOUBLES, bound)
        } else {
            (REDUCED, NEAREST)
        };
        Step {
            levels,
            read,
            bound: level(before(start)),
        }
    }

    /// Plans two levels of an inverse transform, of residues whose sums are within `sum` and whose differences are within
    /// `difference`.
    fn rise(&self, sum: f64, difference: f64) -> Rise {
        let first = self.product(difference);
        let results = [
            2.0 * sum,
            2.0 * first,
            self.product(2.0 * difference),
            self.product(2.0 * first),
        ];
        let bound = |reduced: u8| {
            let rest = results[reduced.into()..].iter();
            rest.fold(if reduced == 0 { 0.0 } else { NEAREST }, |a, &b| a.max(b))
        };
        let fits = |&reduced: &u8| 4.0 * bound(reduced) <= self.limit;
        // Three at most: the last result is within 0.8, and four times that may be multiplied.
        let reduced = (0..3).find(fits).unwrap_or(3);
        Rise {
            reduced,
            bound: bound(reduced),
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn forward(t: &NttTable, row: &mut [u64]) {
    if row.len() < LEAF {
        return scalar::ntt::forward(t, row);
    }
    let (blocks, _) = row.as_chunks_mut();
    descend(&Run::new(t.modulus(), t.forward_floats()), 1, blocks, 1.0);
}

/// Transforms the block at heap slot `slot`, of residues within `bound`, down to the leaves.
#[target_feature(enable = "avx2,fma")]
fn descend(run: &Run<'_>, slot: usize, block: &mut [Block], bound: f64) {
    if 4 * block.len() <= NEAR {
        return descend_near(run, slot, block, bound);
    }
    let step = run.fall(slot, bound, pass_levels(block));
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
        let step = run.fall(first, bound, pass_levels(&block[..len]));
        for (i, part) in block.chunks_exact_mut(len).enumerate() {
            forward_pass(run, first + i, part, step);
        }
        (first, len) = (first << step.levels, len >> step.levels);
        bound = step.bound;
    }
    let (leaves, _) = block.as_chunks_mut();
    let step = run.fall(first, bound, 2);
    match step.read {
        INTEGERS => forward_quads::<INTEGERS>(run, first, leaves),
        DOUBLES => forward_quads::<DOUBLES>(run, first, leaves),
        _ => forward_quads::<REDUCED>(run, first, leaves),
    }
    match run.fall(4 * first, step.bound, 2).read {
        DOUBLES => forward_lanes::<DOUBLES>(run, first, leaves),
        _ => forward_lanes::<REDUCED>(run, first, leaves),
    }
}

/// Does the next pass of the block at heap slot `slot`.
#[target_feature(enable = "avx2,fma")]
fn forward_pass(run: &Run<'_>, slot: usize, block: &mut [Block], step: Step) {
    let f = &run.f;
    if step.levels == 1 {
        let w = run.twiddle(slot);
        match step.read {
            INTEGERS => forward_pass_2::<INTEGERS>(f, w, block),
            DOUBLES => forward_pass_2::<DOUBLES>(f, w, block),
            _ => forward_pass_2::<REDUCED>(f, w, block),
        }
    } else {
        let w = run.pass_factors(slot);
        match step.read {
            INTEGERS => forward_pass_4::<INTEGERS>(f, &w, block),
            DOUBLES => forward_pass_4::<DOUBLES>(f, &w, block),
            _ => forward_pass_4::<REDUCED>(f, &w, block),
        }
    }
}

/// Returns the levels of the first pass of a forward transform, or of the last one of an inverse transform, of a block
/// that is longer than a leaf.
fn pass_levels(block: &[Block]) -> u32 {
    2 - (4 * block.len() / LEAF).trailing_zeros() % 2
}

/// Reads a vector of a block.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn read<const READ: u8>(f: &Field, x: &Block) -> __m256d {
    match READ {
        INTEGERS => to_float(load(x)),
        DOUBLES => load_float(x),
        _ => f.reduce(load_float(x)),
    }
}

/// One level.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_pass_2<const READ: u8>(f: &Field, w: Factors, block: &mut [Block]) {
    let (a, b) = block.split_at_mut(block.len() / 2);
    for (a, b) in a.iter_mut().zip(b) {
        let (x, y) = (read::<READ>(f, a), read::<READ>(f, b));
        let (x, y) = forward_butterfly(f, x, y, w);
        store_float(a, x);
        store_float(b, y);
    }
}

/// Two levels.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_pass_4<const READ: u8>(f: &Field, w: &PassFactors, block: &mut [Block]) {
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [&*a, &*b, &*c, &*d].map(|x| read::<READ>(f, x));
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
fn forward_quads<const READ: u8>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    for (slot, leaf) in (first..).zip(leaves) {
        let x = leaf.each_ref().map(|x| read::<READ>(&run.f, x));
        let x = forward_4(&run.f, &run.pass_factors(slot), x);
        for (out, x) in leaf.iter_mut().zip(x) {
            store_float(out, x);
        }
    }
}

/// Does the last two levels of leaves, the first leaf at heap slot `first`, and makes them canonical.
#[target_feature(enable = "avx2,fma")]
fn forward_lanes<const READ: u8>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let f = &run.f;
    for (leaf, w) in leaves.iter_mut().zip(run.leaves(first)) {
        let x = read_columns(leaf).map(|x| _mm256_castsi256_pd(x));
        let columns = match READ {
            REDUCED => x.map(|x| f.reduce(x)),
            _ => x,
        };
        let results = forward_4(f, &PassFactors::within(f, w), columns);
        write_columns(leaf, results.map(|x| to_int(f.canonical(f.reduce(x)))));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    if row.len() <= LEAF {
        return scalar::ntt::inverse(t, row, last);
    }
    up(t, row.as_chunks_mut().0, None, last);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn inverse_from(t: &NttTable, out: &mut [u64], src: &[u64], last: [Factor; 2]) {
    if out.len() <= LEAF {
        out.copy_from_slice(src);
        return scalar::ntt::inverse(t, out, last);
    }
    up(t, out.as_chunks_mut().0, Some(src.as_chunks().0), last);
}

/// Transforms a row, or the one in `from`, back.
#[target_feature(enable = "avx2,fma")]
fn up(t: &NttTable, row: &mut [Block], from: Option<&[Block]>, last: [Factor; 2]) {
    let run = Run::new(t.modulus(), t.inverse_floats());
    let last = last.map(|factor| t.modulus().to_centered(factor.w) as f64);
    let last = last.map(|w| run.f.factors(_mm256_set1_pd(w)));
    ascend(&run, 1, row, from);
    last_pass(&run, row, last);
}

/// Transforms the block at heap slot `slot`, or the one in `from`, up from the leaves, at the root without the last
/// pass. Returns the bound of the results.
#[target_feature(enable = "avx2,fma")]
fn ascend(run: &Run<'_>, slot: usize, block: &mut [Block], from: Option<&[Block]>) -> f64 {
    if 4 * block.len() <= NEAR {
        if let Some(from) = from {
            block.copy_from_slice(from);
        }
        return ascend_near(run, slot, block);
    }
    let levels = pass_levels(block);
    let child_len = block.len() >> levels;
    let mut bound = 0.0;
    for (i, child) in block.chunks_exact_mut(child_len).enumerate() {
        let of_child = from.map(|from| &from[i * child_len..][..child_len]);
        // All children have the same one.
        bound = ascend(run, (slot << levels) + i, child, of_child);
    }
    if slot == 1 {
        return bound;
    }
    let step = run.rise(2.0 * bound, 2.0 * bound);
    inverse_pass(run, slot, block, step);
    step.bound
}

/// Does the work of [`ascend`] pass by pass, for the reason of [`descend_near`].
#[target_feature(enable = "avx2,fma")]
fn ascend_near(run: &Run<'_>, slot: usize, block: &mut [Block]) -> f64 {
    let (leaves, _) = block.as_chunks_mut();
    let count = leaves.len();
    // Residues in `[0, q)`.
    let step = run.rise(2.0, 1.0);
    by_reduced!(step.reduced, inverse_lanes(run, slot * count, leaves));
    let step = run.rise(2.0 * step.bound, 2.0 * step.bound);
    by_reduced!(step.reduced, inverse_quads(run, slot * count, leaves));
    let (mut parts, mut bound) = (count / 4, step.bound);
    // At the root the last pass has one or two levels.
    while parts > usize::from(slot == 1) {
        let step = run.rise(2.0 * bound, 2.0 * bound);
        let len = block.len() / parts;
        for (i, part) in block.chunks_exact_mut(len).enumerate() {
            inverse_pass(run, slot * parts + i, part, step);
        }
        parts /= 4;
        bound = step.bound;
    }
    bound
}

/// Does two levels of the block at heap slot `slot`.
#[target_feature(enable = "avx2,fma")]
fn inverse_pass(run: &Run<'_>, slot: usize, block: &mut [Block], step: Rise) {
    by_reduced!(step.reduced, inverse_pass_4(run, slot, block));
}

/// Two levels, with `R` of four results reduced.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_pass_4<const R: u8>(run: &Run<'_>, slot: usize, block: &mut [Block]) {
    let (f, w) = (&run.f, run.pass_factors(slot));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let x = [&*a, &*b, &*c, &*d].map(|x| load_float(x));
        let x = inverse_4::<R>(f, &w, x);
        for (out, x) in [a, b, c, d].into_iter().zip(x) {
            store_float(out, x);
        }
    }
}

/// Two levels of four vectors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_4<const R: u8>(f: &Field, w: &PassFactors, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (a, b) = inverse_butterfly(f, a, b, w.halves[0]);
    let (c, d) = inverse_butterfly(f, c, d, w.halves[1]);
    let (a, c) = inverse_butterfly(f, a, c, w.whole);
    let (b, d) = inverse_butterfly(f, b, d, w.whole);
    let mut out = [a, b, c, d];
    for x in &mut out[..R.into()] {
        *x = f.reduce(*x);
    }
    out
}

/// `(x + y, w (x - y))`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_butterfly(f: &Field, x: __m256d, y: __m256d, w: Factors) -> (__m256d, __m256d) {
    (_mm256_add_pd(x, y), f.mul(_mm256_sub_pd(x, y), w))
}

/// Does the first two levels of leaves of canonical residues, the first leaf at heap slot `first`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_lanes<const R: u8>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    let f = &run.f;
    for (leaf, w) in leaves.iter_mut().zip(run.leaves(first)) {
        let columns = read_columns(leaf).map(|x| to_float(x));
        let results = inverse_4::<R>(f, &PassFactors::within(f, w), columns);
        write_columns(leaf, results.map(|x| _mm256_castpd_si256(x)));
    }
}

/// Does two levels of leaves, the first leaf at heap slot `first`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_quads<const R: u8>(run: &Run<'_>, first: usize, leaves: &mut [Leaf]) {
    for (slot, leaf) in (first..).zip(leaves) {
        let x = leaf.each_ref().map(|x| load_float(x));
        let x = inverse_4::<R>(&run.f, &run.pass_factors(slot), x);
        for (out, x) in leaf.iter_mut().zip(x) {
            store_float(out, x);
        }
    }
}

/// Does the last pass of a row: the sums of its last level are multiplied by the first factor, the differences by the
/// second one. It makes the results canonical.
#[target_feature(enable = "avx2,fma")]
fn last_pass(run: &Run<'_>, block: &mut [Block], last: [Factors; 2]) {
    let f = &run.f;
    if pass_levels(block) == 1 {
        let (a, b) = block.split_at_mut(block.len() / 2);
        for (a, b) in a.iter_mut().zip(b) {
            let [x, y] = last_butterfly(f, load_float(a), load_float(b), last);
            store(a, x);
            store(b, y);
        }
        return;
    }
    let PassFactors { halves, .. } = run.pass_factors(1);
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let (w, x) = inverse_butterfly(f, load_float(a), load_float(b), halves[0]);
        let (y, z) = inverse_butterfly(f, load_float(c), load_float(d), halves[1]);
        let [w, y] = last_butterfly(f, w, y, last);
        let [x, z] = last_butterfly(f, x, z, last);
        for (out, x) in [a, b, c, d].into_iter().zip([w, x, y, z]) {
            store(out, x);
        }
    }
}

/// `(last[0] (x + y), last[1] (x - y))`, canonical: products of what may be multiplied are within one `q`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn last_butterfly(f: &Field, x: __m256d, y: __m256d, last: [Factors; 2]) -> [__m256i; 2] {
    let sum = f.mul(_mm256_add_pd(x, y), last[0]);
    let difference = f.mul(_mm256_sub_pd(x, y), last[1]);
    [to_int(f.canonical(sum)), to_int(f.canonical(difference))]
}

/// Twiddles of two levels: of the block and of its halves.
struct PassFactors {
    whole: Factors,
    halves: [Factors; 2],
}

impl<'a> Run<'a> {
    /// The twiddle of the block at heap slot `slot`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn twiddle(&self, slot: usize) -> Factors {
        self.f.factors(_mm256_set1_pd(self.tw.heap[slot]))
    }

    /// The twiddles of the block at heap slot `slot` and of its halves.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn pass_factors(&self, slot: usize) -> PassFactors {
        PassFactors {
            whole: self.twiddle(slot),
            halves: [self.twiddle(2 * slot), self.twiddle(2 * slot + 1)],
        }
    }

    /// The twiddles within leaves from heap slot `first` on.
    #[inline]
    fn leaves(&self, first: usize) -> &'a [[[f64; 4]; 3]] {
        // As many slots as there are leaves come before those of leaves.
        &self.tw.leaves[first - self.tw.leaves.len()..]
    }
}

impl PassFactors {
    /// The twiddles of two levels within a leaf that is read by columns.
    #[allow(unsafe_code)]
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn within(f: &Field, w: &[[f64; 4]; 3]) -> Self {
        // SAFETY: each reads the 32 bytes of four doubles.
        let factors = |w: &[f64; 4]| f.factors(unsafe { _mm256_loadu_pd(w.as_ptr()) });
        Self {
            whole: factors(&w[0]),
            halves: [factors(&w[1]), factors(&w[2])],
        }
    }
}

/// Reads the columns of four vectors, the rows of a square: vector i has lane i of all, in the order 0, 2, 1, 3.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn read_columns(leaf: &Leaf) -> [__m256i; 4] {
    let halves: &[[u64; 2]] = leaf.as_flattened().as_chunks().0;
    let [a_low, a_high] = [load_halves(halves, 0, 2), load_halves(halves, 1, 3)];
    let [c_low, c_high] = [load_halves(halves, 4, 6), load_halves(halves, 5, 7)];
    [
        _mm256_unpacklo_epi64(a_low, c_low),
        _mm256_unpackhi_epi64(a_low, c_low),
        _mm256_unpacklo_epi64(a_high, c_high),
        _mm256_unpackhi_epi64(a_high, c_high),
    ]
}

/// Undoes [`read_columns`].
#[inline]
#[target_feature(enable = "avx2,fma")]
fn write_columns(leaf: &mut Leaf, [a, b, c, d]: [__m256i; 4]) {
    let halves: &mut [[u64; 2]] = leaf.as_flattened_mut().as_chunks_mut().0;
    store_halves(halves, 0, 2, _mm256_unpacklo_epi64(a, b));
    store_halves(halves, 1, 3, _mm256_unpacklo_epi64(c, d));
    store_halves(halves, 4, 6, _mm256_unpackhi_epi64(a, b));
    store_halves(halves, 5, 7, _mm256_unpackhi_epi64(c, d));
}

/// Reads two halves of vectors.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_halves(halves: &[[u64; 2]], low: usize, high: usize) -> __m256i {
    let [low, high] = [&halves[low], &halves[high]];
    // SAFETY: reads the 16 bytes of each half.
    unsafe { _mm256_loadu2_m128i(high.as_ptr().cast(), low.as_ptr().cast()) }
}

/// Writes two halves of vectors.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_halves(halves: &mut [[u64; 2]], low: usize, high: usize, v: __m256i) {
    let [low, high] = halves.get_disjoint_mut([low, high]).expect("two halves");
    // SAFETY: writes the 16 bytes of each half.
    unsafe { _mm256_storeu2_m128i(high.as_mut_ptr().cast(), low.as_mut_ptr().cast(), v) }
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
