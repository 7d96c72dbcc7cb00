//! Sums of products of rows. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::chain::{Chain, FEW};
use super::float::{Block, load, store, to_float, to_int};
use crate::{Modulus, scalar::mul::dot_from};

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(m: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    dots::<1, 1, 4>(m, &mut [out], [a], [b]);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_pair(m: &Modulus, mut out: [&mut [u64]; 2], a: &[&[u64]], b: [&[&[u64]]; 2]) {
    dots::<1, 2, 2>(m, &mut out, [a], b);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_square(
    m: &Modulus,
    mut out: [&mut [u64]; 4],
    a: [&[&[u64]]; 2],
    b: [&[&[u64]]; 2],
) {
    dots::<2, 2, 1>(m, &mut out, a, b);
}

/// Sums of `A` lists with `B` others, `V` vectors at a time: `out[B k + l] = sum_i a[k][i] b[l][i]`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn dots<const A: usize, const B: usize, const V: usize>(
    m: &Modulus,
    out: &mut [&mut [u64]],
    a: [&[&[u64]]; A],
    b: [&[&[u64]]; B],
) {
    let chain = Chain::of_residues(m);
    let tiles = out[0].len() / (4 * V);
    for tile in 0..tiles {
        let totals = if a[0].len() <= FEW {
            few::<A, B, V>(&chain, a, b, tile * V)
        } else {
            many::<A, B, V>(&chain, a, b, tile * V)
        };
        for (out, totals) in out.iter_mut().zip(totals.as_flattened()) {
            let places: &mut [Block] = out[4 * V * tile..][..4 * V].as_chunks_mut().0;
            for (place, &total) in places.iter_mut().zip(totals) {
                store(place, to_int(chain.field().canonical(total)));
            }
        }
    }
    for (i, out) in out.iter_mut().enumerate() {
        dot_from(m, out, a[i / B], b[i % B], 4 * V * tiles);
    }
}

/// Returns `V` vectors of each sum from vector `at` on, at most `0.51 q` from zero.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn many<const A: usize, const B: usize, const V: usize>(
    chain: &Chain,
    a: [&[&[u64]]; A],
    b: [&[&[u64]]; B],
    at: usize,
) -> [[[__m256d; V]; B]; A] {
    let mut totals = [[[_mm256_setzero_pd(); V]; B]; A];
    let count = a[0].len();
    for first in (0..count).step_by(chain.terms()) {
        let mut sums = [[[chain.zero(); V]; B]; A];
        for i in first..count.min(first + chain.terms()) {
            let (x, y) = (term::<A, V>(a, i, at), term::<B, V>(b, i, at));
            for (sums, x) in sums.iter_mut().zip(x) {
                for (sums, y) in sums.iter_mut().zip(y) {
                    for v in 0..V {
                        sums[v].add(x[v], y[v]);
                    }
                }
            }
        }
        let of_totals = totals.as_flattened_mut().as_flattened_mut();
        for (total, &sum) in of_totals.iter_mut().zip(sums.as_flattened().as_flattened()) {
            *total = chain.fold(*total, sum);
        }
    }
    totals
}

/// Does [`many`] for at most [`FEW`] terms.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn few<const A: usize, const B: usize, const V: usize>(
    chain: &Chain,
    a: [&[&[u64]]; A],
    b: [&[&[u64]]; B],
    at: usize,
) -> [[[__m256d; V]; B]; A] {
    let f = chain.field();
    let mut totals = [[[_mm256_setzero_pd(); V]; B]; A];
    for i in 0..a[0].len() {
        let (x, y) = (term::<A, V>(a, i, at), term::<B, V>(b, i, at));
        for (totals, x) in totals.iter_mut().zip(x) {
            for (totals, y) in totals.iter_mut().zip(y) {
                for v in 0..V {
                    totals[v] = _mm256_add_pd(totals[v], f.product(x[v], y[v]));
                }
            }
        }
    }
    for total in totals.as_flattened_mut().as_flattened_mut() {
        *total = f.reduce(*total);
    }
    totals
}

/// Returns `V` vectors of row `i` of each list, from vector `at` on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn term<const L: usize, const V: usize>(
    lists: [&[&[u64]]; L],
    i: usize,
    at: usize,
) -> [[__m256d; V]; L] {
    let mut out = [[_mm256_setzero_pd(); V]; L];
    for (out, list) in out.iter_mut().zip(lists) {
        let blocks: &[Block] = list[i][4 * at..][..4 * V].as_chunks().0;
        for (out, block) in out.iter_mut().zip(blocks) {
            *out = to_float(load(block));
        }
    }
    out
}
