//! The detector's part of the second round.

use crate::RoundsError;
use crate::fetch::{Fetch, Prepared, Query};
use omr_bgv::{Ciphertext, Evaluator, Expander, GaloisKey};
use omr_compress::{Finisher, MergeKeys, PackedCiphertext, pack_raised, raised_basis};
use omr_ring::parallel::*;
use omr_ring::{Basis, Eval, Poly, WORD_LINE, WordRows, place_words};
use omr_rlwe::{Rlwe, SharedKey, SharedRlwe, SwitchingKey};

/// The lines of words whose sums one task makes: few, so that there are tasks for all threads.
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

    fn merge(&self, fetch: &Fetch) -> MergeKeys<'_> {
        MergeKeys {
            keys: &self.merge,
            first_level: *fetch.levels().start(),
        }
    }
}

/// A query, and the key of its recipient.
#[derive(Clone, Copy)]
pub struct KeyedQuery<'a> {
    /// The key.
    pub key: &'a FetchKey,
    /// The query.
    pub query: &'a Query,
}

/// Answers queries of a range's pages, in their order. Prepared words are read once for all queries, so that each further
/// one takes less time.
///
/// Shape: `pages` in the order of the board; the ciphertexts of each query's answer. Memory: 33 MB for each query, at the
/// published shape.
/// Errors: `Length` if a query has another number of ciphertexts, or other rows than one for each page.
/// Panics: without a page; if pages have different numbers of symbols.
pub fn answer(
    fetch: &Fetch,
    queries: &[KeyedQuery<'_>],
    pages: &[&Prepared],
) -> Result<Vec<Vec<PackedCiphertext>>, RoundsError> {
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let rows = pages.len();
    let mut selected = Vec::with_capacity(queries.len());
    for own in queries {
        RoundsError::length("rows", rows, own.query.rows)?;
        selected.push(select(fetch, own.key, own.query)?);
    }
    let (shape, packing) = (pages[0].shape(), fetch.packing(rows));
    let raised = raised_basis(packing, queries[0].key.merge(fetch));
    let selected = Selected::new(fetch, raised, selected);
    let mut finishers = Vec::with_capacity(queries.len());
    for own in queries {
        finishers.push(Finisher::new(packing, &own.key.last, shape));
    }
    for ciphertext in 0..shape.ciphertexts() {
        let sums = selected.sums(fetch, pages, ciphertext);
        for ((own, finisher), sums) in queries.iter().zip(&mut finishers).zip(sums) {
            finisher.push(&pack_raised(packing, shape, own.key.merge(fetch), sums));
        }
    }
    Ok(finishers.into_iter().map(Finisher::finish).collect())
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

/// The selections of several queries as words of 32 bits.
struct Selected {
    queries: usize,
    /// The primes of sums of bodies, which are raised ([`omr_rlwe::Bodies::Raised`]): those of sums and the special one of
    /// keys, modulo which they are 0.
    raised: Basis,
    /// For each prime the bodies and the masks of each query, as [`WordRows`] takes a list.
    words: Vec<Vec<Vec<u32>>>,
}

impl Selected {
    /// Takes for each query a ciphertext for each row.
    fn new(fetch: &Fetch, raised: Basis, mut queries: Vec<Vec<Rlwe>>) -> Self {
        let (ring, special) = (&fetch.ring, raised.minus(fetch.sums()));
        for row in queries.iter_mut().flatten() {
            ring.scale_assign(&mut row.c0, |m| ring.product_mod(&special, m));
        }
        let parts: [fn(&Rlwe) -> &Poly<Eval>; 2] = [|row| &row.c0, |row| &row.c1];
        let mut words = Vec::new();
        for limb in 0..fetch.sums().len() {
            let mut lists = Vec::new();
            for own in &queries {
                for part in parts {
                    let rows: Vec<&[u64]> = own.iter().map(|row| part(row).row(limb)).collect();
                    let mut list = vec![0; fetch.ring.n() * rows.len()];
                    place_words(&mut list, 1, 0, &rows);
                    lists.push(list);
                }
            }
            words.push(lists);
        }
        Self {
            queries: queries.len(),
            raised,
            words,
        }
    }

    /// Returns for each query the sums of the symbols of a ciphertext, one each.
    fn sums(
        &self,
        fetch: &Fetch,
        pages: &[&Prepared],
        ciphertext: usize,
    ) -> Vec<Vec<SharedRlwe<Eval>>> {
        let ring = &fetch.ring;
        let symbols = pages[0].shape().symbols_of(ciphertext).len();
        let lines = LINES.min(ring.n() / WORD_LINE);
        let places = lines * WORD_LINE;
        let pieces = ring.n() / places;
        // For each symbol and query, body and mask.
        let zeros = (0..self.queries * symbols).flat_map(|_| [&self.raised, fetch.sums()]);
        let mut sums: Vec<Poly<Eval>> = zeros.map(|basis| Poly::zero(ring, basis)).collect();
        // For each prime and piece of a row, its places in all sums.
        let mut outputs: Vec<Vec<&mut [u64]>> = Vec::new();
        outputs.resize_with(fetch.sums().len() * pieces, || {
            Vec::with_capacity(sums.len())
        });
        for poly in &mut sums {
            let rows = poly.rows_mut().take(fetch.sums().len());
            let own = rows.flat_map(|row| row.chunks_mut(places));
            outputs
                .iter_mut()
                .zip(own)
                .for_each(|(to, piece)| to.push(piece));
        }
        outputs
            .into_par_iter()
            .enumerate()
            .for_each(|(index, mut outputs)| {
                let (limb, piece) = (index / pieces, index % pieces);
                let own = piece * lines..(piece + 1) * lines;
                let line = pages.len() * WORD_LINE;
                let a: Vec<&[u32]> = pages
                    .iter()
                    .map(|page| page.lines(limb, ciphertext, own.clone()))
                    .collect();
                let b: Vec<&[u32]> = self.words[limb]
                    .iter()
                    .map(|list| &list[own.start * line..own.end * line])
                    .collect();
                let words = WordRows { a: &a, b: &b };
                ring.kernels()
                    .dot_words(ring.modulus(limb), &mut outputs, &words);
            });
        let mut by_query: Vec<Vec<SharedRlwe<Eval>>> = Vec::new();
        by_query.resize_with(self.queries, || Vec::with_capacity(symbols));
        let mut sums = sums.into_iter();
        for _ in 0..symbols {
            for own in &mut by_query {
                let (body, mask) = (sums.next(), sums.next());
                own.push(SharedRlwe {
                    mask: mask.expect("a mask"),
                    bodies: body.into_iter().collect(),
                });
            }
        }
        by_query
    }
}
