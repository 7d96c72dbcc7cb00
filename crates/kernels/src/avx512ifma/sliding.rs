//! Sliding sums of products: see [`Kernels::sliding_dots`](crate::Kernels::sliding_dots).

use std::arch::x86_64::*;

use super::field::{Block, Wide, load_at, splat, store};
use crate::{Modulus, kernels::SlidingRows};

/// Groups, shifts and parts that fit the registers: 8 sums of two words.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn sliding_dots(m: &Modulus, out: &mut [&mut [u64]], rows: &SlidingRows<'_>) {
    let wide = Wide::new(m);
    let (mut group, groups) = (0, rows.groups);
    if (rows.shifts, rows.parts) != (2, 2) {
        return fours(&wide, out, rows);
    }
    while group < groups {
        let rest = &mut out[4 * group..];
        if groups - group > 1 {
            sums::<2>(&wide, &mut rest[..8], rows, group);
            group += 2;
        } else {
            sums::<1>(&wide, &mut rest[..4], rows, group);
            group += 1;
        }
    }
}

/// Any shapes whose sums fall into fours, those of a group that meet the rows of `b` from `first` on.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn fours(wide: &Wide, out: &mut [&mut [u64]], rows: &SlidingRows<'_>) {
    let width = rows.shifts * rows.parts;
    for first in (0..width).step_by(4) {
        let mut group = 0;
        while group < rows.groups {
            if rows.groups - group > 1 {
                four::<2>(wide, out, rows, group, first);
                group += 2;
            } else {
                four::<1>(wide, out, rows, group, first);
                group += 1;
            }
        }
    }
}

/// Four outputs of each of `G` groups from `group` on.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn four<const G: usize>(
    wide: &Wide,
    out: &mut [&mut [u64]],
    rows: &SlidingRows<'_>,
    group: usize,
    first: usize,
) {
    let (a, b): (&[Block], &[Block]) = (rows.a.as_chunks().0, rows.b.as_chunks().0);
    let (stride, terms, width) = (rows.stride / 8, rows.terms, rows.shifts * rows.parts);
    for x in 0..rows.len / 8 {
        let mut low = [[splat(0); 4]; G];
        let mut high = [[splat(0); 4]; G];
        for j in 0..terms {
            let from = (j * rows.parts + first) * stride + x;
            // SAFETY: the caller has checked that `a` holds `groups * terms` rows and `b` holds
            // `(terms + shifts - 1) * parts`, `stride` apart, and `x` lies inside a row. The last row met is
            // `(terms - 1) * parts + first + 3`, and `first + 4` is at most `shifts * parts`.
            let factors = unsafe {
                [
                    load_at(b, from),
                    load_at(b, from + stride),
                    load_at(b, from + 2 * stride),
                    load_at(b, from + 3 * stride),
                ]
            };
            for g in 0..G {
                // SAFETY: as above.
                let d = unsafe { load_at(a, ((group + g) * terms + j) * stride + x) };
                for (i, factor) in factors.into_iter().enumerate() {
                    low[g][i] = _mm512_madd52lo_epu64(low[g][i], d, factor);
                    high[g][i] = _mm512_madd52hi_epu64(high[g][i], d, factor);
                }
            }
        }
        for g in 0..G {
            for i in 0..4 {
                let at = (group + g) * width + first + i;
                let block: &mut Block = &mut out[at].as_chunks_mut().0[x];
                store(block, wide.reduce(low[g][i], high[g][i]));
            }
        }
    }
}

/// Asks for the block `i` after the start of `row`, if there is one.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch(row: &[Block], i: usize) {
    _mm_prefetch::<_MM_HINT_T1>(row.as_ptr().wrapping_add(i).cast());
}

/// The outputs of `G` groups from `group` on.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn sums<const G: usize>(wide: &Wide, out: &mut [&mut [u64]], rows: &SlidingRows<'_>, group: usize) {
    let (a, b): (&[Block], &[Block]) = (rows.a.as_chunks().0, rows.b.as_chunks().0);
    let (stride, terms) = (rows.stride / 8, rows.terms);
    // Tiles lie one behind the other: the next one is on its way while this one is used.
    let (ahead_a, ahead_b) = (a.len(), b.len());
    for x in 0..rows.len / 8 {
        let mut low = [[splat(0); 4]; G];
        let mut high = [[splat(0); 4]; G];
        // SAFETY: the caller has checked that `a` holds `groups * terms` rows and `b` holds
        // `2 (terms + 1)` rows, `stride` apart, and `x` lies inside a row.
        let mut b0 = unsafe { [load_at(b, x), load_at(b, stride + x)] };
        for j in 0..terms {
            prefetch(b, 2 * j * stride + x + ahead_b);
            prefetch(b, (2 * j + 1) * stride + x + ahead_b);
            for g in 0..G {
                prefetch(a, ((group + g) * terms + j) * stride + x + ahead_a);
            }
            // SAFETY: as above.
            let b1 = unsafe {
                [
                    load_at(b, (2 * j + 2) * stride + x),
                    load_at(b, (2 * j + 3) * stride + x),
                ]
            };
            for g in 0..G {
                // SAFETY: as above.
                let d = unsafe { load_at(a, ((group + g) * terms + j) * stride + x) };
                for (i, factor) in [b0[0], b0[1], b1[0], b1[1]].into_iter().enumerate() {
                    low[g][i] = _mm512_madd52lo_epu64(low[g][i], d, factor);
                    high[g][i] = _mm512_madd52hi_epu64(high[g][i], d, factor);
                }
            }
            b0 = b1;
        }
        for g in 0..G {
            for i in 0..4 {
                let block: &mut Block = &mut out[4 * g + i].as_chunks_mut().0[x];
                store(block, wide.reduce(low[g][i], high[g][i]));
            }
        }
    }
}
