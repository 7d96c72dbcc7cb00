//! Basis conversion. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::field::{Block, Field, SHORT_TERMS, Wide, load, load_at, load_u32, splat, store};
use crate::{BlockPermutation, Modulus, scalar::convert as scalar};

/// Vectors whose sums stay in registers.
const TILE: usize = 8;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    let wide = Wide::new(m);
    let (blocks, _) = out.as_chunks_mut();
    let mut done = 0;
    let (tiles, rest) = blocks.as_chunks_mut::<TILE>();
    for tile in tiles {
        convert_tile(&wide, tile, src, coef, done);
        done += 8 * TILE;
    }
    for block in rest {
        convert_tile(&wide, std::array::from_mut(block), src, coef, done);
        done += 8;
    }
    scalar::convert_from(m, out, src, coef, done);
}

/// Most targets whose sums stay in registers, with two vectors each.
const TARGETS: usize = 4;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn convert_many(
    moduli: &[&Modulus],
    out: &mut [&mut [u64]],
    src: &[&[u64]],
    coef: &[&[u64]],
) {
    let groups = moduli.chunks(TARGETS).zip(coef.chunks(TARGETS));
    for (out, (moduli, coef)) in out.chunks_mut(TARGETS).zip(groups) {
        match out.len() {
            TARGETS => convert_targets::<TARGETS>(moduli, out, src, coef),
            3 => convert_targets::<3>(moduli, out, src, coef),
            2 => convert_targets::<2>(moduli, out, src, coef),
            _ => convert(moduli[0], out[0], src, coef[0]),
        }
    }
}

/// Converts to `T` outputs: every source is loaded once for all of them.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn convert_targets<const T: usize>(
    moduli: &[&Modulus],
    out: &mut [&mut [u64]],
    src: &[&[u64]],
    coef: &[&[u64]],
) {
    let wide: [Wide; T] = std::array::from_fn(|t| Wide::new(moduli[t]));
    let coef: &[&[u64]; T] = coef.try_into().expect("as many coefficient rows");
    let short = src.len() <= SHORT_TERMS;
    let len = out[0].len();
    let pairs = len / 16;
    for x in 0..pairs {
        let mut low = [[splat(0); 2]; T];
        let mut high = [[splat(0); 2]; T];
        for (i, row) in src.iter().enumerate() {
            let row: &[Block] = row.as_chunks().0;
            // SAFETY: all rows have the length of the outputs, at least 16 (x + 1).
            let v = unsafe { [load_at(row, 2 * x), load_at(row, 2 * x + 1)] };
            for t in 0..T {
                // SAFETY: every row of coefficients has one for each source.
                let c = splat(unsafe { *coef[t].get_unchecked(i) });
                for k in 0..2 {
                    low[t][k] = _mm512_madd52lo_epu64(low[t][k], v[k], c);
                    high[t][k] = _mm512_madd52hi_epu64(high[t][k], v[k], c);
                }
            }
        }
        for t in 0..T {
            let row = out[t].as_chunks_mut::<8>().0;
            for k in 0..2 {
                let sum = if short {
                    wide[t].reduce_short(low[t][k], high[t][k])
                } else {
                    wide[t].reduce(low[t][k], high[t][k])
                };
                store(&mut row[2 * x + k], sum);
            }
        }
    }
    for t in 0..T {
        scalar::convert_from(moduli[t], out[t], src, coef[t], 16 * pairs);
    }
}

