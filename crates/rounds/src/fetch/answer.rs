//! The detector's part of the second round.

use crate::RoundsError;
use crate::fetch::prepared::PIECE;
use crate::fetch::{Fetch, Prepared, Query};
use omr_bgv::{Ciphertext, Evaluator, Expander, GaloisKey};
use omr_compress::{Finisher, MergeKeys, PackedCiphertext, pack};
use omr_ring::parallel::*;
use omr_ring::{Eval, Poly};
use omr_rlwe::{Rlwe, SharedKey, SwitchingKey};

/// A detector's key of the second round.
pub struct FetchKey {
    /// The keys of automorphisms, by level as in [`Fetch::levels`].
    merge: Vec<GaloisKey>,
    /// The relinearisation key.
    product: SwitchingKey,
    /// The key to the ring of responses.
    last: SharedKey,
}

impl FetchKey {
    /// Prepares a key: `merge` by level as in [`Fetch::levels`], relinearisation, and the key to the ring of responses.
    ///
    /// Panics: unless there is a key for each level.
    pub fn new(
        fetch: &Fetch,
        merge: Vec<SwitchingKey>,
        product: SwitchingKey,
        last: SharedKey,
    ) -> Self {
        let levels = fetch.levels();
        assert_eq!(merge.len(), levels.clone().count(), "a key for each level");
        let lowered = fetch.lowered();
        let prepared = |(level, key): (u32, SwitchingKey)| {
            let shapes = std::slice::from_ref(&lowered);
            let both = key.with_lowered(&fetch.ring, shapes, fetch.p());
            GaloisKey::from_switching_key(&fetch.ring, fetch.exponent(level), both)
        };
        Self {
            merge: levels.zip(merge).map(prepared).collect(),
            product,
            last,
        }
    }
}

/// Answers a query of a range's sections.
///
/// Errors: `Length` if the query has another number of ciphertexts, or of rows than the sections.
/// Panics: without a section; if sections have different numbers of symbols.
pub fn answer(
    fetch: &Fetch,
    key: &FetchKey,
    query: &Query,
    sections: &[&Prepared],
) -> Result<Vec<PackedCiphertext>, RoundsError> {
    let rows = sections.len() * fetch.spec().rows;
    RoundsError::length("rows", rows, query.rows)?;
    let selected = Selected::new(fetch, &select(fetch, key, query)?);
    let symbols = sections[0].symbols();
    let shape = fetch.answer_shape(symbols).expect("a section has a symbol");
    let packing = fetch.packing(rows);
    let merge = MergeKeys {
        keys: &key.merge,
        first_level: *fetch.levels().start(),
    };
    let mut finisher = Finisher::new(packing, &key.last, shape);
    for ciphertext in 0..shape.ciphertexts() {
        let of = shape.symbols_of(ciphertext);
        let sums = selected.sums(fetch, sections, of.collect());
        finisher.push(&pack(packing, shape, merge, sums));
    }
    Ok(finisher.finish())
}

/// Returns for each row a ciphertext with a constant in the slot of each place that the query asks for, and 0 elsewhere,
/// at the level of sums.
fn select(fetch: &Fetch, key: &FetchKey, query: &Query) -> Result<Vec<Rlwe>, RoundsError> {
    let (ring, p) = (&fetch.ring, fetch.p());
    let evaluator = Evaluator {
        ring,
        plain: &fetch.plain,
        chain: &fetch.chain,
        stop: None,
    };
    // Level i of an expansion has the automorphism `X -> X^(n / 2^i + 1)`.
    let keys = key.merge.iter().rev().collect();
    let expander = Expander::new(ring, fetch.chain.basis(0), p, keys);
    let mut ciphertexts = query.ciphertexts(fetch)?.into_iter();
    let positions = ciphertexts.next().expect("checked");
    let parts = ciphertexts.zip(fetch.row_parts(query.rows));
    let leaves: Vec<Rlwe> = parts
        .flat_map(|(ct, rows)| expander.first_constants(ct.into_pair(), rows))
        .collect();
    let selected = leaves.into_par_iter().map(|leaf| {
        let row = Ciphertext::new(leaf, 0, 1);
        let product = evaluator.mul(&positions, &row, &key.product);
        product.expect("a level below").into_pair()
    });
    Ok(selected.collect())
}

/// Selections as words of 32 bits, piece by piece.
struct Selected {
    /// The residues of a piece.
    piece: usize,
    /// By prime and piece: for each of body and mask, row by row.
    words: Vec<[Vec<u32>; 2]>,
}

impl Selected {
    fn new(fetch: &Fetch, rows: &[Rlwe]) -> Self {
        let n = fetch.ring.n();
        let piece = PIECE.min(n);
        let part = |limb: usize, at: usize, of: &dyn Fn(&Rlwe) -> &Poly<Eval>| {
            let residues = |row| of(row).row(limb)[at * piece..][..piece].iter();
            let words = rows.iter().flat_map(residues);
            words.map(|&x| x as u32).collect()
        };
        let pieces =
            (0..fetch.sums().len()).flat_map(|limb| (0..n / piece).map(move |at| (limb, at)));
        Self {
            words: pieces
                .map(|(limb, at)| {
                    [
                        part(limb, at, &|row| &row.c0),
                        part(limb, at, &|row| &row.c1),
                    ]
                })
                .collect(),
            piece,
        }
    }

    /// Returns the sums of some symbols, one ciphertext each.
    fn sums(&self, fetch: &Fetch, sections: &[&Prepared], symbols: Vec<usize>) -> Vec<Rlwe> {
        let (ring, piece) = (&fetch.ring, self.piece);
        let pieces = ring.n() / piece;
        // For each prime and piece, symbol by symbol: body and mask.
        let products: Vec<Vec<u64>> = self
            .words
            .par_iter()
            .enumerate()
            .map(|(index, words)| {
                let (limb, at) = (index / pieces, index % pieces);
                let selections = words
                    .each_ref()
                    .map(|part| part.chunks(piece).collect::<Vec<_>>());
                let mut out = vec![0; symbols.len() * 2 * piece];
                for (&symbol, both) in symbols.iter().zip(out.chunks_mut(2 * piece)) {
                    let mut rows: Vec<&[u32]> = Vec::new();
                    for section in sections {
                        rows.extend(section.rows(symbol, limb, at));
                    }
                    for (sum, selection) in both.chunks_mut(piece).zip(&selections) {
                        dot(ring.modulus(limb).value(), sum, &rows, selection);
                    }
                }
                out
            })
            .collect();
        let ciphertext = |number: usize| {
            let part = |part: usize| {
                let mut poly = Poly::<Eval>::zero(ring, fetch.sums());
                for (index, of_piece) in products.iter().enumerate() {
                    let (limb, at) = (index / pieces, index % pieces);
                    let to = &mut poly.row_mut(limb)[at * piece..][..piece];
                    to.copy_from_slice(&of_piece[(2 * number + part) * piece..][..piece]);
                }
                poly
            };
            Rlwe::new(part(0), part(1))
        };
        (0..symbols.len()).into_par_iter().map(ciphertext).collect()
    }
}

fn dot(q: u64, out: &mut [u64], a: &[&[u32]], b: &[&[u32]]) {
    for (i, sum) in out.iter_mut().enumerate() {
        let mut all = 0_u128;
        for (x, y) in a.iter().zip(b) {
            all += u128::from(u64::from(x[i]) * u64::from(y[i]));
        }
        *sum = (all % u128::from(q)) as u64;
    }
}
