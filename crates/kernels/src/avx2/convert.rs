//! Basis conversion and data movement. Ranges and shapes: see the methods of
//! [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::chain::{Chain, FEW};
use super::float::{Field, load, splat, store, to_float, to_float_less, to_int};
use crate::{Modulus, scalar::convert as scalar};

/// Vectors of an output whose sums stay in registers.
const TILE: usize = 4;

#[target_feature(enable = "avx2,fma")]
pub(super) fn convert(m: &Modulus, out: &mut [u64], src: &[&[u64]], coef: &[u64]) {
    convert_many(&[m], &mut [out], src, &[coef]);
}

/// Sources are below `2^50`. Less half of that they are centred, which doubles the terms of a sum.
const HALF_BITS: u32 = 49;
const HALF: f64 = (1u64 << HALF_BITS) as f64;

/// The coefficients of one target.
struct Target {
    chain: Chain,
    /// The coefficients as doubles within half of q.
    coef: Vec<f64>,
    /// The sum of all coefficients times what sources are less: within half of q.
    offset: f64,
}

impl Target {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(m: &Modulus, coef: &[u64]) -> Self {
        let sum = coef.iter().fold(0, |sum, &c| m.add(sum, c));
        let offset = m.mul(sum, m.reduce(1 << HALF_BITS));
        Self {
            chain: Chain::of_centred(m, HALF_BITS.into()),
            coef: coef.iter().map(|&c| m.to_centered(c) as f64).collect(),
            offset: m.to_centered(offset) as f64,
        }
    }

    /// Returns the sums of scaled sources, at most `0.51 q` from zero.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn many(&self, floats: &[[__m256d; TILE]]) -> [__m256d; TILE] {
        let mut totals = [_mm256_set1_pd(self.offset); TILE];
        let terms = self.chain.terms();
        for (floats, coef) in floats.chunks(terms).zip(self.coef.chunks(terms)) {
            let mut sums = [self.chain.zero(); TILE];
            for (floats, &c) in floats.iter().zip(coef) {
                let c = _mm256_set1_pd(c);
                for (sum, &x) in sums.iter_mut().zip(floats) {
                    sum.add(x, c);
                }
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total = self.chain.fold(*total, sum);
            }
        }
        totals
    }

    /// Does [`Target::many`] for at most [`FEW`] sources.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn few(&self, floats: &[[__m256d; TILE]]) -> [__m256d; TILE] {
        let f = self.chain.field();
        let mut sums = [_mm256_set1_pd(self.offset); TILE];
        for (floats, &c) in floats.iter().zip(&self.coef) {
            let factors = f.factors(_mm256_set1_pd(c));
            for (sum, &x) in sums.iter_mut().zip(floats) {
                *sum = _mm256_add_pd(*sum, f.mul(x, factors));
            }
        }
        sums.map(|sum| f.reduce(sum))
    }
}

/// Converts a piece of all sources to doubles once for all targets.
#[target_feature(enable = "avx2,fma")]
pub(super) fn convert_many(
    moduli: &[&Modulus],
    out: &mut [&mut [u64]],
    src: &[&[u64]],
    coef: &[&[u64]],
) {
    let mut targets = Vec::with_capacity(moduli.len());
    for (m, coef) in moduli.iter().zip(coef) {
        targets.push(Target::new(m, coef));
    }
    let mut floats = vec![[_mm256_setzero_pd(); TILE]; src.len()];
    let len = out.first().map_or(0, |row| row.len());
    let tiles = len / (4 * TILE);
    for tile in 0..tiles {
        for (floats, row) in floats.iter_mut().zip(src) {
            let words = &row[4 * TILE * tile..][..4 * TILE];
            for (float, word) in floats.iter_mut().zip(words.as_chunks().0) {
                *float = to_float_less(load(word), HALF);
            }
        }
        for (target, out) in targets.iter().zip(out.iter_mut()) {
            let sums = if src.len() <= FEW {
                target.few(&floats)
            } else {
                target.many(&floats)
            };
            let places = out[4 * TILE * tile..][..4 * TILE].as_chunks_mut().0;
            for (place, sum) in places.iter_mut().zip(sums) {
                store(place, to_int(target.chain.field().canonical(sum)));
            }
        }
    }
    for ((m, out), coef) in moduli.iter().zip(out).zip(coef) {
        scalar::convert_from(m, out, src, coef, 4 * TILE * tiles);
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn quotient(out: &mut [u64], y: &[&[u64]], inv: &[f64]) {
    let mut done = 0;
    for tile in out.as_chunks_mut().0.as_chunks_mut::<TILE>().0 {
        let mut sums = [_mm256_set1_pd(0.5); TILE];
        for (row, &c) in y.iter().zip(inv) {
            let c = _mm256_set1_pd(c);
            let row = row[done..done + 4 * TILE].as_chunks().0;
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(to_float(load(x)), c));
            }
        }
        for (out, &sum) in tile.iter_mut().zip(&sums) {
            store(out, to_int(_mm256_floor_pd(sum)));
        }
        done += 4 * TILE;
    }
    scalar::quotient_from(out, y, inv, done);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn lift_centered(m: &Modulus, out: &mut [u64], src: &[u32], p: u32) {
    let f = Field::new(m);
    let (half, p_float) = (splat(u64::from(p / 2)), _mm256_set1_pd(f64::from(p)));
    let ((out, out_tail), (src, src_tail)) = (out.as_chunks_mut(), src.as_chunks());
    for (out, src) in out.iter_mut().zip(src) {
        let v = load_u32(src);
        let above = _mm256_castsi256_pd(_mm256_cmpgt_epi64(v, half));
        let centred = _mm256_sub_pd(to_float(v), _mm256_and_pd(above, p_float));
        store(out, to_int(f.canonical(f.reduce(centred))));
    }
    scalar::lift_centered(m, out_tail, src_tail, p);
}

#[allow(unsafe_code)]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_u32(x: &[u32; 4]) -> __m256i {
    // SAFETY: reads the 16 bytes of `x`.
    _mm256_cvtepu32_epi64(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

#[allow(unsafe_code)]
#[target_feature(enable = "avx2,fma")]
pub(super) fn gather(out: &mut [u64], src: &[u64], idx: &[u32]) {
    let len = splat(src.len() as u64);
    let mut inside = splat(u64::MAX);
    let ((out, out_tail), (idx, idx_tail)) = (out.as_chunks_mut(), idx.as_chunks());
    for (out, idx) in out.iter_mut().zip(idx) {
        let idx = load_u32(idx);
        let mask = _mm256_cmpgt_epi64(len, idx);
        inside = _mm256_and_si256(inside, mask);
        // SAFETY: reads only the lanes whose index is in range.
        let v =
            unsafe { _mm256_mask_i64gather_epi64::<8>(splat(0), src.as_ptr().cast(), idx, mask) };
        store(out, v);
    }
    assert!(
        _mm256_movemask_epi8(inside) == -1,
        "an index is out of range"
    );
    scalar::gather(out_tail, src, idx_tail);
}
