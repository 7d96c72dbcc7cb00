//! Compression: products of payload plaintexts with the codes, summed over batches, then packed.

use crate::codes::{Codes, turn};
use crate::payload::SymbolWindow;
use omr_bgv::GaloisKey;
use omr_protocol::detection_key::merge_levels;
use omr_protocol::{DetectionKey, DigestPlan, Params, SlotClasses};
use omr_ring::{Coeff, Eval, Poly, Ring};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::ops::Range;

/// Slots of a piece: the codes of a piece, both parts, stay in the second-level cache.
const PIECE: usize = 64;

/// The sums of one ciphertext's symbols, in slot order.
///
/// Piece by piece (limb, slot row, part of the row), then symbol, then body and mask.
pub(crate) struct Sums {
    pieces: Vec<Vec<u64>>,
    symbols: usize,
    piece: usize,
}

impl Sums {
    pub(crate) fn new(params: &Params, symbols: usize) -> Self {
        let half = params.small.n() / 2;
        let piece = PIECE.min(half);
        let count = params.small_basis().len() * params.small.n() / piece;
        Self {
            pieces: vec![vec![0; symbols * 2 * piece]; count],
            symbols,
            piece,
        }
    }

    /// Adds `sum_(g,u) sigma_g(L_u) V(g, u)` of one batch for each symbol of `range`.
    pub(crate) fn add_batch(
        &mut self,
        params: &Params,
        plan: &DigestPlan,
        classes: &SlotClasses,
        codes: &Codes,
        window: &SymbolWindow,
        range: Range<usize>,
    ) {
        let pad = plan.width() / 2;
        let plaintexts: Vec<Vec<Vec<u64>>> = range
            .into_par_iter()
            .map(|symbol| window.plaintexts(params, classes, symbol, pad))
            .collect();
        let half = params.small.n() / 2;
        let limbs = params.small_basis().len();
        let per_row = half / self.piece;
        let piece = self.piece;
        self.pieces
            .par_iter_mut()
            .enumerate()
            .for_each(|(index, out)| {
                let (limb, rest) = (index / (2 * per_row), index % (2 * per_row));
                let (row, start) = (rest / per_row, rest % per_row * piece);
                let at = row * half + start;
                let m = params.small.modulus(limb);
                let codes_of = |part: usize| -> Vec<&[u64]> {
                    (0..codes.terms)
                        .map(|term| &codes.row(part, limb, limbs, term)[at..at + piece])
                        .collect()
                };
                let code_rows = [codes_of(0), codes_of(1)];
                let mut product = vec![0u64; piece];
                for (symbol, out) in plaintexts.iter().zip(out.chunks_mut(2 * piece)) {
                    let mut plain: Vec<&[u64]> = Vec::with_capacity(codes.terms);
                    for sign in 0..2 {
                        for i in 0..pad {
                            let from = (row ^ sign) * (half + pad) + start + i;
                            plain
                                .extend((0..classes.classes()).map(|class| {
                                    &symbol[class * limbs + limb][from..from + piece]
                                }));
                        }
                    }
                    for (rows, out) in code_rows.iter().zip(out.chunks_mut(piece)) {
                        params.small.kernels().dot(m, &mut product, &plain, rows);
                        params.small.kernels().add_assign(m, out, &product);
                    }
                }
            });
    }

    /// One ciphertext a symbol.
    fn ciphertexts(self, params: &Params) -> Vec<Rlwe> {
        let n = params.small.n();
        let basis = params.small_basis();
        let positions = params.small_plain.order().positions();
        let per_limb = n / self.piece;
        (0..self.symbols)
            .into_par_iter()
            .map(|symbol| {
                let part = |part: usize| -> Poly<Eval> {
                    let mut poly = Poly::zero(&params.small, &basis);
                    for (index, piece) in self.pieces.iter().enumerate() {
                        let (limb, start) = (index / per_limb, index % per_limb * self.piece);
                        let from = (2 * symbol + part) * self.piece;
                        let row = poly.row_mut(limb);
                        for (i, &x) in piece[from..from + self.piece].iter().enumerate() {
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
