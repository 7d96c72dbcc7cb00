//! Products in double precision, two complex values a vector. Layouts and ranges: see
//! [`crate::fourier`].

use std::arch::aarch64::*;

use super::float::{load as load_words, store as store_words};
use crate::Gadget;
use crate::fourier::{self, FourierTable, FractionCut, LANES};
use crate::scalar::fourier::TURN;

/// Vectors of eight values.
pub(super) const PARTS: usize = LANES / 2;

/// Eight complex values in memory: real parts, imaginary parts.
pub(super) type Block = [[[f64; 2]; PARTS]; 2];

/// Two complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex {
    pub(super) re: float64x2_t,
    pub(super) im: float64x2_t,
}

#[target_feature(enable = "neon")]
pub(super) fn digits(t: &FourierTable, gadget: Gadget, out: &mut [&mut [f64]], src: &[u64]) {
    let (low, high) = src.split_at(src.len() / 2);
    for (i, row) in out.iter_mut().enumerate() {
        let cut = FractionCut::new(gadget, i);
        for (i, [re, im]) in blocks_mut(row).iter_mut().enumerate() {
            cut_digits(cut, re, &low[LANES * i..][..LANES]);
            cut_digits(cut, im, &high[LANES * i..][..LANES]);
        }
        forward(t, blocks_mut(row));
    }
}

/// [`FractionCut::digit`] of each fraction.
#[inline]
#[target_feature(enable = "neon")]
fn cut_digits(cut: FractionCut, to: &mut [[f64; 2]; PARTS], src: &[u64]) {
    let (offset, mask) = (vdupq_n_u64(cut.offset), vdupq_n_u64(cut.mask));
    for (to, x) in to.iter_mut().zip(src.as_chunks().0) {
        let positive = vandq_u64(vaddq_u64(load_words(x), offset), mask);
        let digit = vsubq_u64(positive, vdupq_n_u64(cut.half));
        store(to, vcvtq_f64_s64(vreinterpretq_s64_u64(digit)));
    }
}

#[target_feature(enable = "neon")]
pub(super) fn add(t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
    backward(t, blocks_mut(row));
    let (low, high) = acc.split_at_mut(row.len() / 2);
    for (i, [re, im]) in blocks(row).iter().enumerate() {
        add_turns(&mut low[LANES * i..][..LANES], re);
        add_turns(&mut high[LANES * i..][..LANES], im);
    }
}

/// Adds turns, without whole ones, to fractions of `2^64`.
#[inline]
#[target_feature(enable = "neon")]
fn add_turns(acc: &mut [u64], turns: &[[f64; 2]; PARTS]) {
    for (acc, x) in acc.as_chunks_mut().0.iter_mut().zip(turns) {
        let x = load(x);
        let fraction = vmulq_n_f64(vsubq_f64(x, vrndnq_f64(x)), TURN);
        let fraction = vreinterpretq_u64_s64(vcvtq_s64_f64(fraction));
        store_words(acc, vaddq_u64(load_words(acc), fraction));
    }
}

/// Levels between blocks, two a pass; then each group is transposed, and its lanes' levels are levels
/// between blocks as well.
#[target_feature(enable = "neon")]
fn forward(t: &FourierTable, blocks: &mut [Block]) {
    let levels = blocks.len().ilog2();
    for level in (0..levels - levels % 2).step_by(2) {
        let len = blocks.len() >> level;
        for (i, part) in blocks.chunks_exact_mut(len).enumerate() {
            two_levels(twiddles(t, (1 << level) + i), part);
        }
    }
    if levels % 2 == 1 {
        for (i, [a, b]) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
            let w = Complex::splat(t.twiddle((1 << (levels - 1)) + i));
            for part in 0..PARTS {
                let y = Complex::load(b, part).mul(w);
                let (x, y) = Complex::load(a, part).plus_minus(y);
                x.store(a, part);
                y.store(b, part);
            }
        }
    }
    for (i, group) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
        lanes(t, i, group);
    }
}

#[target_feature(enable = "neon")]
fn backward(t: &FourierTable, blocks: &mut [Block]) {
    let levels = blocks.len().ilog2();
    for (i, group) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
        lanes_back(t, i, group);
    }
    if levels % 2 == 1 {
        for (i, [a, b]) in blocks.as_chunks_mut().0.iter_mut().enumerate() {
            let w = Complex::splat(t.twiddle((1 << (levels - 1)) + i));
            for part in 0..PARTS {
                let (x, y) = Complex::load(a, part).plus_minus(Complex::load(b, part));
                x.store(a, part);
                y.mul_conjugate(w).store(b, part);
            }
        }
    }
    for level in (0..levels - levels % 2).step_by(2).rev() {
        let len = blocks.len() >> level;
        for (i, part) in blocks.chunks_exact_mut(len).enumerate() {
            two_levels_back(twiddles(t, (1 << level) + i), part);
        }
    }
}

