//! Products with blocks of keys in double precision. Layouts: see [`crate::fourier`].

use std::arch::x86_64::*;
use std::f64::consts::FRAC_1_SQRT_2;

use super::fourier::{Block, Complex, blocks, blocks_mut};
use crate::fourier::{FourierRows, FourierTable, GROUP, LANES, SIGNS, turn};
use crate::{KEY_ROWS, MAX_BLOCK};

/// The real parts of the values of a monomial at a group's first vector, turned by 0 to 3 eighths:
/// all that the group's other vectors need, but for signs.
type Turned = [__m512d; LANES / 2];

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn product(t: &FourierTable, accumulators: &mut [FourierRows<'_>], key: &[&[f64]]) {
    // Two read the key once.
    let (pairs, rest) = accumulators.as_chunks_mut();
    for pair in pairs {
        together::<2>(t, pair, key);
    }
    for one in rest {
        together::<1>(t, std::array::from_mut(one), key);
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn together<const R: usize>(
    t: &FourierTable,
    accumulators: &mut [FourierRows<'_>; R],
    key: &[&[f64]],
) {
    let keys = accumulators[0].exponents.len();
    let mut factors = [[[_mm512_setzero_pd(); LANES / 2]; MAX_BLOCK]; R];
    for group in 0..t.n() / 2 / GROUP {
        for (factors, rows) in factors.iter_mut().zip(&*accumulators) {
            for (turned, &a) in factors.iter_mut().zip(rows.exponents) {
                *turned = turns(t, group, a);
            }
        }
        for at in group * LANES..(group + 1) * LANES {
            for (d, key) in key.iter().enumerate() {
                let key: &[Block] = key.as_chunks().0.as_chunks().0;
                let key = key[at * keys * KEY_ROWS..][..keys * KEY_ROWS].as_chunks().0;
                multiply(key, d, at, accumulators, &factors);
            }
        }
    }
}

/// The rows of a vector's keys, each times its monomial less 1, added up; their products with digit
/// `d`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn multiply<const R: usize>(
    key: &[[Block; KEY_ROWS]],
    d: usize,
    at: usize,
    accumulators: &mut [FourierRows<'_>; R],
    factors: &[[Turned; MAX_BLOCK]; R],
) {
    let mut sums = [[Complex::splat([0.0; 2]); KEY_ROWS]; R];
    for (j, rows) in key.iter().enumerate().take(MAX_BLOCK) {
        let factor: [Complex; R] =
            std::array::from_fn(|r| factor(&factors[r][j], turn(at, accumulators[r].exponents[j])));
        for i in 0..KEY_ROWS {
            let x = Complex::load(&rows[i]);
            for r in 0..R {
                sums[r][i] = sums[r][i].mul_add(factor[r], x);
            }
        }
    }
    for r in 0..R {
        let [from_body, from_mask] = &accumulators[r].digits[d];
        let x = Complex::load(&blocks(from_body)[at]);
        let y = Complex::load(&blocks(from_mask)[at]);
        let mut body = sums[r][0].mul(x).mul_add(sums[r][2], y);
        let mut mask = sums[r][1].mul(x).mul_add(sums[r][3], y);
        let [to_body, to_mask] = &mut accumulators[r].digits[0];
        let (to_body, to_mask) = (&mut blocks_mut(to_body)[at], &mut blocks_mut(to_mask)[at]);
        if d > 0 {
            body = body.add(Complex::load(to_body));
            mask = mask.add(Complex::load(to_mask));
        }
        body.store(to_body);
        mask.store(to_mask);
    }
}

/// Returns the values of a group's first vector, turned by `eighths` of a turn, minus 1. The imaginary part after
/// some eighths equals the real part two eighths before.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn factor(turned: &Turned, eighths: usize) -> Complex {
    let part = |by: usize| {
        let sign = _mm512_set1_pd(SIGNS[by / 4 % 2]);
        _mm512_xor_pd(turned[by % 4], sign)
    };
    Complex {
        re: _mm512_sub_pd(part(eighths), _mm512_set1_pd(1.0)),
        im: part(eighths + 6),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn turns(t: &FourierTable, group: usize, a: u32) -> Turned {
    let first = Complex::splat(t.value(group * GROUP, a)).mul(Complex::octets(t.pattern(a)));
    let half = _mm512_set1_pd(FRAC_1_SQRT_2);
    let before = _mm512_add_pd(first.re, first.im);
    let after = _mm512_sub_pd(first.re, first.im);
    let negative = |x| _mm512_sub_pd(_mm512_setzero_pd(), x);
    [
        first.re,
        _mm512_mul_pd(after, half),
        negative(first.im),
        _mm512_mul_pd(negative(before), half),
    ]
}
