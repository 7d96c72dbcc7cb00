//! Basis conversion. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use super::mul::CHUNK;
use crate::{BlockPermutation, Modulus};

pub(crate) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    convert_from(m, out, src, coef, 0);
}

/// [`convert`] from residue `start` on.
pub(crate) fn convert_from(
    m: &Modulus,
    out: &mut [u64],
    src: &[&[u64]],
    coef: &[u64],
    start: usize,
) {
    for (block, chunk) in out[start..].chunks_mut(CHUNK).enumerate() {
        let from = start + block * CHUNK;
        // 256 products below 2^100 each.
        let mut sums = [0u128; CHUNK];
        for (row, &c) in src.iter().zip(coef) {
            for (sum, &x) in sums.iter_mut().zip(&row[from..from + chunk.len()]) {
                *sum += u128::from(x) * u128::from(c);
            }
        }
        for (x, &sum) in chunk.iter_mut().zip(&sums) {
            *x = m.reduce_u128(sum);
        }
    }
}

pub(crate) fn quotient(out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
    quotient_from(out, y, inv, 0);
}

/// [`quotient`] from residue `start` on.
pub(crate) fn quotient_from(out: &mut [u64], y: &[&[u64]], inv: &[f64], start: usize) {
    for (block, chunk) in out[start..].chunks_mut(CHUNK).enumerate() {
        let from = start + block * CHUNK;
        let mut sums = [0.5f64; CHUNK];
        for (row, &c) in y.iter().zip(inv) {
            for (sum, &x) in sums.iter_mut().zip(&row[from..from + chunk.len()]) {
                *sum += x as f64 * c;
            }
        }
        for (x, &sum) in chunk.iter_mut().zip(&sums) {
            // Truncation is floor: the sum is positive.
            *x = sum as u64;
        }
    }
}

pub(crate) fn lift_centered(m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
    let reduced_p = m.reduce(u64::from(p));
    for (x, &v) in out.iter_mut().zip(src) {
        let residue = m.reduce(u64::from(v));
        *x = if v > p / 2 {
            m.sub(residue, reduced_p)
        } else {
            residue
        };
    }
}

pub(crate) fn gather(out: &mut [u64], src: &[u64], idx: &[u32]) {
    for (x, &i) in out.iter_mut().zip(idx) {
        *x = src[i as usize];
    }
}

pub(crate) fn permute(out: &mut [u64], src: &[u64], permutation: &BlockPermutation) {
    let (out, src) = (out.as_chunks_mut::<8>().0, src.as_chunks::<8>().0);
    for (out, &block) in out.iter_mut().zip(permutation.blocks()) {
        let (from, lanes) = (block as usize >> 3, block as usize & 7);
        *out = permutation.lanes()[lanes].map(|lane| src[from][lane as usize]);
    }
}

pub(crate) fn spread(out: &mut [u64], every: usize, src: &[u64], piece: usize) {
    for (out, src) in out.chunks_mut(every).zip(src.chunks(piece)) {
        out[..src.len()].copy_from_slice(src);
    }
}
