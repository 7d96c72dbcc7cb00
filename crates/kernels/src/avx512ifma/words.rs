//! Sums of products of 32-bit words. Ranges and shapes: see [`WordRows`].

use std::arch::x86_64::*;

use super::field::{Block, Wide, load, load_u32, splat, store};
use crate::scalar::words::dot_words_from;
use crate::words::{Line, WORD_LINE, put};
use crate::{Modulus, WordRows};

/// Vectors of a line.
const VECTORS: usize = WORD_LINE / 8;

/// How many lines of each term are on their way: terms are more streams than a processor follows by itself.
const AHEAD: usize = 4;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot_words(m: &Modulus, out: &mut [&mut [u64]], rows: &WordRows<'_>) {
    let wide = Wide::new(m);
    let parts = rows.b.len();
    let lists = out.len().checked_div(parts).unwrap_or(0);
    let a = rows.a_lines();
    for line in 0..WordRows::lines(out) {
        for list in 0..lists {
            let at = line * lists + list;
            prefetch(&a, at + AHEAD);
            let sums = &mut out[list * parts..(list + 1) * parts];
            // A line of `a` comes from memory once; four sums a place fill half of the registers.
            let mut part = 0;
            while part + 4 <= parts {
                add_up::<4>(&wide, &mut sums[part..], line, &a, at, rows, part);
                part += 4;
            }
            if part + 2 <= parts {
                add_up::<2>(&wide, &mut sums[part..], line, &a, at, rows, part);
                part += 2;
            }
            if part < parts {
                add_up::<1>(&wide, &mut sums[part..], line, &a, at, rows, part);
            }
        }
    }
    // Streaming stores are ordered with later ones only behind a fence.
    _mm_sfence();
}

/// Writes one line of the first `P` outputs: the sums of line `at` of each term of `a` with the lists of `b` from `part`
/// on.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn add_up<const P: usize>(
    wide: &Wide,
    out: &mut [&mut [u64]],
    line: usize,
    a: &[&[Line]],
    at: usize,
    rows: &WordRows<'_>,
    part: usize,
) {
    let b = rows.b_lists::<P>(line, part);
    // At most 4096 products of 64 bits: low words below 2^64, high ones below 2^24.
    let mut low = [[splat(0); VECTORS]; P];
    let mut high = [[splat(0); VECTORS]; P];
    for (i, term) in a.iter().enumerate() {
        // SAFETY: each term of `a` has a line for each list and line of the outputs.
        let a_line: &Line = unsafe { term.get_unchecked(at) };
        let x = load_line(a_line);
        for p in 0..P {
            // SAFETY: each list of `b` has a line for each term.
            let y = load_line(unsafe { b[p].get_unchecked(i) });
            for v in 0..VECTORS {
                low[p][v] = _mm512_madd52lo_epu64(low[p][v], x[v], y[v]);
                high[p][v] = _mm512_madd52hi_epu64(high[p][v], x[v], y[v]);
            }
        }
    }
    for (p, row) in out.iter_mut().take(P).enumerate() {
        let mut result = [0; WORD_LINE];
        for (v, block) in result.as_chunks_mut().0.iter_mut().enumerate() {
            store(block, wide.reduce(low[p][v], high[p][v]));
        }
        write(row, line, &result);
    }
}

/// Vectors of each output whose sums stay in registers.
const TILE: usize = 2;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot_square_words(
    m: &Modulus,
    mut out: [&mut [u64]; 4],
    a: [&[&[u32]]; 2],
    b: [&[&[u32]]; 2],
) {
    let wide = Wide::new(m);
    let tiles = out[0].len() / (8 * TILE);
    for tile in 0..tiles {
        // At most 4096 products of 62 bits: low words below 2^64, high ones below 2^22.
        let mut low = [[[splat(0); TILE]; 2]; 2];
        let mut high = [[[splat(0); TILE]; 2]; 2];
        for i in 0..a[0].len() {
            let [x, y] = [a, b].map(|lists| lists.map(|list| tile_of(list[i], tile)));
            for k in 0..2 {
                for l in 0..2 {
                    for v in 0..TILE {
                        low[k][l][v] = _mm512_madd52lo_epu64(low[k][l][v], x[k][v], y[l][v]);
                        high[k][l][v] = _mm512_madd52hi_epu64(high[k][l][v], x[k][v], y[l][v]);
                    }
                }
            }
        }
        for (i, out) in out.iter_mut().enumerate() {
            let places: &mut [Block; TILE] = &mut out.as_chunks_mut().0.as_chunks_mut().0[tile];
            for (v, place) in places.iter_mut().enumerate() {
                store(
                    place,
                    wide.reduce(low[i / 2][i % 2][v], high[i / 2][i % 2][v]),
                );
            }
        }
    }
    for (i, out) in out.into_iter().enumerate() {
        dot_words_from(m, out, a[i / 2], b[i % 2], 8 * TILE * tiles);
    }
}

/// The words of a row at a tile of places, one in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn tile_of(row: &[u32], tile: usize) -> [__m512i; TILE] {
    let halves: &[[u32; 8]; TILE] = &row.as_chunks().0.as_chunks().0[tile];
    [load_u32(&halves[0]), load_u32(&halves[1])]
}

/// Asks for line `at` of each term, if there is one.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch(a: &[&[Line]], at: usize) {
    for term in a {
        _mm_prefetch::<_MM_HINT_T1>(term.as_ptr().wrapping_add(at).cast());
    }
}

/// Writes sums to line `line` of a row: past the caches where the line is whole and starts on a cache line, as it
/// is not read soon, and rows that lie a power of two apart would push each other out.
#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn write(row: &mut [u64], line: usize, sums: &[u64; WORD_LINE]) {
    match row[line * WORD_LINE..].first_chunk_mut::<WORD_LINE>() {
        Some(places) if places.as_ptr().addr().is_multiple_of(64) => {
            let places: &mut [Block] = places.as_chunks_mut().0;
            for (to, from) in places.iter_mut().zip(sums.as_chunks().0) {
                // SAFETY: writes the 64 bytes of `to`, which start on a cache line.
                unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), load(from)) };
            }
        }
        _ => put(row, line, sums),
    }
}

/// A line of words, one in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn load_line(x: &Line) -> [__m512i; VECTORS] {
    let halves = x.as_chunks().0;
    [load_u32(&halves[0]), load_u32(&halves[1])]
}