/// `T` vectors of [`convert`], from residue `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn convert_tile<const T: usize>(
    wide: &Wide,
    out: &mut [Block; T],
    src: &[&[u64]],
    coef: &[u64],
    from: usize,
) {
    let mut low = [splat(0); T];
    let mut high = [splat(0); T];
    for (row, &c) in src.iter().zip(coef) {
        let c = splat(c);
        for (i, x) in row[from..from + 8 * T]
            .as_chunks()
            .0
            .iter()
            .enumerate()
            .take(T)
        {
            let x = load(x);
            low[i] = _mm512_madd52lo_epu64(low[i], x, c);
            high[i] = _mm512_madd52hi_epu64(high[i], x, c);
        }
    }
    for (i, out) in out.iter_mut().enumerate() {
        store(out, wide.reduce(low[i], high[i]));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn quotient(out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<TILE>().0 {
        quotient_tile(tile, y, inv, done);
        done += 8 * TILE;
    }
    scalar::quotient_from(out, y, inv, done);
}

/// [`TILE`] vectors of [`quotient`], from residue `from` on.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn quotient_tile(out: &mut [Block; TILE], y: &[&[u64]], inv: &[f64], from: usize) {
    let mut sums = [_mm512_set1_pd(0.5); TILE];
    for (row, &c) in y.iter().zip(inv) {
        let c = _mm512_set1_pd(c);
        for (sum, x) in sums
            .iter_mut()
            .zip(row[from..from + 8 * TILE].as_chunks().0)
        {
            *sum = _mm512_add_pd(*sum, _mm512_mul_pd(_mm512_cvtepu64_pd(load(x)), c));
        }
    }
    for (out, &sum) in out.iter_mut().zip(&sums) {
        store(out, _mm512_cvttpd_epu64(sum));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn lift_centered(m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
    let f = Field::new(m);
    let half = splat(u64::from(p / 2));
    let (p_residue, fits) = (m.reduce(u64::from(p)), u64::from(p) <= m.value());
    let ((out, out_tail), (src, src_tail)) = (out.as_chunks_mut(), src.as_chunks());
    // What a residue above p / 2 is moved by.
    let down = splat(m.neg(p_residue));
    for (out, src) in out.iter_mut().zip(src) {
        let v = load_u32(src);
        let negative = _mm512_cmpgt_epu64_mask(v, half);
        let residue = if fits { v } else { f.canonical(f.reduce(v)) };
        let sum = _mm512_add_epi64(residue, _mm512_maskz_mov_epi64(negative, down));
        store(out, f.fold(sum));
    }
    scalar::lift_centered(m, out_tail, src_tail, p);
}

#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn gather(out: &mut [u64], src: &[u64], idx: &[u32]) {
    let len = splat(src.len() as u64);
    let mut inside = 0xff;
    let ((out, out_tail), (idx, idx_tail)) = (out.as_chunks_mut(), idx.as_chunks());
    for (out, idx) in out.iter_mut().zip(idx) {
        let idx = load_u32(idx);
        let mask = _mm512_cmplt_epu64_mask(idx, len);
        inside &= mask;
        // SAFETY: reads only the lanes whose index is in range.
        let v =
            unsafe { _mm512_mask_i64gather_epi64::<8>(splat(0), mask, idx, src.as_ptr().cast()) };
        store(out, v);
    }
    assert!(inside == 0xff, "an index is out of range");
    scalar::gather(out_tail, src, idx_tail);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn permute(out: &mut [u64], src: &[u64], permutation: &BlockPermutation) {
    let lanes: [__m512i; 8] = std::array::from_fn(|i| load(&permutation.lanes()[i]));
    let (out, src): (&mut [Block], &[Block]) = (out.as_chunks_mut().0, src.as_chunks().0);
    for (out, &block) in out.iter_mut().zip(permutation.blocks()) {
        let from = load(&src[block as usize >> 3]);
        store(
            out,
            _mm512_permutexvar_epi64(lanes[block as usize & 7], from),
        );
    }
}

#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn spread(out: &mut [u64], every: usize, src: &[u64], piece: usize) {
    if !out.as_ptr().addr().is_multiple_of(64) || !every.is_multiple_of(8) {
        return scalar::spread(out, every, src, piece);
    }
    for (out, src) in out.chunks_mut(every).zip(src.chunks(piece)) {
        let (out, (src, src_tail)) = (&mut out[..src.len()], src.as_chunks());
        let (out, out_tail): (&mut [Block], _) = out.as_chunks_mut();
        for (out, src) in out.iter_mut().zip(src) {
            // SAFETY: writes the 64 bytes of `out`, which start on a cache line.
            unsafe { _mm512_stream_si512(out.as_mut_ptr().cast(), load(src)) };
        }
        out_tail.copy_from_slice(src_tail);
    }
    // Streaming stores are ordered with later ones only behind a fence.
    _mm_sfence();
}
