//! Compression: products of payload plaintexts with the codes, summed over batches, then packed.

use crate::codes::{Codes, turn};
use crate::encoder::Encoder;
use crate::payload::Plaintexts;
use crate::pieces::{PieceWords, Pieces};
use omr_bgv::GaloisKey;
use omr_protocol::detection_key::merge_levels;
use omr_protocol::{DetectionKey, DigestPlan, Params, SlotClasses};
use omr_ring::{AlignedVec, Buffer, Coeff, Eval, Poly, Ring};
use omr_rlwe::Rlwe;
use rayon::prelude::*;

/// Pieces of sums in a buffer: about as long as others that the pool has.
const PIECES: usize = 16;

/// Products added at a time: their codes stay in the second-level cache while all symbols pass, and
/// reductions are few.
const TERMS: usize = 64;

/// The sums of one ciphertext's symbols, in slot order.
///
/// Piece by piece, then symbol, then body and mask.
pub(crate) struct Sums {
    pieces: PieceWords,
    cut: Pieces,
    symbols: usize,
}

/// Where the products of one batch come from.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) params: &'a Params,
    pub(crate) classes: &'a SlotClasses,
    pub(crate) codes: &'a Codes,
}

impl Sums {
    pub(crate) fn new(params: &Params, symbols: usize) -> Self {
        let cut = Pieces::new(params);
        let words = symbols * 2 * cut.len();
        Self {
            pieces: PieceWords::new(&cut, words, PIECES, Buffer::zeroed),
            cut,
            symbols,
        }
    }

    /// Adds `sum_(g,u) sigma_g(L_u) V(g, u)` of one batch for each symbol of a ciphertext.
    pub(crate) fn add_batch(&mut self, batch: Batch, encoder: &mut Encoder, ciphertext: usize) {
        let (cut, size) = (self.cut, 2 * self.cut.len());
        let mut from = 0;
        for run in encoder.shape.runs(ciphertext) {
            let to = from + run.len();
            encoder.with(run, |plaintexts| {
                let pieces: Vec<&mut [u64]> = self.pieces.iter_mut().collect();
                pieces
                    .into_par_iter()
                    .enumerate()
                    .for_each(|(index, sums)| {
                        let sums = &mut sums[from * size..to * size];
                        add_piece(batch, plaintexts, cut, index, sums);
                    });
            });
            from = to;
        }
    }

    /// One ciphertext a symbol.
    fn ciphertexts(self, params: &Params) -> Vec<Rlwe> {
        let basis = params.small_basis();
        let positions = params.small_plain.order().positions();
        let len = self.cut.len();
        (0..self.symbols)
            .into_par_iter()
            .map(|symbol| {
                let part = |part: usize| -> Poly<Eval> {
                    let mut poly = Poly::zero(&params.small, &basis);
                    for (index, piece) in self.pieces.iter().enumerate() {
                        let (limb, start) = self.cut.slot(index);
                        let from = (2 * symbol + part) * len;
                        let row = poly.row_mut(limb);
                        for (i, &x) in piece[from..from + len].iter().enumerate() {
                            row[positions[start + i] as usize] = x;
                        }
                    }
                    poly
                };
                Rlwe {
                    c0: part(0),
                    c1: part(1),
                }
            })
            .collect()
    }

    /// Packs symbol i into the coefficients `i, i + stride, i + 2 stride, ...` of one ciphertext;
    /// every sum is multiplied by `stride`.
    pub(crate) fn pack(self, params: &Params, plan: &DigestPlan, key: &DetectionKey) -> Rlwe {
        let mut parts: Vec<Option<Rlwe>> = self.ciphertexts(params).into_iter().map(Some).collect();
        parts.resize(plan.stride(), None);
        let merger = Merger {
            params,
            key,
            first_level: plan.width().trailing_zeros() + 1,
        };
        merger.merge(parts).expect("at least one symbol")
    }
}

