//! Steps of a blind rotation. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::field::{Block, Factors, Field, Wide, load, load_at, splat, store, store_at};
use crate::block::{BlockRows, Cut, Gadget, KEY_ROWS, MAX_BLOCK};
use crate::{Modulus, Monomials, scalar::block as scalar};

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn decompose(
    m: &Modulus,
    gadget: Gadget,
    cut: &Cut,
    out: &mut [&mut [u64]],
    src: &[u64],
) {
    let f = Field::new(m);
    let (ratio, offset, half) = (splat(cut.ratio), splat(cut.offset), splat(cut.half));
    let mask = splat((1 << gadget.bits) - 1);
    let (blocks, tail) = src.as_chunks::<8>();
    for (i, row) in out.iter_mut().enumerate() {
        let shift = splat(u64::from(cut.top - gadget.bits * i as u32));
        for (row, x) in row.as_chunks_mut().0.iter_mut().zip(blocks) {
            let fraction = _mm512_madd52hi_epu64(offset, load(x), ratio);
            let digit = _mm512_and_si512(_mm512_srlv_epi64(fraction, shift), mask);
            let signed = _mm512_sub_epi64(digit, half);
            store(row, _mm512_min_epu64(signed, _mm512_add_epi64(signed, f.q)));
        }
    }
    scalar::decompose_from(m, gadget, cut, out, src, src.len() - tail.len());
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn block_product(m: &Monomials, out: [&mut [u64]; 2], rows: &BlockRows<'_>) {
    match (rows.digits, rows.key) {
        (&[a], &[key]) => product(m, out, [a], [key], rows.exponents),
        (&[a, b], &[first, second]) => product(m, out, [a, b], [first, second], rows.exponents),
        _ => scalar::block_product(m, out, rows),
    }
}

/// D digits: the sums of their keys stay in registers.
#[allow(unsafe_code)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn product<const D: usize>(
    m: &Monomials,
    [body, mask]: [&mut [u64]; 2],
    digits: [[&[u64]; 2]; D],
    key: [&[u64]; D],
    exponents: &[u32],
) {
    let (f, wide) = (Field::new(m.modulus()), Wide::new(m.modulus()));
    let patterns = patterns(m, exponents);
    let digits: [[&[Block]; 2]; D] = digits.map(|rows| rows.map(|row| row.as_chunks().0));
    let key: [&[Block]; D] = key.map(|key| key.as_chunks().0);
    let (body, mask): (&mut [Block], &mut [Block]) =
        (body.as_chunks_mut().0, mask.as_chunks_mut().0);
    for v in 0..m.n() / 8 {
        let mut low = [[splat(0); KEY_ROWS]; D];
        let mut high = low;
        for (j, (&a, pattern)) in exponents.iter().zip(&patterns).enumerate() {
            // A value in (0, 2q) less 1: a power of psi is never 0. Eight products with residues
            // stay below 2^104.
            let factor = f.mul_acc(f.minus_one, splat(m.base(v, a)), *pattern);
            for d in 0..D {
                for r in 0..KEY_ROWS {
                    // SAFETY: the caller has checked that a key has 4 rows of each exponent.
                    let x = unsafe { load_at(key[d], (v * exponents.len() + j) * KEY_ROWS + r) };
                    low[d][r] = _mm512_madd52lo_epu64(low[d][r], factor, x);
                    high[d][r] = _mm512_madd52hi_epu64(high[d][r], factor, x);
                }
            }
        }
        let mut sums = [[splat(0); 2]; 2];
        for d in 0..D {
            for r in 0..KEY_ROWS {
                let key = wide.reduce_lazy(low[d][r], high[d][r]);
                // SAFETY: the caller has checked that rows have `n` residues.
                let x = unsafe { load_at(digits[d][r / 2], v) };
                let [low, high] = &mut sums[r % 2];
                *low = _mm512_madd52lo_epu64(*low, key, x);
                *high = _mm512_madd52hi_epu64(*high, key, x);
            }
        }
        // SAFETY: as above.
        unsafe {
            store_at(body, v, wide.reduce(sums[0][0], sums[0][1]));
            store_at(mask, v, wide.reduce(sums[1][0], sums[1][1]));
        }
    }
}

/// The patterns of the exponents; those beyond are never read.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn patterns(m: &Monomials, exponents: &[u32]) -> [Factors; MAX_BLOCK] {
    std::array::from_fn(|j| {
        let pattern = m.pattern(*exponents.get(j).unwrap_or(&0));
        Factors::octet(&pattern.map(|f| f.w), &pattern.map(|f| f.quotient))
    })
}
