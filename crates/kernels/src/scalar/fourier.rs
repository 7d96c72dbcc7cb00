//! Products in double precision. Layouts and ranges: see [`crate::fourier`].

use crate::fourier::{Complex, FourierRows, FourierTable, FractionCut, GROUP, LANES};
use crate::{Gadget, KEY_ROWS};

/// `2^64`.
pub(crate) const TURN: f64 = 18_446_744_073_709_551_616.0;

pub(crate) fn digits(t: &FourierTable, gadget: Gadget, out: &mut [&mut [f64]], src: &[u64]) {
    for (i, row) in out.iter_mut().enumerate() {
        let cut = FractionCut::new(gadget, i);
        transform(t, row, |j| cut.digit(src[j]) as f64);
    }
}

/// Transforms the polynomial whose coefficient j is `coeff(j)`.
pub(crate) fn transform(t: &FourierTable, row: &mut [f64], coeff: impl Fn(usize) -> f64) {
    let values = t.n() / 2;
    for j in 0..values {
        set(row, j, [coeff(j), coeff(j + values)]);
    }
    for level in 0..values.ilog2() {
        let half = values >> (level + 1);
        for slot in 1 << level..2 << level {
            let (w, start) = (t.twiddle(slot), (slot - (1 << level)) * 2 * half);
            for i in start..start + half {
                let ([a, b], [c, d]) = (get(row, i), mul(get(row, i + half), w));
                set(row, i, [a + c, b + d]);
                set(row, i + half, [a - c, b - d]);
            }
        }
    }
    transpose(row);
}

pub(crate) fn add(t: &FourierTable, acc: &mut [u64], row: &mut [f64]) {
    let values = t.n() / 2;
    transpose(row);
    for level in (0..values.ilog2()).rev() {
        let half = values >> (level + 1);
        for slot in 1 << level..2 << level {
            let ([x, y], start) = (t.twiddle(slot), (slot - (1 << level)) * 2 * half);
            for i in start..start + half {
                let ([a, b], [c, d]) = (get(row, i), get(row, i + half));
                set(row, i, [a + c, b + d]);
                set(row, i + half, mul([a - c, b - d], [x, -y]));
            }
        }
    }
    for j in 0..values {
        let [low, high] = get(row, j);
        acc[j] = acc[j].wrapping_add(fraction(low));
        acc[j + values] = acc[j + values].wrapping_add(fraction(high));
    }
}

/// Turns, without whole ones, as a fraction of `2^64`.
#[inline]
pub(crate) fn fraction(x: f64) -> u64 {
    ((x - x.round_ties_even()) * TURN) as i64 as u64
}

/// Exchanges vectors and lanes of each group.
fn transpose(row: &mut [f64]) {
    for group in row.chunks_exact_mut(2 * GROUP) {
        for i in 0..LANES {
            for j in 0..i {
                let (a, b) = (get(group, LANES * i + j), get(group, LANES * j + i));
                set(group, LANES * i + j, b);
                set(group, LANES * j + i, a);
            }
        }
    }
}

pub(crate) fn product(t: &FourierTable, accumulators: &mut [FourierRows<'_>], key: &[&[f64]]) {
    for FourierRows { digits, exponents } in accumulators {
        for at in 0..t.n() / 2 {
            let factor = |&a: &u32| {
                let [re, im] = t.value(at, a);
                [re - 1.0, im]
            };
            let factors: Vec<Complex> = exponents.iter().map(factor).collect();
            let mut sums = [[0.0; 2]; 2];
            for (digit, key) in digits.iter().zip(key) {
                for r in 0..KEY_ROWS {
                    let mut sum = [0.0; 2];
                    for (j, &f) in factors.iter().enumerate() {
                        let vector = (at / LANES * factors.len() + j) * KEY_ROWS + r;
                        let [re, im] = mul(get(key, vector * LANES + at % LANES), f);
                        sum = [sum[0] + re, sum[1] + im];
                    }
                    let [re, im] = mul(get(digit[r / 2], at), sum);
                    let [a, b] = sums[r % 2];
                    sums[r % 2] = [a + re, b + im];
                }
            }
            for (row, sum) in digits[0].iter_mut().zip(sums) {
                set(row, at, sum);
            }
        }
    }
}

#[inline]
fn mul([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

#[inline]
fn get(row: &[f64], i: usize) -> Complex {
    let at = i / LANES * 2 * LANES + i % LANES;
    [row[at], row[at + LANES]]
}

#[inline]
fn set(row: &mut [f64], i: usize, [re, im]: Complex) {
    let at = i / LANES * 2 * LANES + i % LANES;
    (row[at], row[at + LANES]) = (re, im);
}
