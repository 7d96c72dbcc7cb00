//! Sums of products, basis conversion and data movement. Ranges and shapes: see the methods of
//! [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::float::{Factors, Field, load, splat, store, to_float, to_int};
use crate::{
    Modulus,
    scalar::{convert as scalar, mul::dot_from},
};

/// Bits of the low limb of a factor.
const LIMB: i32 = 26;

/// Sums of limb products: at most 4096 terms below `2^52`, `2^51` and `2^48`.
#[derive(Clone, Copy)]
struct Sums {
    low: __m256i,
    middle: __m256i,
    high: __m256i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn zero() -> Self {
        Self {
            low: splat(0),
            middle: splat(0),
            high: splat(0),
        }
    }

    /// Adds `x y`, given as limbs.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(&mut self, x: [__m256i; 2], y: [__m256i; 2]) {
        self.low = _mm256_add_epi64(self.low, _mm256_mul_epu32(x[0], y[0]));
        self.middle = _mm256_add_epi64(self.middle, _mm256_mul_epu32(x[0], y[1]));
        self.middle = _mm256_add_epi64(self.middle, _mm256_mul_epu32(x[1], y[0]));
        self.high = _mm256_add_epi64(self.high, _mm256_mul_epu32(x[1], y[1]));
    }

    /// `low + 2^26 middle + 2^52 high`, canonical.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn reduce(&self, wide: &Wide) -> __m256i {
        let f = &wide.f;
        let [low, carry] = limbs(self.low);
        let [middle, carry] = limbs(_mm256_add_epi64(self.middle, carry));
        let high = _mm256_add_epi64(self.high, carry);
        let low = _mm256_or_si256(low, _mm256_slli_epi64::<LIMB>(middle));
        let top = _mm256_srli_epi64::<52>(high);
        let high = _mm256_and_si256(high, splat((1 << 52) - 1));
        // Within 0.51, 2 (the quotient is off by 1.5 at most) and 0.51 times q.
        let sum = _mm256_add_pd(f.reduce(to_float(low)), f.mul(to_float(high), wide.r52));
        let sum = _mm256_add_pd(sum, f.mul(to_float(top), wide.r104));
        to_int(f.canonical(f.reduce(sum)))
    }
}

/// The constants that reduce [`Sums`].
struct Wide {
    f: Field,
    /// `2^52 mod q`.
    r52: Factors,
    /// `2^104 mod q`.
    r104: Factors,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus) -> Self {
        let (f, [r52, r104]) = (Field::new(m), m.word_weights());
        Self {
            f,
            r52: f.splat(r52.w),
            r104: f.splat(r104.w),
        }
    }
}

/// The low 26 bits and the rest.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn limbs(x: __m256i) -> [__m256i; 2] {
    [
        _mm256_and_si256(x, splat((1 << LIMB) - 1)),
        _mm256_srli_epi64::<LIMB>(x),
    ]
}

/// Vectors whose sums stay in registers.
const TILE: usize = 2;

/// Terms that are added as doubles, each at most `0.875 q` from zero: their sum is exact, and its reduction is a third
/// of that of limbs.
const FEW: usize = 8;

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    if a.len() <= FEW {
        return dot_few(m, out, a, b);
    }
    let wide = Wide::new(m);
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<TILE>().0 {
        let mut sums = [Sums::zero(); TILE];
        for (a, b) in a.iter().zip(b) {
            let a = a[done..done + 4 * TILE].as_chunks().0;
            let b = b[done..done + 4 * TILE].as_chunks().0;
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                sum.add(limbs(load(a)), limbs(load(b)));
            }
        }
        for (out, sum) in tile.iter_mut().zip(&sums) {
            store(out, sum.reduce(&wide));
        }
        done += 4 * TILE;
    }
    dot_from(m, out, a, b, done);
}

/// Does [`dot`] for at most [`FEW`] terms.
#[target_feature(enable = "avx2,fma")]
fn dot_few(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let f = Field::new(m);
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<FLOAT_TILE>().0 {
        let mut sums = [_mm256_setzero_pd(); FLOAT_TILE];
        for (a, b) in a.iter().zip(b) {
            let a = a[done..done + 4 * FLOAT_TILE].as_chunks().0;
            let b = b[done..done + 4 * FLOAT_TILE].as_chunks().0;
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                let product = f.product(to_float(load(a)), to_float(load(b)));
                *sum = _mm256_add_pd(*sum, product);
            }
        }
        for (out, &sum) in tile.iter_mut().zip(&sums) {
            store(out, to_int(f.canonical(f.reduce(sum))));
        }
        done += 4 * FLOAT_TILE;
    }
    dot_from(m, out, a, b, done);
}