/// One piece of all symbols encoded. `sums`: symbol by symbol, body and mask.
fn add_piece(batch: Batch, plaintexts: &Plaintexts, cut: Pieces, index: usize, sums: &mut [u64]) {
    let (limb, row, start) = cut.locate(index);
    let (ring, classes, len) = (&batch.params.small, batch.classes.classes(), cut.len());
    let (kernels, m) = (ring.kernels(), ring.modulus(limb));
    let codes = batch.codes;
    let per_sign = codes.terms() / 2;
    let mut products = AlignedVec::zeroed(4 * len);
    for first in (0..codes.terms()).step_by(TERMS) {
        let terms = first..(first + TERMS).min(codes.terms());
        let rows = [0, 1].map(|part| codes.rows(index, part, terms.clone()).collect::<Vec<_>>());
        let rows = rows.each_ref().map(Vec::as_slice);
        let plain = |symbol: usize| -> Vec<&[u64]> {
            let row_of = |term: usize| {
                let (sign, i) = (term / per_sign, term % per_sign / classes);
                let place = (term % classes, limb, row ^ sign);
                plaintexts.read(symbol, place, start + i, len)
            };
            terms.clone().map(row_of).collect()
        };
        // Two symbols at a time: codes come from the second-level cache.
        for (pair, sums) in sums.chunks_mut(4 * len).enumerate() {
            let products = &mut products[..sums.len()];
            let mut parts = products.chunks_mut(len);
            let mut two = || Some([parts.next()?, parts.next()?]);
            match (two(), two()) {
                (Some([a, b]), Some([c, d])) => {
                    let plain = [plain(2 * pair), plain(2 * pair + 1)];
                    let plain = plain.each_ref().map(Vec::as_slice);
                    kernels.dot_square(m, [a, b, c, d], plain, rows);
                }
                (Some(last), _) => kernels.dot_pair(m, last, &plain(2 * pair), rows),
                _ => {}
            }
            kernels.add_assign(m, sums, products);
        }
    }
}

/// Merges ciphertexts whose wanted coefficients lie at multiples of the stride (Chen, Dai, Kim,
/// Song 2021, stopped above the leaves): the automorphisms cancel all other coefficients.
struct Merger<'a> {
    params: &'a Params,
    key: &'a DetectionKey,
    first_level: u32,
}

impl Merger<'_> {
    fn merge(&self, parts: Vec<Option<Rlwe>>) -> Option<Rlwe> {
        if parts.len() == 1 {
            return parts.into_iter().next().expect("one part");
        }
        let levels = parts.len().trailing_zeros();
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for (i, part) in parts.into_iter().enumerate() {
            if i % 2 == 0 {
                even.push(part)
            } else {
                odd.push(part)
            }
        }
        let (even, odd) = rayon::join(|| self.merge(even), || self.merge(odd));
        self.join(even?, odd, self.first_level + levels - 1)
    }

    /// `E + X^k O + sigma(E - X^k O)`, `k = n' / 2^level`.
    fn join(&self, even: Rlwe, odd: Option<Rlwe>, level: u32) -> Option<Rlwe> {
        let (ring, p) = (&self.params.small, self.params.p());
        let key = self.galois(level);
        let (mut sum, mut difference) = (even.clone(), even);
        if let Some(odd) = odd {
            let monomial = monomial(ring, &self.params.small_basis(), ring.n() >> level);
            for (part, sum, difference) in [
                (odd.c0, &mut sum.c0, &mut difference.c0),
                (odd.c1, &mut sum.c1, &mut difference.c1),
            ] {
                let mut shifted = part;
                ring.mul_assign(&mut shifted, &monomial);
                ring.add_assign(sum, &shifted);
                ring.sub_assign(difference, &shifted);
            }
        }
        let image = turn(ring, &difference, key, p);
        ring.add_assign(&mut sum.c0, &image.c0);
        ring.add_assign(&mut sum.c1, &image.c1);
        Some(sum)
    }

    fn galois(&self, level: u32) -> &GaloisKey {
        &self.key.merge[(level - merge_levels(self.params).start()) as usize]
    }
}

fn monomial(ring: &Ring, basis: &omr_ring::Basis, k: usize) -> Poly<Eval> {
    let mut poly = Poly::<Coeff>::zero(ring, basis);
    for limb in 0..basis.len() {
        poly.row_mut(limb)[k] = 1;
    }
    ring.forward(poly)
}
