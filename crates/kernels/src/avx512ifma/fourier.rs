//! Transforms in double precision. Layouts and ranges: see [`crate::fourier`].
//!
//! Two levels a pass, depth first, down to groups of 64 values, whose six levels are one pass: three,
//! a transposition, three more whose twiddles differ by lane.

use std::arch::x86_64::*;

use super::field::{load, splat, store};
use crate::fourier::{FourierTable, FractionCut, LANES, Octet};
use crate::{Gadget, fourier};

/// Eight complex numbers in memory.
pub(super) type Block = [[f64; LANES]; 2];
/// 64 of them.
type Leaf = [Block; LANES];

/// Eight complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex {
    pub(super) re: __m512d,
    pub(super) im: __m512d,
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn digits(t: &FourierTable, gadget: Gadget, out: &mut [&mut [f64]], src: &[u64]) {
    for (i, row) in out.iter_mut().enumerate() {
        let blocks = blocks_mut(row);
        start(t, FractionCut::new(gadget, i), blocks, src.as_chunks().0);
        let quarter = blocks.len() / 4;
        for (k, block) in blocks.chunks_exact_mut(quarter).enumerate() {
            descend(t, 4 + k, block);
        }
    }
}

/// Cuts digits and takes them through the first two levels.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn start(t: &FourierTable, cut: FractionCut, blocks: &mut [Block], src: &[[u64; 8]]) {
    let (low, high) = src.split_at(src.len() / 2);
    let [offset, mask, half] = [cut.offset, cut.mask, cut.half].map(|x| splat(x));
    let digit = |x: &[u64; 8]| {
        let digit = _mm512_and_si512(_mm512_add_epi64(load(x), offset), mask);
        _mm512_cvtepi64_pd(_mm512_sub_epi64(digit, half))
    };
    let w = [t.twiddle(1), t.twiddle(2)].map(|w| Complex::splat(w));
    for ([a, b, c, d], (low, high)) in quarters(blocks).zip(quarters_of(low).zip(quarters_of(high)))
    {
        let mut x: [Complex; 4] = std::array::from_fn(|k| Complex {
            re: digit(low[k]),
            im: digit(high[k]),
        });
        two_levels(&mut x, w);
        store_all([a, b, c, d], x);
    }
}

/// Transforms the block at heap slot `slot`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn descend(t: &FourierTable, slot: usize, block: &mut [Block]) {
    match block.len() {
        ..=LANES => {
            if let Some(leaf) = block.as_chunks_mut().0.first_mut() {
                forward_leaf(t, slot, leaf);
            }
        }
        16 => {
            let w = Complex::splat(t.twiddle(slot));
            let (low, high) = block.split_at_mut(8);
            for (x, y) in low.iter_mut().zip(&mut *high) {
                let (a, b) = butterfly(Complex::load(x), Complex::load(y), w);
                a.store(x);
                b.store(y);
            }
            descend(t, 2 * slot, low);
            descend(t, 2 * slot + 1, high);
        }
        len => {
            let w = [t.twiddle(slot), t.twiddle(2 * slot)].map(|w| Complex::splat(w));
            for [a, b, c, d] in quarters(block) {
                let mut x = [&a, &b, &c, &d].map(|x| Complex::load(x));
                two_levels(&mut x, w);
                store_all([a, b, c, d], x);
            }
            for (k, block) in block.chunks_exact_mut(len / 4).enumerate() {
                descend(t, 4 * slot + k, block);
            }
        }
    }
}

/// Two levels: the second's second twiddle is i times the first.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn two_levels(x: &mut [Complex; 4], [first, second]: [Complex; 2]) {
    (x[0], x[2]) = butterfly(x[0], x[2], first);
    (x[1], x[3]) = butterfly(x[1], x[3], first);
    (x[0], x[1]) = butterfly(x[0], x[1], second);
    (x[2], x[3]) = butterfly_i(x[2], x[3], second);
}

