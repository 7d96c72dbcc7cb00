//! Steps of a blind rotation. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use std::arch::aarch64::*;

use super::float::{Block, Factors, Field, load_residues, store};
use crate::block::{BlockRows, KEY_ROWS, MAX_BLOCK};
use crate::{Monomials, monomials::LANES};

/// Vectors of the residues that share a power of psi.
const PARTS: usize = LANES / 2;

#[target_feature(enable = "neon")]
pub(super) fn block_product(m: &Monomials, out: [&mut [u64]; 2], rows: &BlockRows<'_>) {
    let f = Field::new(m.modulus());
    let patterns = patterns(&f, m, rows.exponents);
    let keys = rows.exponents.len();
    let [body, mask] = out.map(|row| row.as_chunks_mut().0);
    let digits = rows.digits.iter().map(|pair| pair.map(blocks));
    let levels: Vec<([&[Block]; 2], &[Block])> =
        digits.zip(rows.key.iter().map(|k| blocks(k))).collect();
    for at in 0..m.n() / 2 {
        let (v, part) = (at / PARTS, at % PARTS);
        let mut factors = [f.factors(vdupq_n_f64(0.0)); MAX_BLOCK];
        let exponents = rows.exponents.iter().zip(&patterns);
        for (factor, (&a, pattern)) in factors.iter_mut().zip(exponents) {
            let base = vdupq_n_f64(m.base(v, a) as f64);
            let value = f.mul_each(base, pattern[part]);
            *factor = f.factors(vsubq_f64(value, vdupq_n_f64(1.0)));
        }
        let mut sums = [vdupq_n_f64(0.0); 2];
        for (digits, key) in &levels {
            let key = &key[PARTS * v * keys * KEY_ROWS..][..PARTS * keys * KEY_ROWS];
            let products = combined(&f, key, &factors[..keys], part);
            for (r, product) in products.into_iter().enumerate() {
                let digit = f.factors(load_residues(&digits[r / 2][at]));
                sums[r % 2] = vaddq_f64(sums[r % 2], f.mul_each(f.reduce(product), digit));
            }
        }
        store(&mut body[at], f.residues(f.reduce(sums[0])));
        store(&mut mask[at], f.residues(f.reduce(sums[1])));
    }
}

/// `sum_j factor_j key_j` for each row of the keys: at most 7 q from zero, so exact.
#[inline]
#[target_feature(enable = "neon")]
fn combined(f: &Field, key: &[Block], factors: &[Factors], part: usize) -> [float64x2_t; KEY_ROWS] {
    let mut sums = [vdupq_n_f64(0.0); KEY_ROWS];
    for (rows, &factor) in key.chunks_exact(PARTS * KEY_ROWS).zip(factors) {
        for (sum, row) in sums.iter_mut().zip(rows.as_chunks::<PARTS>().0) {
            *sum = vaddq_f64(*sum, f.mul_each(load_residues(&row[part]), factor));
        }
    }
    sums
}

/// The patterns of the exponents, by vectors.
#[target_feature(enable = "neon")]
fn patterns(f: &Field, m: &Monomials, exponents: &[u32]) -> Vec<[Factors; PARTS]> {
    let mut out = Vec::with_capacity(exponents.len());
    for &a in exponents {
        let words = m.pattern(a).map(|factor| factor.w);
        let mut parts = [f.factors(vdupq_n_f64(0.0)); PARTS];
        for (part, words) in parts.iter_mut().zip(blocks(&words)) {
            *part = f.factors(load_residues(words));
        }
        out.push(parts);
    }
    out
}

fn blocks(row: &[u64]) -> &[Block] {
    row.as_chunks().0
}
