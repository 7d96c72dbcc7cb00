//! Steps of a blind rotation. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use std::arch::x86_64::*;

use super::float::{Block, Factors, Field, load, store, to_float, to_int};
use crate::block::{BlockRows, KEY_ROWS, MAX_BLOCK};
use crate::{Monomials, monomials::LANES};

/// Residues of a vector here: half of those that share a power of psi.
const HALF: usize = LANES / 2;

#[target_feature(enable = "avx2,fma")]
pub(super) fn block_product(m: &Monomials, out: [&mut [u64]; 2], rows: &BlockRows<'_>) {
    let f = Field::new(m.modulus());
    let patterns = patterns(&f, m, rows.exponents);
    let keys = rows.exponents.len();
    let [body, mask] = out.map(|row| row.as_chunks_mut::<HALF>().0);
    let digits = rows.digits.iter().map(|pair| pair.map(blocks));
    let levels: Vec<([&[Block]; 2], &[Block])> =
        digits.zip(rows.key.iter().map(|k| blocks(k))).collect();
    for at in 0..m.n() / HALF {
        let (v, half) = (at / 2, at % 2);
        let mut factors = [f.splat(0); MAX_BLOCK];
        let exponents = rows.exponents.iter().zip(&patterns);
        for (factor, (&a, pattern)) in factors.iter_mut().zip(exponents) {
            let base = _mm256_set1_pd(m.base(v, a) as f64);
            let value = f.mul(base, pattern[half]);
            *factor = f.factors(_mm256_sub_pd(value, _mm256_set1_pd(1.0)));
        }
        let mut sums = [_mm256_setzero_pd(); 2];
        for (digits, key) in &levels {
            let key = &key[2 * v * keys * KEY_ROWS..][..2 * keys * KEY_ROWS];
            let products = combined(&f, key, &factors[..keys], half);
            for (r, product) in products.into_iter().enumerate() {
                let digit = f.factors(to_float(load(&digits[r / 2][at])));
                sums[r % 2] = _mm256_add_pd(sums[r % 2], f.mul(f.reduce(product), digit));
            }
        }
        store(&mut body[at], to_int(f.canonical(f.reduce(sums[0]))));
        store(&mut mask[at], to_int(f.canonical(f.reduce(sums[1]))));
    }
}

/// `sum_j factor_j key_j` for each row of the keys: at most 7 q from zero, so exact.
#[target_feature(enable = "avx2,fma")]
fn combined(f: &Field, key: &[Block], factors: &[Factors], half: usize) -> [__m256d; KEY_ROWS] {
    let mut sums = [_mm256_setzero_pd(); KEY_ROWS];
    for (rows, &factor) in key.chunks_exact(2 * KEY_ROWS).zip(factors) {
        for (sum, row) in sums.iter_mut().zip(rows.as_chunks::<2>().0) {
            *sum = _mm256_add_pd(*sum, f.mul(to_float(load(&row[half])), factor));
        }
    }
    sums
}

/// The patterns of the exponents, in halves.
#[target_feature(enable = "avx2,fma")]
fn patterns(f: &Field, m: &Monomials, exponents: &[u32]) -> Vec<[Factors; 2]> {
    let mut out = Vec::with_capacity(exponents.len());
    for &a in exponents {
        let words = m.pattern(a).map(|factor| factor.w);
        let [low, high] = [0, 1].map(|half| blocks(&words)[half]);
        out.push([
            f.factors(to_float(load(&low))),
            f.factors(to_float(load(&high))),
        ]);
    }
    out
}

fn blocks(row: &[u64]) -> &[Block] {
    row.as_chunks().0
}