/// Returns the twiddles of a slot and of its first child; the second child's twiddle is i times the first child's.
#[inline]
#[target_feature(enable = "neon")]
fn twiddles(t: &FourierTable, slot: usize) -> [Complex; 2] {
    [
        Complex::splat(t.twiddle(slot)),
        Complex::splat(t.twiddle(2 * slot)),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn two_levels([first, second]: [Complex; 2], blocks: &mut [Block]) {
    let [a, b, c, d] = quarters(blocks);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        for part in 0..PARTS {
            let [x, y, z, u] = [&*a, b, c, d].map(|x| Complex::load(x, part));
            let (x, z) = x.plus_minus(z.mul(first));
            let (y, u) = y.plus_minus(u.mul(first));
            let (x, y) = x.plus_minus(y.mul(second));
            let (z, u) = z.plus_minus_i(u.mul(second));
            x.store(a, part);
            y.store(b, part);
            z.store(c, part);
            u.store(d, part);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn two_levels_back([first, second]: [Complex; 2], blocks: &mut [Block]) {
    let [a, b, c, d] = quarters(blocks);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        for part in 0..PARTS {
            let [x, y, z, u] = [&*a, b, c, d].map(|x| Complex::load(x, part));
            let (x, y) = x.plus_minus(y);
            let (z, u) = z.plus_turned_minus(u);
            let (y, u) = (y.mul_conjugate(second), u.mul_conjugate(second));
            let (x, z) = x.plus_minus(z);
            let (y, u) = y.plus_minus(u);
            x.store(a, part);
            y.store(b, part);
            z.mul_conjugate(first).store(c, part);
            u.mul_conjugate(first).store(d, part);
        }
    }
}

/// The transposition of a group and its last three levels.
#[target_feature(enable = "neon")]
fn lanes(t: &FourierTable, group: usize, blocks: &mut [Block; LANES]) {
    let from = *blocks;
    for part in 0..PARTS {
        let [first, second, third, fourth] = leaf(t, group, part);
        let mut x = [first; LANES];
        for i in 0..PARTS {
            let (a, b) = (&from[2 * part], &from[2 * part + 1]);
            (x[2 * i], x[2 * i + 1]) = Complex::load(a, i).zip(Complex::load(b, i));
        }
        for i in 0..4 {
            (x[i], x[i + 4]) = x[i].plus_minus(x[i + 4].mul(first));
        }
        for i in 0..2 {
            (x[i], x[i + 2]) = x[i].plus_minus(x[i + 2].mul(second));
            (x[i + 4], x[i + 6]) = x[i + 4].plus_minus_i(x[i + 6].mul(second));
        }
        for (i, w) in [(0, third), (4, fourth)] {
            (x[i], x[i + 1]) = x[i].plus_minus(x[i + 1].mul(w));
            (x[i + 2], x[i + 3]) = x[i + 2].plus_minus_i(x[i + 3].mul(w));
        }
        for (block, x) in blocks.iter_mut().zip(x) {
            x.store(block, part);
        }
    }
}

#[target_feature(enable = "neon")]
fn lanes_back(t: &FourierTable, group: usize, blocks: &mut [Block; LANES]) {
    let from = *blocks;
    for part in 0..PARTS {
        let [first, second, third, fourth] = leaf(t, group, part);
        let mut x = from.map(|block| Complex::load(&block, part));
        for (i, w) in [(0, third), (4, fourth)] {
            (x[i], x[i + 1]) = x[i].plus_minus(x[i + 1]);
            x[i + 1] = x[i + 1].mul_conjugate(w);
            (x[i + 2], x[i + 3]) = x[i + 2].plus_turned_minus(x[i + 3]);
            x[i + 3] = x[i + 3].mul_conjugate(w);
        }
        for i in 0..2 {
            (x[i], x[i + 2]) = x[i].plus_minus(x[i + 2]);
            x[i + 2] = x[i + 2].mul_conjugate(second);
            (x[i + 4], x[i + 6]) = x[i + 4].plus_turned_minus(x[i + 6]);
            x[i + 6] = x[i + 6].mul_conjugate(second);
        }
        for i in 0..4 {
            (x[i], x[i + 4]) = x[i].plus_minus(x[i + 4]);
            x[i + 4] = x[i + 4].mul_conjugate(first);
        }
        for i in 0..PARTS {
            let (a, b) = x[2 * i].zip(x[2 * i + 1]);
            a.store(&mut blocks[2 * part], i);
            b.store(&mut blocks[2 * part + 1], i);
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn leaf(t: &FourierTable, group: usize, part: usize) -> [Complex; 4] {
    t.leaf(group)
        .each_ref()
        .map(|octets| Complex::octets(octets, part))
}

impl Complex {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn splat([re, im]: fourier::Complex) -> Self {
        Self {
            re: vdupq_n_f64(re),
            im: vdupq_n_f64(im),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn load([re, im]: &Block, part: usize) -> Self {
        Self {
            re: load(&re[part]),
            im: load(&im[part]),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn octets([re, im]: &[fourier::Octet; 2], part: usize) -> Self {
        Self {
            re: load(&re.0.as_chunks().0[part]),
            im: load(&im.0.as_chunks().0[part]),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn store(self, [re, im]: &mut Block, part: usize) {
        store(&mut re[part], self.re);
        store(&mut im[part], self.im);
    }

    /// The first lanes of two vectors, then the second.
    #[inline]
    #[target_feature(enable = "neon")]
    fn zip(self, y: Self) -> (Self, Self) {
        let first = Self {
            re: vzip1q_f64(self.re, y.re),
            im: vzip1q_f64(self.im, y.im),
        };
        let second = Self {
            re: vzip2q_f64(self.re, y.re),
            im: vzip2q_f64(self.im, y.im),
        };
        (first, second)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn add(self, y: Self) -> Self {
        Self {
            re: vaddq_f64(self.re, y.re),
            im: vaddq_f64(self.im, y.im),
        }
    }

    /// `(x + y, x - y)`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn plus_minus(self, y: Self) -> (Self, Self) {
        let minus = Self {
            re: vsubq_f64(self.re, y.re),
            im: vsubq_f64(self.im, y.im),
        };
        (self.add(y), minus)
    }

    /// `(x + i y, x - i y)`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn plus_minus_i(self, y: Self) -> (Self, Self) {
        let plus = Self {
            re: vsubq_f64(self.re, y.im),
            im: vaddq_f64(self.im, y.re),
        };
        let minus = Self {
            re: vaddq_f64(self.re, y.im),
            im: vsubq_f64(self.im, y.re),
        };
        (plus, minus)
    }

    /// `(x + y, (x - y) / i)`.
    #[inline]
    #[target_feature(enable = "neon")]
    fn plus_turned_minus(self, y: Self) -> (Self, Self) {
        let turned = Self {
            re: vsubq_f64(self.im, y.im),
            im: vsubq_f64(y.re, self.re),
        };
        (self.add(y), turned)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn mul(self, w: Self) -> Self {
        Self {
            re: vfmsq_f64(vmulq_f64(self.re, w.re), self.im, w.im),
            im: vfmaq_f64(vmulq_f64(self.re, w.im), self.im, w.re),
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn mul_conjugate(self, w: Self) -> Self {
        Self {
            re: vfmaq_f64(vmulq_f64(self.re, w.re), self.im, w.im),
            im: vfmsq_f64(vmulq_f64(self.im, w.re), self.re, w.im),
        }
    }

    /// `self + x y`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn mul_add(self, x: Self, y: Self) -> Self {
        Self {
            re: vfmsq_f64(vfmaq_f64(self.re, x.re, y.re), x.im, y.im),
            im: vfmaq_f64(vfmaq_f64(self.im, x.re, y.im), x.im, y.re),
        }
    }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn load(x: &[f64; 2]) -> float64x2_t {
    // SAFETY: reads the 16 bytes of `x`.
    unsafe { vld1q_f64(x.as_ptr()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "neon")]
fn store(x: &mut [f64; 2], v: float64x2_t) {
    // SAFETY: writes the 16 bytes of `x`.
    unsafe { vst1q_f64(x.as_mut_ptr(), v) }
}

pub(super) fn blocks(row: &[f64]) -> &[Block] {
    row.as_chunks().0.as_chunks().0.as_chunks().0
}

pub(super) fn blocks_mut(row: &mut [f64]) -> &mut [Block] {
    row.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0
}

/// Four equal parts of blocks whose number is a multiple of 4.
fn quarters(blocks: &mut [Block]) -> [&mut [Block]; 4] {
    let (low, high) = blocks.split_at_mut(blocks.len() / 2);
    let (a, b) = low.split_at_mut(low.len() / 2);
    let (c, d) = high.split_at_mut(high.len() / 2);
    [a, b, c, d]
}
