//! Sums of products of 32-bit words. Ranges and shapes: see [`WordRows`].

use std::arch::x86_64::*;

use super::field::{Wide, load_u32, splat, store};
use crate::words::{Line, WORD_LINE, put};
use crate::{Modulus, WordRows};

/// Vectors of a line.
const VECTORS: usize = WORD_LINE / 8;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot_words(m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
    let wide = Wide::new(m);
    let parts = rows.b.len();
    let lists = out.len().checked_div(parts).unwrap_or(0);
    for line in 0..WordRows::lines(out) {
        for list in 0..lists {
            let a = rows.a(line, lists, list);
            let out = &mut out[list * parts..(list + 1) * parts];
            // A line of `a` comes from memory once; four sums a place fill half of the registers.
            let mut part = 0;
            while part + 4 <= parts {
                add_up::<4>(&wide, &mut out[part..], line, a, rows, part);
                part += 4;
            }
            if part + 2 <= parts {
                add_up::<2>(&wide, &mut out[part..], line, a, rows, part);
                part += 2;
            }
            if part < parts {
                add_up::<1>(&wide, &mut out[part..], line, a, rows, part);
            }
        }
    }
}

/// Writes one line of the first `P` outputs: the sums of `a` with the lists of `b` from `part` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn add_up<const P: usize>(
    wide: &Wide,
    out: &mut [&mut [u64]],
    line: usize,
    a: &[Line],
    rows: &WordRows<'_>,
    part: usize,
) {
    let b: [&[Line]; P] = std::array::from_fn(|i| &rows.b(line, part + i)[..a.len()]);
    // At most 4096 products of 64 bits: low words below 2^64, high ones below 2^24.
    let mut low = [[splat(0); VECTORS]; P];
    let mut high = [[splat(0); VECTORS]; P];
    for (i, a) in a.iter().enumerate() {
        let x = load_line(a);
        for p in 0..P {
            let y = load_line(&b[p][i]);
            for v in 0..VECTORS {
                low[p][v] = _mm512_madd52lo_epu64(low[p][v], x[v], y[v]);
                high[p][v] = _mm512_madd52hi_epu64(high[p][v], x[v], y[v]);
            }
        }
    }
    for (p, out) in out.iter_mut().take(P).enumerate() {
        let mut result = [0; WORD_LINE];
        for (v, block) in result.as_chunks_mut().0.iter_mut().enumerate() {
            store(block, wide.reduce(low[p][v], high[p][v]));
        }
        put(out, line, &result);
    }
}

/// A line of words, one in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_line(x: &Line) -> [__m512i; VECTORS] {
    let halves = x.as_chunks().0;
    [load_u32(&halves[0]), load_u32(&halves[1])]
}
