//! Products with blocks of keys in double precision. Layouts: see [`crate::fourier`].

use std::arch::x86_64::*;

use super::fourier::{Block, Complex, blocks_mut};
use crate::fourier::{FourierRows, FourierTable, GROUP, LANES, turn};
use crate::{KEY_ROWS, MAX_BLOCK};

/// The real parts of the values of a monomial at a group's first vector, turned by -2 to 7 eighths.
/// The imaginary part is the real part a quarter of a turn before.
type Turned = [__m512d; LANES + 2];

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
    let mut factors = [[[_mm512_setzero_pd(); LANES + 2]; MAX_BLOCK]; R];
    for group in 0..t.n() / 2 / GROUP {
        for (factors, rows) in factors.iter_mut().zip(&*accumulators) {
            for (turned, &a) in factors.iter_mut().zip(rows.exponents) {
                *turned = turns(t, group, a);
            }
        }
        for v in group * LANES..(group + 1) * LANES {
            let mut sums = [[Complex::zero(); 2]; R];
            for (d, key) in key.iter().enumerate() {
                let blocks: &[Block] = key.as_chunks().0.as_chunks().0;
                let key = blocks[v * keys * KEY_ROWS..][..keys * KEY_ROWS]
                    .as_chunks()
                    .0;
                let combined = combine(key, v, accumulators, &factors);
                for r in 0..R {
                    for (part, row) in accumulators[r].digits[d].iter_mut().enumerate() {
                        let digit = Complex::load(&blocks_mut(row)[v]);
                        for (sum, key) in sums[r].iter_mut().zip(&combined[r][2 * part..]) {
                            *sum = sum.mul_add(digit, *key);
                        }
                    }
                }
            }
            for (rows, sums) in accumulators.iter_mut().zip(sums) {
                for (row, sum) in rows.digits[0].iter_mut().zip(sums) {
                    sum.store(&mut blocks_mut(row)[v]);
                }
            }
        }
    }
}

/// The rows of a vector's keys, each times its monomial less 1, added up.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn combine<const R: usize>(
    key: &[[Block; KEY_ROWS]],
    v: usize,
    accumulators: &[FourierRows<'_>; R],
    factors: &[[Turned; MAX_BLOCK]; R],
) -> [[Complex; KEY_ROWS]; R] {
    let mut sums = [[Complex::zero(); KEY_ROWS]; R];
    let one = _mm512_set1_pd(1.0);
    for (j, rows) in key.iter().enumerate().take(MAX_BLOCK) {
        let factor: [Complex; R] = std::array::from_fn(|r| {
            let (turned, by) = (&factors[r][j], turn(v, accumulators[r].exponents[j]));
            Complex {
                re: _mm512_sub_pd(turned[by + 2], one),
                im: turned[by],
            }
        });
        for (i, row) in rows.iter().enumerate() {
            let x = Complex::load(row);
            for r in 0..R {
                sums[r][i] = sums[r][i].mul_add(factor[r], x);
            }
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn turns(t: &FourierTable, group: usize, a: u32) -> Turned {
    let first = Complex::splat(t.value(group * GROUP, a)).mul(Complex::octets(t.pattern(a)));
    // An eighth of a turn before the first.
    let half = _mm512_set1_pd(std::f64::consts::FRAC_1_SQRT_2);
    let before = _mm512_mul_pd(_mm512_add_pd(first.re, first.im), half);
    let after = _mm512_mul_pd(_mm512_sub_pd(first.re, first.im), half);
    let negative = |x| _mm512_sub_pd(_mm512_setzero_pd(), x);
    let (im, re) = (first.im, first.re);
    let (minus_re, minus_im) = (negative(re), negative(im));
    let (minus_before, minus_after) = (negative(before), negative(after));
    [
        im,
        before,
        re,
        after,
        minus_im,
        minus_before,
        minus_re,
        minus_after,
        im,
        before,
    ]
}

impl Complex {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn zero() -> Self {
        Self::splat([0.0; 2])
    }
}
