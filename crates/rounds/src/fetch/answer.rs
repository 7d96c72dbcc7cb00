//! The detector's part of the second round.

use crate::RoundsError;
use crate::fetch::{Fetch, Prepared, Query};
use omr_bgv::{Ciphertext, Evaluator, Expander, GaloisKey};
use omr_compress::{Finisher, MergeKeys, PackedCiphertext, pack};
use omr_ring::parallel::*;
use omr_ring::{Eval, Poly, WORD_LINE, WordRows, place_words};
use omr_rlwe::{Rlwe, SharedKey, SwitchingKey};

/// The lines of words whose sums are made together: with those of all symbols they stay in the second-level cache.
const LINES: usize = 4;

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

/// Answers a query of a range's pages, in the order of the board.
///
/// Errors: `Length` if the query has another number of ciphertexts, or other rows than one for each page.
/// Panics: without a page; if pages have different numbers of symbols.
pub fn answer(
    fetch: &Fetch,
    key: &FetchKey,
    query: &Query,
    pages: &[&Prepared],
) -> Result<Vec<PackedCiphertext>, RoundsError> {
    let rows = pages.len();
    RoundsError::length("rows", rows, query.rows)?;
    let selected = Selected::new(fetch, &select(fetch, key, query)?);
    let symbols = pages[0].symbols();
    let shape = fetch.answer_shape(symbols).expect("a page has a symbol");
    let packing = fetch.packing(rows);
    let merge = MergeKeys {
        keys: &key.merge,
        first_level: *fetch.levels().start(),
    };
    let mut finisher = Finisher::new(packing, &key.last, shape);
    let mut sums = selected.sums(fetch, pages);
    for ciphertext in 0..shape.ciphertexts() {
        let rest = sums.split_off(shape.symbols_of(ciphertext).len());
        finisher.push(&pack(packing, shape, merge, sums));
        sums = rest;
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

/// Selections as words of 32 bits.
struct Selected {
    /// For each row and prime, the body and the mask, as [`WordRows`] takes them.
    words: Vec<Vec<[Vec<u32>; 2]>>,
}

impl Selected {
    fn new(fetch: &Fetch, rows: &[Rlwe]) -> Self {
        let words = |poly: &Poly<Eval>, limb: usize| {
            let mut words = vec![0; fetch.ring.n()];
            place_words(&mut words, 1, 0, &[poly.row(limb)]);
            words
        };
        let limbs = fetch.sums().len();
        let of_row = |row: &Rlwe| {
            (0..limbs)
                .map(|limb| [words(&row.c0, limb), words(&row.c1, limb)])
                .collect()
        };
        Self {
            words: rows.iter().map(of_row).collect(),
        }
    }

    /// Returns the sums of all symbols, one ciphertext each.
    fn sums(&self, fetch: &Fetch, pages: &[&Prepared]) -> Vec<Rlwe> {
        let ring = &fetch.ring;
        let symbols = pages[0].symbols();
        let lines = LINES.min(ring.n() / WORD_LINE);
        let places = lines * WORD_LINE;
        let pieces = ring.n() / places;
        // For each prime and piece, symbol by symbol: body and mask.
        let products: Vec<Vec<u64>> = (0..fetch.sums().len() * pieces)
            .into_par_iter()
            .map(|index| {
                let (limb, piece) = (index / pieces, index % pieces);
                let (kernels, m) = (ring.kernels(), ring.modulus(limb));
                let range = piece * lines..(piece + 1) * lines;
                let mut sums = vec![0; 2 * symbols * places];
                let mut own = vec![0; if pages.len() > 1 { sums.len() } else { 0 }];
                for (number, page) in pages.iter().enumerate() {
                    let b = self.words[number][limb]
                        .each_ref()
                        .map(|part| &part[range.start * WORD_LINE..range.end * WORD_LINE]);
                    let words = WordRows {
                        a: page.lines(limb, range.clone()),
                        b: &b,
                        terms: 1,
                    };
                    let to = if number == 0 { &mut sums } else { &mut own };
                    let mut outputs: Vec<&mut [u64]> = to.chunks_mut(places).collect();
                    kernels.dot_words(m, &mut outputs, &words);
                    if number > 0 {
                        kernels.add_assign(m, &mut sums, &own);
                    }
                }
                sums
            })
            .collect();
        let ciphertext = |symbol: usize| {
            let part = |part: usize| {
                let mut poly = Poly::<Eval>::zero(ring, fetch.sums());
                for (index, of_piece) in products.iter().enumerate() {
                    let (limb, piece) = (index / pieces, index % pieces);
                    let to = &mut poly.row_mut(limb)[piece * places..][..places];
                    to.copy_from_slice(&of_piece[(2 * symbol + part) * places..][..places]);
                }
                poly
            };
            Rlwe::new(part(0), part(1))
        };
        (0..symbols).into_par_iter().map(ciphertext).collect()
    }
}
