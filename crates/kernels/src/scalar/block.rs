//! Steps of a blind rotation. Ranges and shapes: see the methods of [`Kernels`](crate::Kernels).

use crate::block::{BlockRows, Cut, Gadget, KEY_ROWS};
use crate::{Modulus, Monomials, monomials::LANES};

pub(crate) fn decompose(
    m: &Modulus,
    gadget: Gadget,
    cut: &Cut,
    out: &mut [&mut [u64]],
    src: &[u64],
) {
    decompose_from(m, gadget, cut, out, src, 0);
}

/// [`decompose`] from residue `start` on.
pub(crate) fn decompose_from(
    m: &Modulus,
    gadget: Gadget,
    cut: &Cut,
    out: &mut [&mut [u64]],
    src: &[u64],
    start: usize,
) {
    let mask = (1 << gadget.bits) - 1;
    for (at, &x) in src.iter().enumerate().skip(start) {
        let fraction = ((u128::from(x) * u128::from(cut.ratio)) >> 52) as u64 + cut.offset;
        for (i, row) in out.iter_mut().enumerate() {
            let digit = (fraction >> (cut.top - gadget.bits * i as u32)) & mask;
            let signed = digit.wrapping_sub(cut.half);
            row[at] = signed.min(signed.wrapping_add(m.value()));
        }
    }
}

pub(crate) fn block_product(m: &Monomials, out: [&mut [u64]; 2], rows: &BlockRows<'_>) {
    let (q, [body, mask]) = (*m.modulus(), out);
    for at in 0..m.n() {
        let factors = rows.exponents.iter().map(|&a| q.sub(m.value(at, a), 1));
        let factors: Vec<u64> = factors.collect();
        let mut sums = [0; 2];
        for (digit, key) in rows.digits.iter().zip(rows.key) {
            for r in 0..KEY_ROWS {
                let place = |j: usize| (at / LANES * factors.len() + j) * KEY_ROWS + r;
                let word = |j: usize| key[place(j) * LANES + at % LANES];
                let terms = factors.iter().enumerate();
                let sum: u128 = terms
                    .map(|(j, &f)| u128::from(f) * u128::from(word(j)))
                    .sum();
                let product = q.mul(q.reduce_u128(sum), digit[r / 2][at]);
                sums[r % 2] = q.add(sums[r % 2], product);
            }
        }
        [body[at], mask[at]] = sums;
    }
}
