//! Pointwise operations. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).
//!
//! Whole vectors here; the residues after the last vector go through the scalar back end.

use std::arch::x86_64::*;

use super::field::{
    Block, Factors, Field, SHORT_TERMS_OF_FACTORS, Wide, load, load_at, splat, store,
};
use crate::{Modulus, scalar::mul as scalar};

/// Vectors whose sums stay in registers.
const TILE: usize = 8;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(m);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        store(a, f.fold(_mm512_add_epi64(load(a), load(b))));
    }
    scalar::add(m, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn sub(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let f = Field::new(m);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        store(a, f.sub(load(a), load(b)));
    }
    scalar::sub(m, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn neg(m: &Modulus, a: &mut [u64]) {
    let f = Field::new(m);
    let (a, tail) = a.as_chunks_mut();
    for a in a {
        store(a, f.sub(splat(0), load(a)));
    }
    scalar::neg(m, tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mul(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let p = Product::new(m);
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        store(a, p.mul_add(splat(0), load(a), load(b)));
    }
    scalar::mul(m, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mul_add(m: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
    let p = Product::new(m);
    let (acc, acc_tail) = acc.as_chunks_mut();
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks(), b.as_chunks());
    for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
        store(acc, p.mul_add(load(acc), load(a), load(b)));
    }
    scalar::mul_add(m, acc_tail, a_tail, b_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn scale(m: &Modulus, a: &mut [u64], c: u64) {
    let (f, factor) = (Field::new(m), Factors::splat(m.factor(c)));
    let (a, tail) = a.as_chunks_mut();
    for a in a {
        store(a, f.canonical(f.mul(load(a), factor)));
    }
    scalar::scale(m, tail, c);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn scale_add(m: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
    let (f, factor) = (Field::new(m), Factors::splat(m.factor(c)));
    let ((acc, acc_tail), (a, a_tail)) = (acc.as_chunks_mut(), a.as_chunks());
    for (acc, a) in acc.iter_mut().zip(a) {
        store(acc, f.canonical_4q(f.mul_acc(load(acc), load(a), factor)));
    }
    scalar::scale_add(m, acc_tail, a_tail, c);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn sub_scale(m: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
    let (f, factor) = (Field::new(m), Factors::splat(m.factor(c)));
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    for (a, b) in a.iter_mut().zip(b) {
        let difference = f.sub_factor(load(a), load(b));
        store(a, f.canonical(f.mul(difference, factor)));
    }
    scalar::sub_scale(m, a_tail, b_tail, c);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn sub_scale_add(m: &Modulus, a: &mut [u64], b: &[u64], c: u64, d: &[u64], e: u64) {
    let f = Field::new(m);
    let [c_factor, e_factor] = [c, e].map(|c| Factors::splat(m.factor(c)));
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks_mut(), b.as_chunks());
    let (d, d_tail) = d.as_chunks();
    for ((a, b), d) in a.iter_mut().zip(b).zip(d) {
        let difference = f.sub_factor(load(a), load(b));
        let scaled = f.mul(difference, c_factor);
        store(a, f.canonical_4q(f.mul_acc(scaled, load(d), e_factor)));
    }
    scalar::sub_scale_add(m, a_tail, b_tail, c, d_tail, e);
}

/// Barrett multiplication of two variable rows.
struct Product {
    f: Field,
    /// `52 - bits`, at least 2.
    shift: __m128i,
    /// `floor(2^(bits + 51) / q)`, below `2^52`.
    ratio: __m512i,
}

impl Product {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new(m: &Modulus) -> Self {
        let ratio = (1u128 << (m.bits() + 51)) / u128::from(m.value());
        Self {
            f: Field::new(m),
            shift: _mm_cvtsi64_si128(i64::from(52 - m.bits())),
            ratio: splat(ratio as u64),
        }
    }

    /// `acc + x y`, all canonical.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn mul_add(&self, acc: __m512i, x: __m512i, y: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        // top = floor(x y / 2^(bits - 1)) < 2^(bits + 1)
        let (scaled, twice) = (_mm512_sll_epi64(x, self.shift), _mm512_add_epi64(y, y));
        let top = _mm512_madd52hi_epu64(zero, scaled, twice);
        let quotient = _mm512_madd52hi_epu64(zero, top, self.ratio);
        // The quotient is less than 2.5 too small, so the sum is below 3.5 q.
        let low = _mm512_madd52lo_epu64(acc, x, y);
        self.f
            .canonical_4q(_mm512_madd52lo_epu64(low, quotient, self.f.neg_q))
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let wide = Wide::new(m);
    let (blocks, _) = out.as_chunks_mut();
    let mut done = 0;
    let (tiles, rest) = blocks.as_chunks_mut::<TILE>();
    for tile in tiles {
        dot_tile(&wide, tile, a, b, done);
        done += 8 * TILE;
    }
    for block in rest {
        dot_tile(&wide, std::array::from_mut(block), a, b, done);
        done += 8;
    }
    scalar::dot_from(m, out, a, b, done);
}

/// `T` vectors of [`dot`], from residue `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn dot_tile<const T: usize>(
    wide: &Wide,
    out: &mut [Block; T],
    a: &[&[u64]],
    b: &[&[u64]],
    from: usize,
) {
    let mut low = [splat(0); T];
    let mut high = [splat(0); T];
    for (a, b) in a.iter().zip(b) {
        let a = a[from..from + 8 * T].as_chunks().0;
        let b = b[from..from + 8 * T].as_chunks().0;
        for (i, (a, b)) in a.iter().zip(b).enumerate().take(T) {
            let (a, b) = (load(a), load(b));
            low[i] = _mm512_madd52lo_epu64(low[i], a, b);
            high[i] = _mm512_madd52hi_epu64(high[i], a, b);
        }
    }
    for (i, out) in out.iter_mut().enumerate() {
        store(out, wide.reduce(low[i], high[i]));
    }
}

/// Vectors of each output whose sums stay in registers, in [`dot_pair`] and [`dot_square`].
const PAIR_TILE: usize = 4;
const SQUARE_TILE: usize = 2;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot_pair(m: &Modulus, out: [&mut [u64]; 2], a: &[&[u64]], b: [&[&[u64]]; 2]) {
    let wide = Wide::new(m);
    let [first, second] = out;
    let [tiles, others] = [&mut *first, &mut *second].map(tiles::<PAIR_TILE>);
    let mut done = 0;
    for (first, second) in tiles.iter_mut().zip(others) {
        pair_tile(&wide, [first, second], a, b, done);
        done += PAIR_TILE;
    }
    for (out, b) in [first, second].into_iter().zip(b) {
        scalar::dot_from(m, out, a, b, 8 * done);
    }
}

/// Whole tiles of `T` vectors.
fn tiles<const T: usize>(row: &mut [u64]) -> &mut [[Block; T]] {
    row.as_chunks_mut().0.as_chunks_mut().0
}

/// Sums of products, `T` vectors, as low and high words.
#[derive(Clone, Copy)]
struct Products<const T: usize> {
    low: [__m512i; T],
    high: [__m512i; T],
}

impl<const T: usize> Products<T> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn zero() -> Self {
        let zero = [splat(0); T];
        Self {
            low: zero,
            high: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn add(&mut self, x: usize, a: __m512i, b: __m512i) {
        self.low[x] = _mm512_madd52lo_epu64(self.low[x], a, b);
        self.high[x] = _mm512_madd52hi_epu64(self.high[x], a, b);
    }

    /// Stores the sums, each of `terms` products.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn store(&self, wide: &Wide, terms: usize, out: &mut [Block; T]) {
        for ((out, &low), &high) in out.iter_mut().zip(&self.low).zip(&self.high) {
            if terms <= SHORT_TERMS_OF_FACTORS {
                store(out, wide.reduce_short(low, high))
            } else {
                store(out, wide.reduce(low, high))
            }
        }
    }
}

/// [`PAIR_TILE`] vectors of each output, from vector `from` on. The caller has checked that all rows
/// have the length of the outputs.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn pair_tile(
    wide: &Wide,
    [first, second]: [&mut [Block; PAIR_TILE]; 2],
    a: &[&[u64]],
    [b, c]: [&[&[u64]]; 2],
    from: usize,
) {
    let (mut ab, mut ac) = (Products::zero(), Products::zero());
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        let (a, b, c) = (a.as_chunks().0, b.as_chunks().0, c.as_chunks().0);
        for x in 0..PAIR_TILE {
            let at = from + x;
            // SAFETY: `at` lies inside the outputs, which are as long as the rows.
            let [a, b, c] = unsafe { [load_at(a, at), load_at(b, at), load_at(c, at)] };
            ab.add(x, a, b);
            ac.add(x, a, c);
        }
    }
    ab.store(wide, a.len(), first);
    ac.store(wide, a.len(), second);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot_square(m: &Modulus, out: [&mut [u64]; 4], a: [&[&[u64]]; 2], b: [&[&[u64]]; 2]) {
    let wide = Wide::new(m);
    let [ac, ad, bc, bd] = out;
    let [one, two, three, four] =
        [&mut *ac, &mut *ad, &mut *bc, &mut *bd].map(tiles::<SQUARE_TILE>);
    let mut done = 0;
    for (((one, two), three), four) in one.iter_mut().zip(two).zip(three).zip(four) {
        square_tile(&wide, [one, two, three, four], a, b, done);
        done += SQUARE_TILE;
    }
    for (i, out) in [ac, ad, bc, bd].into_iter().enumerate() {
        scalar::dot_from(m, out, a[i / 2], b[i % 2], 8 * done);
    }
}

/// [`SQUARE_TILE`] vectors of each output, from vector `from` on. The caller has checked that all
/// rows have the length of the outputs.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn square_tile(
    wide: &Wide,
    out: [&mut [Block; SQUARE_TILE]; 4],
    [a, b]: [&[&[u64]]; 2],
    [c, d]: [&[&[u64]]; 2],
    from: usize,
) {
    let (mut ac, mut ad) = (Products::zero(), Products::zero());
    let (mut bc, mut bd) = (Products::zero(), Products::zero());
    for ((a, b), (c, d)) in a.iter().zip(b).zip(c.iter().zip(d)) {
        let (a, b): (&[Block], &[Block]) = (a.as_chunks().0, b.as_chunks().0);
        let (c, d): (&[Block], &[Block]) = (c.as_chunks().0, d.as_chunks().0);
        for x in 0..SQUARE_TILE {
            let at = from + x;
            // SAFETY: `at` lies inside the outputs, which are as long as the rows.
            let [a, b] = unsafe { [load_at(a, at), load_at(b, at)] };
            // SAFETY: as above.
            let [c, d] = unsafe { [load_at(c, at), load_at(d, at)] };
            ac.add(x, a, c);
            ad.add(x, a, d);
            bc.add(x, b, c);
            bd.add(x, b, d);
        }
    }
    for (sums, out) in [ac, ad, bc, bd].iter().zip(out) {
        sums.store(wide, a.len(), out);
    }
}