/// Three levels over eight.
macro_rules! three_levels {
    ($x:ident, $first:expr, $second:expr, $third:expr, $fourth:expr) => {
        let w = $first;
        ($x[0], $x[4]) = butterfly($x[0], $x[4], w);
        ($x[1], $x[5]) = butterfly($x[1], $x[5], w);
        ($x[2], $x[6]) = butterfly($x[2], $x[6], w);
        ($x[3], $x[7]) = butterfly($x[3], $x[7], w);
        let w = $second;
        ($x[0], $x[2]) = butterfly($x[0], $x[2], w);
        ($x[1], $x[3]) = butterfly($x[1], $x[3], w);
        ($x[4], $x[6]) = butterfly_i($x[4], $x[6], w);
        ($x[5], $x[7]) = butterfly_i($x[5], $x[7], w);
        let w = $third;
        ($x[0], $x[1]) = butterfly($x[0], $x[1], w);
        ($x[2], $x[3]) = butterfly_i($x[2], $x[3], w);
        let w = $fourth;
        ($x[4], $x[5]) = butterfly($x[4], $x[5], w);
        ($x[6], $x[7]) = butterfly_i($x[6], $x[7], w);
    };
}

/// Three levels of the inverse transform.
macro_rules! three_levels_back {
    ($x:ident, $first:expr, $second:expr, $third:expr, $fourth:expr) => {
        let w = $third;
        ($x[0], $x[1]) = back($x[0], $x[1], w);
        ($x[2], $x[3]) = back_i($x[2], $x[3], w);
        let w = $fourth;
        ($x[4], $x[5]) = back($x[4], $x[5], w);
        ($x[6], $x[7]) = back_i($x[6], $x[7], w);
        let w = $second;
        ($x[0], $x[2]) = back($x[0], $x[2], w);
        ($x[1], $x[3]) = back($x[1], $x[3], w);
        ($x[4], $x[6]) = back_i($x[4], $x[6], w);
        ($x[5], $x[7]) = back_i($x[5], $x[7], w);
        let w = $first;
        ($x[0], $x[4]) = back($x[0], $x[4], w);
        ($x[1], $x[5]) = back($x[1], $x[5], w);
        ($x[2], $x[6]) = back($x[2], $x[6], w);
        ($x[3], $x[7]) = back($x[3], $x[7], w);
    };
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn forward_leaf(t: &FourierTable, slot: usize, leaf: &mut Leaf) {
    let mut x = leaf.each_ref().map(|x| Complex::load(x));
    let w = |slot| Complex::splat(t.twiddle(slot));
    three_levels!(x, w(slot), w(2 * slot), w(4 * slot), w(4 * slot + 2));
    let mut x = transpose(x);
    let w = t.leaf(slot - t.n() / 2 / fourier::GROUP);
    three_levels!(
        x,
        Complex::octets(&w[0]),
        Complex::octets(&w[1]),
        Complex::octets(&w[2]),
        Complex::octets(&w[3])
    );
    for (to, x) in leaf.iter_mut().zip(x) {
        x.store(to);
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn inverse_leaf(t: &FourierTable, slot: usize, leaf: &mut Leaf) {
    let mut x = leaf.each_ref().map(|x| Complex::load(x));
    let w = t.leaf(slot - t.n() / 2 / fourier::GROUP);
    three_levels_back!(
        x,
        Complex::octets(&w[0]),
        Complex::octets(&w[1]),
        Complex::octets(&w[2]),
        Complex::octets(&w[3])
    );
    let mut x = transpose(x);
    let w = |slot| Complex::splat(t.twiddle(slot));
    three_levels_back!(x, w(slot), w(2 * slot), w(4 * slot), w(4 * slot + 2));
    for (to, x) in leaf.iter_mut().zip(x) {
        x.store(to);
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn add(t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
    let blocks = blocks_mut(row);
    let quarter = blocks.len() / 4;
    for (k, block) in blocks.chunks_exact_mut(quarter).enumerate() {
        ascend(t, 4 + k, block);
    }
    let w = [t.twiddle(1), t.twiddle(2)].map(|w| Complex::splat(w));
    let (low, high) = acc.as_chunks_mut().0.split_at_mut(blocks.len());
    for (x, (low, high)) in quarters(blocks).zip(quarters(low).zip(quarters(high))) {
        let mut x = x.map(|x| Complex::load(x));
        two_levels_back(&mut x, w);
        for (x, (low, high)) in x.iter().zip(low.into_iter().zip(high)) {
            add_fraction(low, x.re);
            add_fraction(high, x.im);
        }
    }
}

/// Adds turns to fractions. Half a turn up does not fit the conversion, which then gives half a turn
/// down.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn add_fraction(acc: &mut [u64; 8], turns: __m512d) {
    let turn = _mm512_set1_pd(2.0 * (1u64 << 63) as f64);
    let part = _mm512_mul_pd(_mm512_reduce_pd::<0>(turns), turn);
    store(acc, _mm512_add_epi64(load(acc), _mm512_cvtpd_epi64(part)));
}

/// Transforms the block at heap slot `slot` back.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ascend(t: &FourierTable, slot: usize, block: &mut [Block]) {
    match block.len() {
        ..=LANES => {
            if let Some(leaf) = block.as_chunks_mut().0.first_mut() {
                inverse_leaf(t, slot, leaf);
            }
        }
        16 => {
            let w = Complex::splat(t.twiddle(slot));
            let (low, high) = block.split_at_mut(8);
            ascend(t, 2 * slot, low);
            ascend(t, 2 * slot + 1, high);
            for (x, y) in low.iter_mut().zip(high) {
                let (a, b) = back(Complex::load(x), Complex::load(y), w);
                a.store(x);
                b.store(y);
            }
        }
        len => {
            for (k, block) in block.chunks_exact_mut(len / 4).enumerate() {
                ascend(t, 4 * slot + k, block);
            }
            let w = [t.twiddle(slot), t.twiddle(2 * slot)].map(|w| Complex::splat(w));
            for [a, b, c, d] in quarters(block) {
                let mut x = [&a, &b, &c, &d].map(|x| Complex::load(x));
                two_levels_back(&mut x, w);
                store_all([a, b, c, d], x);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn two_levels_back(x: &mut [Complex; 4], [first, second]: [Complex; 2]) {
    (x[0], x[1]) = back(x[0], x[1], second);
    (x[2], x[3]) = back_i(x[2], x[3], second);
    (x[0], x[2]) = back(x[0], x[2], first);
    (x[1], x[3]) = back(x[1], x[3], first);
}

/// `(x + w y, x - w y)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly(x: Complex, y: Complex, w: Complex) -> (Complex, Complex) {
    let t = y.mul(w);
    (x.add(t), x.sub(t))
}

/// `(x + i w y, x - i w y)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly_i(x: Complex, y: Complex, w: Complex) -> (Complex, Complex) {
    let t = y.mul(w);
    let plus = Complex {
        re: _mm512_sub_pd(x.re, t.im),
        im: _mm512_add_pd(x.im, t.re),
    };
    let minus = Complex {
        re: _mm512_add_pd(x.re, t.im),
        im: _mm512_sub_pd(x.im, t.re),
    };
    (plus, minus)
}

/// `(x + y, (x - y) / w)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn back(x: Complex, y: Complex, w: Complex) -> (Complex, Complex) {
    (x.add(y), x.sub(y).mul_conjugate(w))
}

/// `(x + y, (x - y) / (i w))`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn back_i(x: Complex, y: Complex, w: Complex) -> (Complex, Complex) {
    let turned = Complex {
        re: _mm512_sub_pd(x.im, y.im),
        im: _mm512_sub_pd(y.re, x.re),
    };
    (x.add(y), turned.mul_conjugate(w))
}

impl Complex {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn splat([re, im]: fourier::Complex) -> Self {
        Self {
            re: _mm512_set1_pd(re),
            im: _mm512_set1_pd(im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn load([re, im]: &Block) -> Self {
        Self {
            re: load_pd(re),
            im: load_pd(im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn octets([re, im]: &[Octet; 2]) -> Self {
        Self {
            re: load_pd(&re.0),
            im: load_pd(&im.0),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn store(self, [re, im]: &mut Block) {
        store_pd(re, self.re);
        store_pd(im, self.im);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn add(self, y: Self) -> Self {
        Self {
            re: _mm512_add_pd(self.re, y.re),
            im: _mm512_add_pd(self.im, y.im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn sub(self, y: Self) -> Self {
        Self {
            re: _mm512_sub_pd(self.re, y.re),
            im: _mm512_sub_pd(self.im, y.im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul(self, w: Self) -> Self {
        Self {
            re: _mm512_fmsub_pd(self.re, w.re, _mm512_mul_pd(self.im, w.im)),
            im: _mm512_fmadd_pd(self.re, w.im, _mm512_mul_pd(self.im, w.re)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn mul_conjugate(self, w: Self) -> Self {
        Self {
            re: _mm512_fmadd_pd(self.re, w.re, _mm512_mul_pd(self.im, w.im)),
            im: _mm512_fmsub_pd(self.im, w.re, _mm512_mul_pd(self.re, w.im)),
        }
    }

    /// `self + x y`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul_add(self, x: Self, y: Self) -> Self {
        let re = _mm512_fmadd_pd(x.re, y.re, self.re);
        let im = _mm512_fmadd_pd(x.re, y.im, self.im);
        Self {
            re: _mm512_fnmadd_pd(x.im, y.im, re),
            im: _mm512_fmadd_pd(x.im, y.re, im),
        }
    }
}

/// Element i of vector l becomes element l of vector i.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn transpose(x: [Complex; 8]) -> [Complex; 8] {
    let (re, im) = (octet(x.map(|x| x.re)), octet(x.map(|x| x.im)));
    std::array::from_fn(|i| Complex {
        re: re[i],
        im: im[i],
    })
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn octet(x: [__m512d; 8]) -> [__m512d; 8] {
    let pairs = |a, b| (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    let ((a0, a1), (b0, b1)) = (pairs(x[0], x[1]), pairs(x[2], x[3]));
    let ((c0, c1), (d0, d1)) = (pairs(x[4], x[5]), pairs(x[6], x[7]));
    let [e0, e2, e4, e6] = quads([a0, b0, c0, d0]);
    let [e1, e3, e5, e7] = quads([a1, b1, c1, d1]);
    [e0, e1, e2, e3, e4, e5, e6, e7]
}

/// Transposes four vectors of four pairs.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn quads([a, b, c, d]: [__m512d; 4]) -> [__m512d; 4] {
    let even = |x, y| _mm512_shuffle_f64x2::<0b10_00_10_00>(x, y);
    let odd = |x, y| _mm512_shuffle_f64x2::<0b11_01_11_01>(x, y);
    let (ab, cd) = (even(a, b), even(c, d));
    let (ab_odd, cd_odd) = (odd(a, b), odd(c, d));
    [
        even(ab, cd),
        even(ab_odd, cd_odd),
        odd(ab, cd),
        odd(ab_odd, cd_odd),
    ]
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_pd(x: &[f64; LANES]) -> __m512d {
    // SAFETY: reads the 64 bytes of `x`.
    unsafe { _mm512_loadu_pd(x.as_ptr()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn store_pd(x: &mut [f64; LANES], v: __m512d) {
    // SAFETY: writes the 64 bytes of `x`.
    unsafe { _mm512_storeu_pd(x.as_mut_ptr(), v) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn store_all(to: [&mut Block; 4], x: [Complex; 4]) {
    for (to, x) in to.into_iter().zip(x) {
        x.store(to);
    }
}

pub(super) fn blocks(row: &[f64]) -> &[Block] {
    row.as_chunks().0.as_chunks().0
}

pub(super) fn blocks_mut(row: &mut [f64]) -> &mut [Block] {
    row.as_chunks_mut().0.as_chunks_mut().0
}

/// Iterates over the quarters side by side: each item has one element of every quarter.
fn quarters<T>(x: &mut [T]) -> impl Iterator<Item = [&mut T; 4]> {
    let (ab, cd) = x.split_at_mut(x.len() / 2);
    let (a, b) = ab.split_at_mut(ab.len() / 2);
    let (c, d) = cd.split_at_mut(cd.len() / 2);
    let (ab, cd) = (a.iter_mut().zip(b), c.iter_mut().zip(d));
    ab.zip(cd).map(|((a, b), (c, d))| [a, b, c, d])
}

fn quarters_of<T>(x: &[T]) -> impl Iterator<Item = [&T; 4]> {
    let (ab, cd) = x.split_at(x.len() / 2);
    let (a, b) = ab.split_at(ab.len() / 2);
    let (c, d) = cd.split_at(cd.len() / 2);
    let (ab, cd) = (a.iter().zip(b), c.iter().zip(d));
    ab.zip(cd).map(|((a, b), (c, d))| [a, b, c, d])
}
