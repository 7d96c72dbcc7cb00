//! Products in double precision, four complex values a vector. Layouts and ranges: see
//! [`crate::fourier`].

use std::arch::x86_64::*;

use crate::Gadget;
use crate::fourier::{self, FourierTable, FractionCut, LANES};
use crate::scalar::fourier::fraction;

/// Eight complex values in memory: real parts, imaginary parts, in two halves each.
pub(super) type Block = [[[f64; 4]; 2]; 2];

/// Four complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex {
    pub(super) re: __m256d,
    pub(super) im: __m256d,
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn digits(t: &FourierTable, gadget: Gadget, out: &mut [&mut [f64]], src: &[u64]) {
    for (i, row) in out.iter_mut().enumerate() {
        let cut = FractionCut::new(gadget, i);
        let (low, high) = src.split_at(src.len() / 2);
        let pairs = low.chunks_exact(LANES).zip(high.chunks_exact(LANES));
        for (block, (low, high)) in row.chunks_exact_mut(2 * LANES).zip(pairs) {
            for (to, &x) in block.iter_mut().zip(low.iter().chain(high)) {
                *to = cut.digit(x) as f64;
            }
        }
        forward(t, blocks_mut(row));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn add(t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
    backward(t, blocks_mut(row));
    let (low, high) = acc.split_at_mut(row.len() / 2);
    let pairs = low
        .chunks_exact_mut(LANES)
        .zip(high.chunks_exact_mut(LANES));
    for (block, (low, high)) in row.chunks_exact(2 * LANES).zip(pairs) {
        for (acc, &x) in low.iter_mut().chain(high).zip(block) {
            *acc = acc.wrapping_add(fraction(x));
        }
    }
}

/// Levels between blocks, two a pass; then each group is transposed, and its lanes' levels are levels
/// between blocks as well.
#[target_feature(enable = "avx2,fma")]
fn forward(t: &FourierTable, blocks: &mut [Block]) {
    let levels = blocks.len().ilog2();
    for level in (0..levels - levels % 2).step_by(2) {
        let len = blocks.len() >> level;
        for (i, part) in blocks.chunks_exact_mut(len).enumerate() {
            let slot = (1 << level) + i;
            let w = [t.twiddle(slot), t.twiddle(2 * slot)].map(|w| Complex::splat(w));
            for j in 0..len / 4 {
                two_levels(part, [j, j + len / 4, j + len / 2, j + 3 * len / 4], w);
            }
        }
    }
    if levels % 2 == 1 {
        for (i, pair) in blocks.chunks_exact_mut(2).enumerate() {
            let w = Complex::splat(t.twiddle(blocks_slot(levels - 1) + i));
            for half in 0..2 {
                butterfly(pair, half, [0, 1], w);
            }
        }
    }
    for (i, group) in blocks.chunks_exact_mut(LANES).enumerate() {
        transpose(group);
        lanes(t, i, group);
    }
}

#[target_feature(enable = "avx2,fma")]
fn backward(t: &FourierTable, blocks: &mut [Block]) {
    let levels = blocks.len().ilog2();
    for (i, group) in blocks.chunks_exact_mut(LANES).enumerate() {
        lanes_back(t, i, group);
        transpose(group);
    }
    if levels % 2 == 1 {
        for (i, pair) in blocks.chunks_exact_mut(2).enumerate() {
            let w = Complex::splat(t.twiddle(blocks_slot(levels - 1) + i));
            for half in 0..2 {
                back(pair, half, [0, 1], w);
            }
        }
    }
    for level in (0..levels - levels % 2).step_by(2).rev() {
        let len = blocks.len() >> level;
        for (i, part) in blocks.chunks_exact_mut(len).enumerate() {
            let slot = (1 << level) + i;
            let w = [t.twiddle(slot), t.twiddle(2 * slot)].map(|w| Complex::splat(w));
            for j in 0..len / 4 {
                two_levels_back(part, [j, j + len / 4, j + len / 2, j + 3 * len / 4], w);
            }
        }
    }
}

/// The first heap slot of a level.
fn blocks_slot(level: u32) -> usize {
    1 << level
}

/// The last three levels, after the transposition.
#[target_feature(enable = "avx2,fma")]
fn lanes(t: &FourierTable, group: usize, x: &mut [Block]) {
    for half in 0..2 {
        let [first, second, third, fourth] = leaf(t, group, half);
        for i in 0..4 {
            butterfly(x, half, [i, i + 4], first);
        }
        for i in 0..2 {
            butterfly(x, half, [i, i + 2], second);
            butterfly(x, half, [i + 4, i + 6], second.times_i());
        }
        butterfly(x, half, [0, 1], third);
        butterfly(x, half, [2, 3], third.times_i());
        butterfly(x, half, [4, 5], fourth);
        butterfly(x, half, [6, 7], fourth.times_i());
    }
}

#[target_feature(enable = "avx2,fma")]
fn lanes_back(t: &FourierTable, group: usize, x: &mut [Block]) {
    for half in 0..2 {
        let [first, second, third, fourth] = leaf(t, group, half);
        back(x, half, [0, 1], third);
        back(x, half, [2, 3], third.times_i());
        back(x, half, [4, 5], fourth);
        back(x, half, [6, 7], fourth.times_i());
        for i in 0..2 {
            back(x, half, [i, i + 2], second);
            back(x, half, [i + 4, i + 6], second.times_i());
        }
        for i in 0..4 {
            back(x, half, [i, i + 4], first);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn leaf(t: &FourierTable, group: usize, half: usize) -> [Complex; 4] {
    let w = t.leaf(group);
    std::array::from_fn(|i| Complex::octets(&w[i], half))
}

/// Two levels over four blocks: the second's second twiddle is i times the first.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn two_levels(x: &mut [Block], at: [usize; 4], [first, second]: [Complex; 2]) {
    for half in 0..2 {
        let [a, b, c, d] = at.map(|i| Complex::load(&x[i], half));
        let ((a, c), (b, d)) = (plus_minus(a, c.mul(first)), plus_minus(b, d.mul(first)));
        let second_i = second.times_i();
        let ((a, b), (c, d)) = (plus_minus(a, b.mul(second)), plus_minus(c, d.mul(second_i)));
        for (i, y) in at.into_iter().zip([a, b, c, d]) {
            y.store(&mut x[i], half);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn two_levels_back(x: &mut [Block], at: [usize; 4], [first, second]: [Complex; 2]) {
    for half in 0..2 {
        let [a, b, c, d] = at.map(|i| Complex::load(&x[i], half));
        let ((a, b), (c, d)) = (plus_minus(a, b), plus_minus(c, d));
        let (b, d) = (b.mul_conjugate(second), d.mul_conjugate(second.times_i()));
        let ((a, c), (b, d)) = (plus_minus(a, c), plus_minus(b, d));
        let (c, d) = (c.mul_conjugate(first), d.mul_conjugate(first));
        for (i, y) in at.into_iter().zip([a, b, c, d]) {
            y.store(&mut x[i], half);
        }
    }
}

/// `(x + w y, x - w y)`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn butterfly(x: &mut [Block], half: usize, [i, j]: [usize; 2], w: Complex) {
    let y = Complex::load(&x[j], half).mul(w);
    let (plus, minus) = plus_minus(Complex::load(&x[i], half), y);
    plus.store(&mut x[i], half);
    minus.store(&mut x[j], half);
}

/// `(x + y, (x - y) / w)`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn back(x: &mut [Block], half: usize, [i, j]: [usize; 2], w: Complex) {
    let (a, b) = (Complex::load(&x[i], half), Complex::load(&x[j], half));
    let (plus, minus) = plus_minus(a, b);
    plus.store(&mut x[i], half);
    minus.mul_conjugate(w).store(&mut x[j], half);
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn plus_minus(x: Complex, y: Complex) -> (Complex, Complex) {
    let plus = x.add(y);
    let minus = Complex {
        re: _mm256_sub_pd(x.re, y.re),
        im: _mm256_sub_pd(x.im, y.im),
    };
    (plus, minus)
}

/// Exchanges blocks and lanes of a group, by squares of four.
#[target_feature(enable = "avx2,fma")]
fn transpose(group: &mut [Block]) {
    for part in 0..2 {
        let square = |group: &[Block], half: usize, from: usize| {
            quad(std::array::from_fn(|i| load(&group[from + i][part][half])))
        };
        let [a, b] = [0, 1].map(|half| square(group, half, 0));
        let [c, d] = [0, 1].map(|half| square(group, half, 4));
        for i in 0..4 {
            store(&mut group[i][part][0], a[i]);
            store(&mut group[i][part][1], c[i]);
            store(&mut group[i + 4][part][0], b[i]);
            store(&mut group[i + 4][part][1], d[i]);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn quad([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
    let (ab_odd, cd_odd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
    [
        _mm256_permute2f128_pd::<0x20>(ab, cd),
        _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
        _mm256_permute2f128_pd::<0x31>(ab, cd),
        _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
    ]
}

impl Complex {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn splat([re, im]: fourier::Complex) -> Self {
        Self {
            re: _mm256_set1_pd(re),
            im: _mm256_set1_pd(im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn load([re, im]: &Block, half: usize) -> Self {
        Self {
            re: load(&re[half]),
            im: load(&im[half]),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn octets([re, im]: &[fourier::Octet; 2], half: usize) -> Self {
        Self {
            re: load(&re.0.as_chunks().0[half]),
            im: load(&im.0.as_chunks().0[half]),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn store(self, [re, im]: &mut Block, half: usize) {
        store(&mut re[half], self.re);
        store(&mut im[half], self.im);
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn add(self, y: Self) -> Self {
        Self {
            re: _mm256_add_pd(self.re, y.re),
            im: _mm256_add_pd(self.im, y.im),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn times_i(self) -> Self {
        Self {
            re: _mm256_sub_pd(_mm256_setzero_pd(), self.im),
            im: self.re,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn mul(self, w: Self) -> Self {
        Self {
            re: _mm256_fmsub_pd(self.re, w.re, _mm256_mul_pd(self.im, w.im)),
            im: _mm256_fmadd_pd(self.re, w.im, _mm256_mul_pd(self.im, w.re)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn mul_conjugate(self, w: Self) -> Self {
        Self {
            re: _mm256_fmadd_pd(self.re, w.re, _mm256_mul_pd(self.im, w.im)),
            im: _mm256_fmsub_pd(self.im, w.re, _mm256_mul_pd(self.re, w.im)),
        }
    }

    /// `self + x y`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn mul_add(self, x: Self, y: Self) -> Self {
        let re = _mm256_fmadd_pd(x.re, y.re, self.re);
        let im = _mm256_fmadd_pd(x.re, y.im, self.im);
        Self {
            re: _mm256_fnmadd_pd(x.im, y.im, re),
            im: _mm256_fmadd_pd(x.im, y.re, im),
        }
    }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(x: &[f64; 4]) -> __m256d {
    // SAFETY: reads the 32 bytes of `x`.
    unsafe { _mm256_loadu_pd(x.as_ptr()) }
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(x: &mut [f64; 4], v: __m256d) {
    // SAFETY: writes the 32 bytes of `x`.
    unsafe { _mm256_storeu_pd(x.as_mut_ptr(), v) }
}

pub(super) fn blocks(row: &[f64]) -> &[Block] {
    row.as_chunks().0.as_chunks().0.as_chunks().0
}

pub(super) fn blocks_mut(row: &mut [f64]) -> &mut [Block] {
    row.as_chunks_mut().0.as_chunks_mut().0.as_chunks_mut().0
}
