//! Products of plaintexts with the codes, summed over batches, then packed.

use crate::away;
use crate::merge::pack;
use crate::pieces::Pieces;
use crate::plaintexts::Place;
use crate::{Codes, MergeKeys, Plaintexts, Setting, SumsShape};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Blocks, Eval, Poly, Switch};
use omr_rlwe::Rlwe;
use std::ops::Range;

/// Products added at a time: their codes stay in the second-level cache while all symbols pass, and
/// reductions are few.
const TERMS: usize = 64;

/// The sums of one ciphertext's symbols, in slot order.
///
/// Piece by piece, then symbol, then body and mask.
pub struct Sums<'a> {
    setting: Setting<'a>,
    cut: Pieces,
    symbols: usize,
    data: Data,
}

/// The place of sums: this process's memory, piece by piece, or that of the small ring's backend, symbol by symbol.
enum Data {
    Here(Blocks),
    Away(Vec<Rlwe>),
}

impl<'a> Sums<'a> {
    /// Returns empty sums of `symbols` symbols, those of one ciphertext.
    pub fn new(setting: Setting<'a>, symbols: usize) -> Self {
        let (cut, ring) = (Pieces::new(setting), setting.small());
        let data = if ring.backend().is_some() {
            let basis = setting.sum_basis();
            Data::Away((0..symbols).map(|_| Rlwe::zero(ring, &basis)).collect())
        } else {
            Data::Here(Blocks::zeroed(cut.count(), symbols * 2 * cut.len()))
        };
        Self {
            setting,
            cut,
            symbols,
            data,
        }
    }

    /// Adds `sum_(g,u) sigma_g(L_u) V(g, u)` of one batch for the symbols `to`; `plaintexts`
    /// contains the first of them at place 0, the next at place 1, and so on.
    ///
    /// Panics: when `plaintexts` or these sums have fewer symbols.
    pub fn add(&mut self, codes: &Codes, plaintexts: &Plaintexts, to: Range<usize>) {
        let (setting, cut, size) = (self.setting, self.cut, 2 * self.cut.len());
        let pieces = match &mut self.data {
            Data::Here(pieces) => pieces,
            Data::Away(sums) => {
                let plaintexts = plaintexts.there(to.len());
                return away::add(&setting, codes.there(), plaintexts, &sums[to]);
            }
        };
        let pieces: Vec<&mut [u64]> = pieces.iter_mut().collect();
        pieces
            .into_par_iter()
            .enumerate()
            .for_each(|(index, sums)| {
                let of_range = &mut sums[to.start * size..to.end * size];
                add_piece(setting, codes, plaintexts, cut, index, of_range);
            });
    }

    /// Adds `sum_(g,u) V(g, u)` of one batch to a symbol: the sums of what the codes were made of, as if the symbol
    /// were 1 for all entries. So an encrypted symbol is added, already multiplied with the vector.
    ///
    /// Panics: unless the symbol is one of these sums.
    pub fn add_codes(&mut self, codes: &Codes, symbol: usize) {
        assert!(symbol < self.symbols, "symbol {symbol} of {}", self.symbols);
        let (setting, cut, len) = (self.setting, self.cut, self.cut.len());
        let pieces = match &mut self.data {
            Data::Here(pieces) => pieces,
            Data::Away(sums) => {
                for code in codes.there().iter().flatten() {
                    sums[symbol].add_assign(setting.small(), code);
                }
                return;
            }
        };
        let pieces: Vec<&mut [u64]> = pieces.iter_mut().collect();
        pieces
            .into_par_iter()
            .enumerate()
            .for_each(|(index, sums)| {
                let (limb, ..) = cut.locate(index);
                let m = setting.small().modulus(setting.sum_prime(limb));
                let of_symbol = sums[2 * symbol * len..][..2 * len].chunks_mut(len);
                for (part, sum) in of_symbol.enumerate() {
                    for row in codes.rows(index, part, 0..codes.terms()) {
                        for (sum, &x) in sum.iter_mut().zip(row) {
                            *sum = m.add(*sum, x.into());
                        }
                    }
                }
            });
    }

    /// One ciphertext a symbol, to be packed.
    pub fn ciphertexts(self) -> Vec<Rlwe> {
        let (setting, packing) = (self.setting, self.setting.packing);
        let pieces = match self.data {
            Data::Here(pieces) => pieces,
            Data::Away(sums) => return away::ciphertexts(&setting, sums),
        };
        let basis = setting.sum_basis();
        let switch = Switch::new(packing.small, &basis, &packing.small_basis(), packing.p);
        let positions = setting.small_plain.order().positions();
        let len = self.cut.len();
        (0..self.symbols)
            .into_par_iter()
            .map(|symbol| {
                let part = |part: usize| -> Poly<Eval> {
                    let mut poly = Poly::zero(setting.small(), &basis);
                    for (index, piece) in pieces.iter().enumerate() {
                        let (limb, start) = self.cut.slot(index);
                        let from = (2 * symbol + part) * len;
                        let row = poly.row_mut(limb);
                        for (i, &x) in piece[from..from + len].iter().enumerate() {
                            row[positions[start + i] as usize] = x;
                        }
                    }
                    switch.apply(setting.small(), &poly)
                };
                Rlwe::new(part(0), part(1))
            })
            .collect()
    }

    /// Packs symbol i into the coefficients `i, i + stride, i + 2 stride, ...` of one ciphertext.
    ///
    /// Panics: as [`pack`].
    pub fn pack(self, shape: SumsShape, keys: MergeKeys) -> Rlwe {
        pack(self.setting.packing, shape, keys, self.ciphertexts())
    }
}

/// One piece of all symbols encoded. `sums`: symbol by symbol, body and mask.
fn add_piece(
    setting: Setting,
    codes: &Codes,
    plaintexts: &Plaintexts,
    cut: Pieces,
    index: usize,
    sums: &mut [u64],
) {
    let (limb, row, start) = cut.locate(index);
    let (ring, classes, len) = (setting.small(), setting.classes(), cut.len());
    let (kernels, m) = (ring.kernels(), ring.modulus(setting.sum_prime(limb)));
    let per_sign = codes.terms() / 2;
    let mut products = AlignedVec::zeroed(4 * len);
    for first in (0..codes.terms()).step_by(TERMS) {
        let terms = first..(first + TERMS).min(codes.terms());
        let parts = [0, 1].map(|part| codes.rows(index, part, terms.clone()).collect::<Vec<_>>());
        let rows = parts.each_ref().map(Vec::as_slice);
        let plain = |symbol: usize| -> Vec<&[u32]> {
            let row_of = |term: usize| {
                let (sign, i) = (term / per_sign, term % per_sign / classes);
                let place = Place {
                    class: term % classes,
                    limb,
                    row: row ^ sign,
                };
                plaintexts.read(symbol, place, start + i, len)
            };
            terms.clone().map(row_of).collect()
        };
        // Two symbols at a time: codes come from the second-level cache.
        for (pair, sums) in sums.chunks_mut(4 * len).enumerate() {
            let one = plain(2 * pair);
            // The last of an odd number is its own neighbour.
            let other = if sums.len() == 4 * len {
                plain(2 * pair + 1)
            } else {
                one.clone()
            };
            let mut rest = products.chunks_mut(len);
            let out = [(); 4].map(|()| rest.next().expect("four rows"));
            kernels.dot_square_words(m, out, [&one, &other], rows);
            kernels.add_assign(m, sums, &products[..sums.len()]);
        }
    }
}