/// Does [`convert`] for at most [`FEW`] terms.
#[target_feature(enable = "avx2,fma")]
fn convert_few(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    let f = Field::new(m);
    let mut factors = [f.splat(0); FEW];
    for (factor, &c) in factors.iter_mut().zip(coef) {
        *factor = f.splat(c);
    }
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<FLOAT_TILE>().0 {
        let mut sums = [_mm256_setzero_pd(); FLOAT_TILE];
        for (row, &factor) in src.iter().zip(&factors) {
            let row = row[done..done + 4 * FLOAT_TILE].as_chunks().0;
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = _mm256_add_pd(*sum, f.mul(to_float(load(x)), factor));
            }
        }
        for (out, &sum) in tile.iter_mut().zip(&sums) {
            store(out, to_int(f.canonical(f.reduce(sum))));
        }
        done += 4 * FLOAT_TILE;
    }
    scalar::convert_from(m, out, src, coef, done);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    if src.len() <= FEW {
        return convert_few(m, out, src, coef);
    }
    let wide = Wide::new(m);
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<TILE>().0 {
        let mut sums = [Sums::zero(); TILE];
        for (row, &c) in src.iter().zip(coef) {
            let c = limbs(splat(c));
            let row = row[done..done + 4 * TILE].as_chunks().0;
            for (sum, x) in sums.iter_mut().zip(row) {
                sum.add(limbs(load(x)), c);
            }
        }
        for (out, sum) in tile.iter_mut().zip(&sums) {
            store(out, sum.reduce(&wide));
        }
        done += 4 * TILE;
    }
    scalar::convert_from(m, out, src, coef, done);
}

/// Vectors of doubles whose sums stay in registers.
const FLOAT_TILE: usize = 4;

#[target_feature(enable = "avx2,fma")]
pub(super) fn quotient(out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<FLOAT_TILE>().0 {
        let mut sums = [_mm256_set1_pd(0.5); FLOAT_TILE];
        for (row, &c) in y.iter().zip(inv) {
            let c = _mm256_set1_pd(c);
            let row = row[done..done + 4 * FLOAT_TILE].as_chunks().0;
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(to_float(load(x)), c));
            }
        }
        for (out, &sum) in tile.iter_mut().zip(&sums) {
            store(out, to_int(_mm256_floor_pd(sum)));
        }
        done += 4 * FLOAT_TILE;
    }
    scalar::quotient_from(out, y, inv, done);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn lift_centered(m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
    let f = Field::new(m);
    let (half, p_float) = (splat(u64::from(p / 2)), _mm256_set1_pd(f64::from(p)));
    let ((out, out_tail), (src, src_tail)) = (out.as_chunks_mut(), src.as_chunks());
    for (out, src) in out.iter_mut().zip(src) {
        let v = load_u32(src);
        let above = _mm256_castsi256_pd(_mm256_cmpgt_epi64(v, half));
        let centred = _mm256_sub_pd(to_float(v), _mm256_and_pd(above, p_float));
        store(out, to_int(f.canonical(f.reduce(centred))));
    }
    scalar::lift_centered(m, out_tail, src_tail, p);
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_u32(x: &[u32; 4]) -> __m256i {
    // SAFETY: reads the 16 bytes of `x`.
    _mm256_cvtepu32_epi64(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
pub(super) fn gather(out: &mut [u64], src: &[u64], idx: &[u32]) {
    let len = splat(src.len() as u64);
    let mut inside = splat(u64::MAX);
    let ((out, out_tail), (idx, idx_tail)) = (out.as_chunks_mut(), idx.as_chunks());
    for (out, idx) in out.iter_mut().zip(idx) {
        let idx = load_u32(idx);
        let mask = _mm256_cmpgt_epi64(len, idx);
        inside = _mm256_and_si256(inside, mask);
        // SAFETY: reads only the lanes whose index is in range.
        let v =
            unsafe { _mm256_mask_i64gather_epi64::<8>(splat(0), src.as_ptr().cast(), idx, mask) };
        store(out, v);
    }
    assert!(
        _mm256_movemask_epi8(inside) == -1,
        "an index is out of range"
    );
    scalar::gather(out_tail, src, idx_tail);
}
