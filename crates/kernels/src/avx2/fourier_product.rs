//! Products with blocks of keys in double precision. Layouts: see [`crate::fourier`].

use std::arch::x86_64::*;
use std::f64::consts::FRAC_1_SQRT_2;

use super::fourier::{Block, Complex, blocks, blocks_mut};
use crate::fourier::{FourierRows, FourierTable, GROUP, LANES, SIGNS, turn};
use crate::{KEY_ROWS, MAX_BLOCK};

/// The real parts of the values of a monomial at half of a group's first vector, turned by 0 to 3
/// eighths: all that the group's other vectors need, but for signs.
type Turned = [__m256d; LANES / 2];

/// Accumulators for which a vector's keys are read once.
const TOGETHER: usize = 4;

#[target_feature(enable = "avx2,fma")]
pub(super) fn product(t: &FourierTable, accumulators: &mut [FourierRows<'_>], key: &[&[f64]]) {
    for few in accumulators.chunks_mut(TOGETHER) {
        together(t, few, key);
    }
}

#[target_feature(enable = "avx2,fma")]
fn together(t: &FourierTable, accumulators: &mut [FourierRows<'_>], key: &[&[f64]]) {
    let words = KEY_ROWS * accumulators[0].exponents.len();
    let mut factors = [[[[_mm256_setzero_pd(); LANES / 2]; MAX_BLOCK]; 2]; TOGETHER];
    for group in 0..t.n() / 2 / GROUP {
        for (factors, rows) in factors.iter_mut().zip(&*accumulators) {
            for (half, factors) in factors.iter_mut().enumerate() {
                for (turned, &a) in factors.iter_mut().zip(rows.exponents) {
                    *turned = turns(t, group, half, a);
                }
            }
        }
        for at in group * LANES..(group + 1) * LANES {
            for (d, key) in key.iter().enumerate() {
                let key = blocks(key)[at * words..][..words].as_chunks().0;
                for (factors, rows) in factors.iter().zip(&mut *accumulators) {
                    for (half, factors) in factors.iter().enumerate() {
                        multiply(key, d, at, half, rows, factors);
                    }
                }
            }
        }
    }
}

/// The rows of a vector's keys, each times its monomial less 1, added up; their products with digit
/// `d`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn multiply(
    key: &[[Block; KEY_ROWS]],
    d: usize,
    at: usize,
    half: usize,
    rows: &mut FourierRows<'_>,
    factors: &[Turned; MAX_BLOCK],
) {
    let mut sums = [Complex::splat([0.0; 2]); KEY_ROWS];
    for ((key, turned), &a) in key.iter().zip(factors).zip(rows.exponents) {
        let factor = factor(turned, turn(at, a));
        for i in 0..KEY_ROWS {
            sums[i] = sums[i].mul_add(factor, Complex::load(&key[i], half));
        }
    }
    let [body, mask] = &rows.digits[d];
    let x = Complex::load(&blocks(body)[at], half);
    let y = Complex::load(&blocks(mask)[at], half);
    for (i, row) in rows.digits[0].iter_mut().enumerate() {
        let to = &mut blocks_mut(row)[at];
        let mut sum = sums[i].mul(x).mul_add(sums[i + 2], y);
        if d > 0 {
            sum = sum.add(Complex::load(to, half));
        }
        sum.store(to, half);
    }
}

/// Returns the values of a group's first vector, turned by `eighths` of a turn, minus 1. The imaginary part after
/// some eighths equals the real part two eighths before.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn factor(turned: &Turned, eighths: usize) -> Complex {
    let part = |by: usize| _mm256_xor_pd(turned[by % 4], _mm256_set1_pd(SIGNS[by / 4 % 2]));
    Complex {
        re: _mm256_sub_pd(part(eighths), _mm256_set1_pd(1.0)),
        im: part(eighths + 6),
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn turns(t: &FourierTable, group: usize, half: usize, a: u32) -> Turned {
    let first = Complex::splat(t.value(group * GROUP, a)).mul(Complex::octets(t.pattern(a), half));
    let scale = _mm256_set1_pd(FRAC_1_SQRT_2);
    let zero = _mm256_setzero_pd();
    let before = _mm256_add_pd(first.re, first.im);
    let after = _mm256_sub_pd(first.re, first.im);
    [
        first.re,
        _mm256_mul_pd(after, scale),
        _mm256_sub_pd(zero, first.im),
        _mm256_mul_pd(_mm256_sub_pd(zero, before), scale),
    ]
}
