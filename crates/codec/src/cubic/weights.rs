//! The numbers that the detector adds for one message.

use super::element::{CubicElement, P};
use super::field::Cubic;
use crate::finite::FiniteField;

/// Symbols multiplied at a time: three rows of them fit in registers and the first cache.
const BATCH: usize = 64;

/// Row `c`: what the coefficients of an element add to coefficient `c` of a product.
type Matrix = [[u16; 3]; 3];

/// Writes 1 and the coefficients of `x^t` for `t` from 1. Shape: `3k + 1` values.
pub(super) fn index_weights(node: CubicElement, out: &mut [u8]) {
    let (counter, powers) = out.split_at_mut(1);
    counter[0] = 1;
    let mut power = node;
    for coefficients in powers.chunks_exact_mut(3) {
        coefficients.copy_from_slice(&power.coefficients());
        power = Cubic.mul(power, node);
    }
}

/// Writes the coefficients of `x^t v_j` for `t` from 1: for every `t` and every coefficient one
/// row over all symbols. Shape: `3k` rows as long as `symbols`.
pub(super) fn payload_weights(node: CubicElement, symbols: &[CubicElement], out: &mut [u8]) {
    let count = symbols.len();
    for (batch, symbols) in symbols.chunks(BATCH).enumerate() {
        let rows = transpose(symbols);
        let columns = batch * BATCH..batch * BATCH + symbols.len();
        let mut power = node;
        for coefficients in out.chunks_exact_mut(3 * count) {
            let matrix = multiplication(power);
            for (out, row) in coefficients.chunks_exact_mut(count).zip(matrix) {
                combine(row, &rows, &mut out[columns.clone()]);
            }
            power = Cubic.mul(power, node);
        }
    }
}

/// Row `c`: coefficient `c` of every symbol.
fn transpose(symbols: &[CubicElement]) -> [[u16; BATCH]; 3] {
    let mut rows = [[0; BATCH]; 3];
    for (j, symbol) in symbols.iter().enumerate() {
        for (row, coefficient) in rows.iter_mut().zip(symbol.coefficients()) {
            row[j] = u16::from(coefficient);
        }
    }
    rows
}

/// The matrix of multiplication by `x`.
fn multiplication(x: CubicElement) -> Matrix {
    let mut matrix = [[0; 3]; 3];
    let mut column = x;
    for i in 0..3 {
        for (row, coefficient) in matrix.iter_mut().zip(column.coefficients()) {
            row[i] = u16::from(coefficient);
        }
        column = Cubic.mul(column, Cubic.generator());
    }
    matrix
}

/// One coefficient of the products of all symbols, modulo 97.
#[inline]
fn combine(factors: [u16; 3], rows: &[[u16; BATCH]; 3], out: &mut [u8]) {
    let symbols = rows[0].iter().zip(&rows[1]).zip(&rows[2]);
    for (out, ((&a, &b), &c)) in out.iter_mut().zip(symbols) {
        let sum = a * factors[0] + b * factors[1] + c * factors[2]; // at most 27,648
        *out = reduce(sum);
    }
}

/// `x mod 97`. Range: `x` at most `3 * 96^2 + 96`.
#[inline]
pub(super) fn reduce(x: u16) -> u8 {
    // 43241 * 97 = 2^22 + 73: the estimate exceeds x / 97 by x * 73 / (97 * 2^22) < 1 / 97.
    let quotient = ((u32::from(x) * 43_241) >> 16) as u16 >> 6;
    (x - quotient * P as u16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduction_is_exact_over_its_range() {
        assert!((0..=3 * 96 * 96 + 96).all(|x: u16| u16::from(reduce(x)) == x % 97));
    }

    #[test]
    fn payload_weights_are_the_products() {
        for count in [1, 63, 64, 65, 248] {
            let symbols: Vec<_> = (0..count)
                .map(|j| Cubic.element(912_000 - 911 * j))
                .collect();
            let node = Cubic.element(123_457);
            let mut out = vec![255; 3 * 5 * symbols.len()];
            payload_weights(node, &symbols, &mut out);
            for (t, rows) in out.chunks(3 * symbols.len()).enumerate() {
                let power = Cubic.pow(node, t as u64 + 1);
                for (j, &symbol) in symbols.iter().enumerate() {
                    let expected = Cubic.mul(power, symbol).coefficients();
                    assert_eq!([0, 1, 2].map(|c| rows[c * symbols.len() + j]), expected);
                }
            }
        }
    }

    #[test]
    fn index_weights_are_the_powers() {
        let node = Cubic.element(500_000);
        let mut out = [255; 10];
        index_weights(node, &mut out);
        assert_eq!(out[0], 1);
        for t in 1..=3 {
            let expected = Cubic.pow(node, t as u64).coefficients();
            assert_eq!(out[3 * t - 2..3 * t + 1], expected);
        }
    }
}
