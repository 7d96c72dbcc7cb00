//! Products with blocks of keys in double precision. Layouts: see [`crate::fourier`].

use std::arch::aarch64::*;
use std::f64::consts::FRAC_1_SQRT_2;

use super::fourier::{Block, Complex, PARTS, blocks, blocks_mut};
use crate::fourier::{FourierRows, FourierTable, GROUP, LANES, turn};
use crate::{KEY_ROWS, MAX_BLOCK};

/// The real parts of the values of a monomial at two of a group's first vector, turned by 0 to 7
/// eighths: all that the group's other vectors need.
type Turned = [float64x2_t; LANES];

#[target_feature(enable = "neon")]
pub(super) fn product(t: &FourierTable, accumulators: &mut [FourierRows<'_>], key: &[&[f64]]) {
    for rows in accumulators {
        one(t, rows, key);
    }
}

#[target_feature(enable = "neon")]
fn one(t: &FourierTable, rows: &mut FourierRows<'_>, key: &[&[f64]]) {
    let keys = rows.exponents.len();
    let mut factors = [[[vdupq_n_f64(0.0); LANES]; MAX_BLOCK]; PARTS];
    for group in 0..t.n() / 2 / GROUP {
        for (part, factors) in factors.iter_mut().enumerate() {
            for (turned, &a) in factors.iter_mut().zip(rows.exponents) {
                *turned = turns(t, group, part, a);
            }
        }
        for at in group * LANES..(group + 1) * LANES {
            for (d, key) in key.iter().enumerate() {
                let key = &blocks(key)[at * keys * KEY_ROWS..][..keys * KEY_ROWS];
                for (part, factors) in factors.iter().enumerate() {
                    multiply(key.as_chunks().0, d, at, part, rows, factors);
                }
            }
        }
    }
}

/// The rows of a vector's keys, each times its monomial less 1, added up; their products with digit
/// `d`.
#[inline]
#[target_feature(enable = "neon")]
fn multiply(
    key: &[[Block; KEY_ROWS]],
    d: usize,
    at: usize,
    part: usize,
    rows: &mut FourierRows<'_>,
    factors: &[Turned; MAX_BLOCK],
) {
    let mut sums = [Complex::splat([0.0; 2]); KEY_ROWS];
    for ((key, turned), &a) in key.iter().zip(factors).zip(rows.exponents) {
        let factor = factor(turned, turn(at, a));
        for i in 0..KEY_ROWS {
            sums[i] = sums[i].mul_add(factor, Complex::load(&key[i], part));
        }
    }
    let [body, mask] = &rows.digits[d];
    let x = Complex::load(&blocks(body)[at], part);
    let y = Complex::load(&blocks(mask)[at], part);
    for (i, row) in rows.digits[0].iter_mut().enumerate() {
        let to = &mut blocks_mut(row)[at];
        let mut sum = sums[i].mul(x).mul_add(sums[i + 2], y);
        if d > 0 {
            sum = sum.add(Complex::load(to, part));
        }
        sum.store(to, part);
    }
}

/// Returns the values of a group's first vector, turned by `eighths` of a turn, minus 1. The imaginary part after
/// some eighths equals the real part two eighths before.
#[inline]
#[target_feature(enable = "neon")]
fn factor(turned: &Turned, eighths: usize) -> Complex {
    Complex {
        re: vsubq_f64(turned[eighths % LANES], vdupq_n_f64(1.0)),
        im: turned[(eighths + 6) % LANES],
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn turns(t: &FourierTable, group: usize, part: usize, a: u32) -> Turned {
    let first = Complex::splat(t.value(group * GROUP, a)).mul(Complex::octets(t.pattern(a), part));
    let before = vmulq_n_f64(vaddq_f64(first.re, first.im), FRAC_1_SQRT_2);
    let after = vmulq_n_f64(vsubq_f64(first.re, first.im), FRAC_1_SQRT_2);
    [
        first.re,
        after,
        vnegq_f64(first.im),
        vnegq_f64(before),
        vnegq_f64(first.re),
        vnegq_f64(after),
        first.im,
        before,
    ]
}
