//! Products in double precision, four complex values a vector. Layouts and ranges: see
//! [`crate::fourier`].

use std::arch::x86_64::*;

use super::float::{load as load_words, splat, store as store_words};
use crate::Gadget;
use crate::fourier::{self, FourierTable, FractionCut, LANES};

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
        let digit = Digit::new(FractionCut::new(gadget, i));
        let blocks = blocks_mut(row);
        let (low, high) = halves(src);
        for (i, [re, im]) in blocks.iter_mut().enumerate() {
            for half in 0..2 {
                store(&mut re[half], digit.of(&low[i][half]));
                store(&mut im[half], digit.of(&high[i][half]));
            }
        }
        forward(t, blocks);
    }
}

/// Two vectors of coefficients: those of a [`Block`]'s real or imaginary parts.
type Words = [[u64; 4]; 2];

/// The coefficients of real parts and those of imaginary parts.
fn halves(row: &[u64]) -> (&[Words], &[Words]) {
    let words = row.as_chunks().0.as_chunks().0;
    words.split_at(words.len() / 2)
}

/// The constants of one digit, in every lane.
struct Digit {
    offset: __m256i,
    mask: __m256i,
    /// Makes digits positive: half of their range less `2^63`.
    less: __m256i,
}

impl Digit {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(cut: FractionCut) -> Self {
        Self {
            offset: splat(cut.offset),
            mask: splat(cut.mask),
            less: splat(cut.half.wrapping_sub(1 << 63)),
        }
    }

    /// Cuts the digits, signed, as doubles.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn of(&self, x: &[u64; 4]) -> __m256d {
        let digit = _mm256_and_si256(_mm256_add_epi64(load_words(x), self.offset), self.mask);
        let word = _mm256_sub_epi64(digit, self.less);
        // The halves of a word become the low bits of 2^84, whose unit is 2^32, and of 2^52. All but the last sum is
        // exact.
        let [high_unit, low_unit] = [POWER_84, POWER_52].map(|x| _mm256_set1_pd(x));
        let high = _mm256_castsi256_pd(_mm256_srli_epi64::<32>(word));
        let low =
            _mm256_blend_ps::<0b1010_1010>(_mm256_castsi256_ps(word), _mm256_castpd_ps(low_unit));
        let shift = _mm256_set1_pd(POWER_84 + POWER_63 + POWER_52);
        let shifted = _mm256_sub_pd(_mm256_or_pd(high, high_unit), shift);
        _mm256_add_pd(shifted, _mm256_castps_pd(low))
    }
}

const POWER_32: f64 = (1u64 << 32) as f64;
const POWER_52: f64 = (1u64 << 52) as f64;
const POWER_63: f64 = (1u64 << 63) as f64;
const POWER_84: f64 = POWER_52 * POWER_32;

/// Adds turns to fractions of `2^64`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_fraction(acc: &mut [u64; 4], turns: __m256d) {
    let whole = _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(turns);
    let part = _mm256_sub_pd(turns, whole);
    // Each half of the word is an integer within 2^31, which is the low bits of the sum with 1.5 2^52.
    let (unit, integer) = (_mm256_set1_pd(POWER_32), _mm256_set1_pd(1.5 * POWER_52));
    let high = _mm256_fmadd_pd(part, unit, integer);
    let rest = _mm256_fmsub_pd(part, unit, _mm256_sub_pd(high, integer));
    let low = _mm256_fmadd_pd(rest, unit, integer);
    let word = _mm256_add_epi64(
        _mm256_slli_epi64::<32>(_mm256_castpd_si256(high)),
        _mm256_sub_epi64(_mm256_castpd_si256(low), _mm256_castpd_si256(integer)),
    );
    store_words(acc, _mm256_add_epi64(load_words(acc), word));
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn add(t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
    let blocks = blocks_mut(row);
    backward(t, blocks);
    let words: &mut [Words] = acc.as_chunks_mut().0.as_chunks_mut().0;
    let (low, high) = words.split_at_mut(blocks.len());
    for (i, [re, im]) in blocks.iter().enumerate() {
        for half in 0..2 {
            add_fraction(&mut low[i][half], load(&re[half]));
            add_fraction(&mut high[i][half], load(&im[half]));
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
