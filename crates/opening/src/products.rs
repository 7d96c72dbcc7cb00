//! Sums of products of rows, piece by piece.

use omr_bgv::Evaluator;
use omr_ring::{Buffer, Eval, Kernels, Modulus, Poly};
use std::ops::Range;

/// Residues of a piece: those of all rows that meet stay in the second-level cache.
pub(crate) const PIECE: usize = 512;

/// Rows of plaintexts, given as coefficients modulo p, as factors modulo prime `id`, one after another.
pub(crate) fn encoded<'a>(
    ev: &Evaluator,
    id: usize,
    plaintexts: impl ExactSizeIterator<Item = &'a [u32]>,
) -> Buffer {
    let (ring, p) = (ev.ring, ev.plain.p().value() as u32);
    let (k, n) = (ring.kernels(), ring.n());
    let mut rows = Buffer::any(plaintexts.len() * n);
    for (row, coeffs) in rows.chunks_mut(n).zip(plaintexts) {
        k.lift_centered(ring.modulus(id), row, coeffs, p);
        k.ntt_factors(ring.table(id), row);
    }
    rows
}

/// Returns a plaintext in the form in which it is lifted: its slots where a backend interpolates them, otherwise its
/// coefficients.
pub(crate) fn to_be_lifted(ev: &Evaluator, slots: Vec<u32>) -> Vec<u32> {
    match ev.ring.backend() {
        Some(_) => slots,
        None => ev.plain.encode(&slots),
    }
}

/// Returns plaintexts modulo the primes of level 0, each given as by [`to_be_lifted`].
pub(crate) fn lifted(ev: &Evaluator, plaintexts: &[&[u32]]) -> Vec<Poly<Eval>> {
    let (ring, basis, plain) = (ev.ring, ev.chain.basis(0), ev.plain);
    match ring.backend() {
        Some(_) => plain.interpolated(ring, basis, plaintexts, plain.order().slots()),
        None => ring.lift_plains(plaintexts, plain.p().value() as u32, basis),
    }
}

/// The value that sums start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Zero,
    /// The present content of the output.
    Present,
}

/// `sum_j a[i][j] b[l][j]` for all lists of factors and all lists of rows, in `out[i][l]`, modulo one prime.
pub(crate) fn all_sums(
    k: &Kernels,
    m: &Modulus,
    out: &mut [Vec<&mut [u64]>],
    a: &[Vec<&[u64]>],
    b: &[Vec<&[u64]>],
    start: Start,
) {
    let n = out[0][0].len();
    let mut scratch = [[0; PIECE]; 4];
    for first in (0..n).step_by(PIECE) {
        let range = first..(first + PIECE).min(n);
        let (a, b) = (pieces(a, &range), pieces(b, &range));
        for (out, a) in out.chunks_mut(2).zip(a.chunks(2)) {
            for first in (0..b.len()).step_by(2) {
                let b = &b[first..(first + 2).min(b.len())];
                let outs = out
                    .iter_mut()
                    .flat_map(|row| row[first..].iter_mut().take(b.len()))
                    .map(|row| &mut row[range.clone()])
                    .collect();
                match start {
                    Start::Zero => square(k, m, outs, a, b),
                    Start::Present => {
                        let len = range.len();
                        let parts = scratch.iter_mut().take(outs.len());
                        square(k, m, parts.map(|part| &mut part[..len]).collect(), a, b);
                        for (out, part) in outs.into_iter().zip(&scratch) {
                            k.add_assign(m, out, &part[..len]);
                        }
                    }
                }
            }
        }
    }
}

/// The sums of one or two lists with one or two others.
fn square(k: &Kernels, m: &Modulus, out: Vec<&mut [u64]>, a: &[Vec<&[u64]>], b: &[Vec<&[u64]>]) {
    match (a, b) {
        ([a0, a1], [b0, b1]) => {
            let out = out.try_into().expect("four sums");
            k.dot_square(m, out, [a0, a1], [b0, b1]);
        }
        ([one], [l, r]) | ([l, r], [one]) => {
            let out = out.try_into().expect("two sums");
            k.dot_pair(m, out, one, [l, r]);
        }
        ([a], [b]) => {
            for out in out {
                k.dot(m, out, a, b);
            }
        }
        _ => unreachable!("one or two lists"),
    }
}

fn pieces<'a>(lists: &[Vec<&'a [u64]>], range: &Range<usize>) -> Vec<Vec<&'a [u64]>> {
    lists
        .iter()
        .map(|list| list.iter().map(|row| &row[range.clone()]).collect())
        .collect()
}
