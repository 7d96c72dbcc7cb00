//! Negacyclic transforms with Harvey's lazy butterflies.

use crate::{modulus::Factor, table::NttTable};

/// Natural order in, bit-reversed out (Cooley-Tukey).
pub(crate) fn forward(t: &NttTable, row: &mut [u64]) {
    levels(t, 1, row, 1);
    canonical(t, row);
}

/// The first levels of [`forward`], which make `blocks` blocks.
pub(crate) fn forward_head(t: &NttTable, row: &mut [u64], blocks: usize) {
    let smallest = row.len() / blocks;
    levels(t, 1, row, smallest);
}

/// The other levels of block `slot - blocks`.
pub(crate) fn forward_tail(t: &NttTable, slot: usize, block: &mut [u64]) {
    levels(t, slot, block, 1);
    canonical(t, block);
}

/// Levels below heap slot `slot`, down to blocks of `smallest >= 1`.
fn levels(t: &NttTable, slot: usize, row: &mut [u64], smallest: usize) {
    let q = t.modulus().value();
    let mut half = row.len() / 2;
    while half >= smallest {
        let blocks = row.len() / (2 * half);
        for (i, block) in row.chunks_exact_mut(2 * half).enumerate() {
            let factor = t.forward().at(slot * blocks + i);
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = forward_butterfly(q, *x, *y, factor);
            }
        }
        half /= 2;
    }
}

fn canonical(t: &NttTable, row: &mut [u64]) {
    let q = t.modulus().value();
    for x in row {
        *x = fold(fold(*x, 2 * q), q);
    }
}

/// Bit-reversed in, natural order out (Gentleman-Sande), times the first of `last`.
pub(crate) fn inverse(t: &NttTable, row: &mut [u64], last: [Factor; 2]) {
    let q = t.modulus().value();
    let mut half = 1;
    while half < row.len() {
        let blocks = row.len() / (2 * half);
        for (i, block) in row.chunks_exact_mut(2 * half).enumerate() {
            let factor = t.inverse().at(blocks + i);
            let (low, high) = block.split_at_mut(half);
            for (x, y) in low.iter_mut().zip(high) {
                (*x, *y) = inverse_butterfly(q, *x, *y, factor);
            }
        }
        half *= 2;
    }
    for x in row {
        *x = fold(mul_lazy(q, *x, last[0]), q);
    }
}

/// `(x + w y, x - w y)`; in and out `[0, 4q)`, `4q < 2^52`.
#[inline]
fn forward_butterfly(q: u64, x: u64, y: u64, factor: Factor) -> (u64, u64) {
    let x = fold(x, 2 * q);
    let t = mul_lazy(q, y, factor);
    (x + t, x + 2 * q - t)
}

/// `(x + y, w (x - y))`; in and out `[0, 2q)`.
#[inline]
fn inverse_butterfly(q: u64, x: u64, y: u64, factor: Factor) -> (u64, u64) {
    (fold(x + y, 2 * q), mul_lazy(q, x + 2 * q - y, factor))
}

/// `w x` in `[0, 2q)`, for `x < 2^52` (Shoup).
#[inline]
fn mul_lazy(q: u64, x: u64, factor: Factor) -> u64 {
    let quotient = ((u128::from(x << 12) * u128::from(factor.quotient)) >> 64) as u64;
    x.wrapping_mul(factor.w)
        .wrapping_sub(quotient.wrapping_mul(q))
}

/// `[0, 2b)` to `[0, b)`.
#[inline]
fn fold(x: u64, b: u64) -> u64 {
    x.min(x.wrapping_sub(b))
}
