//! Sums of products of ciphertexts with plaintexts.

use omr_bgv::{Ciphertext, Evaluator};
use omr_ring::{Buffer, Eval, Poly};
use omr_rlwe::Rlwe;
use rayon::prelude::*;

/// Coefficients of a piece of the multiply-add.
const PIECE: usize = 1024;

/// For each list the sum of the products of its ciphertexts with as many plaintexts, given as coefficients modulo p.
///
/// The ciphertexts must be of one level and scale. A plaintext is encoded once for all lists.
pub(crate) fn products(
    ev: &Evaluator,
    plaintexts: &[Vec<u32>],
    lists: &[&[Ciphertext]],
) -> Vec<Ciphertext> {
    let (level, scale) = (lists[0][0].level(), lists[0][0].scale());
    let basis = ev.chain.basis(level);
    let mut out: Vec<[Poly<Eval>; 2]> = lists
        .iter()
        .map(|_| [(); 2].map(|()| Poly::scratch(ev.ring, basis)))
        .collect();
    let mut rows: Vec<Vec<&mut [u64]>> = basis.ids().iter().map(|_| Vec::new()).collect();
    for poly in out.iter_mut().flatten() {
        for (rows, row) in rows.iter_mut().zip(poly.rows_mut()) {
            rows.push(row);
        }
    }
    let limbs = rows.par_iter_mut().enumerate().with_max_len(1);
    limbs.for_each(|(limb, rows)| {
        let encoded = encoded(ev, basis.ids()[limb], plaintexts);
        for (list, out) in lists.iter().zip(rows.chunks_mut(2)) {
            add_up(ev, limb, list, &encoded, out);
        }
    });
    let ciphertext = |[c0, c1]: [Poly<Eval>; 2]| Ciphertext::new(Rlwe { c0, c1 }, level, scale);
    out.into_iter().map(ciphertext).collect()
}

/// Rows of plaintexts as factors modulo prime `id`.
fn encoded(ev: &Evaluator, id: usize, plaintexts: &[Vec<u32>]) -> Buffer {
    let (ring, p) = (ev.ring, ev.plain.p().value() as u32);
    let (k, n) = (ring.kernels(), ring.n());
    let mut rows = Buffer::any(plaintexts.len() * n);
    for (row, coeffs) in rows.chunks_mut(n).zip(plaintexts) {
        k.lift_centered(ring.modulus(id), row, coeffs, p);
        k.ntt_factors(ring.table(id), row);
    }
    rows
}

/// One limb of the sum of a list, body and mask.
fn add_up(
    ev: &Evaluator,
    limb: usize,
    list: &[Ciphertext],
    encoded: &[u64],
    out: &mut [&mut [u64]],
) {
    let n = ev.ring.n();
    let id = ev.chain.basis(list[0].level()).ids()[limb];
    let [body, mask] = out else {
        unreachable!("a body and a mask")
    };
    for start in (0..n).step_by(PIECE) {
        let piece = start..(start + PIECE).min(n);
        let a: Vec<&[u64]> = encoded.chunks(n).map(|row| &row[piece.clone()]).collect();
        let part = |i: usize| -> Vec<&[u64]> {
            let rows = list.iter().map(|ct| ct.parts()[i].row(limb));
            rows.map(|row| &row[piece.clone()]).collect()
        };
        let out = [&mut body[piece.clone()], &mut mask[piece.clone()]];
        ev.ring
            .kernels()
            .dot_pair(ev.ring.modulus(id), out, &a, [&part(0), &part(1)]);
    }
}
