//! Sums of ciphertexts times plaintexts, from which digests are made.

use crate::{RingCipher, RotationRing};
use omr_ring::AlignedVec;
use omr_ring::parallel::*;

/// Sums of ciphertexts, each times several plaintexts modulo p, from which a digest is made
/// (InstantOMR, sections 5.2.3 and 5.2.4).
///
/// Addition is the only operation: sums over parts of a board add up, and can be read at any time.
#[derive(Clone, Debug)]
pub struct PlainSums {
    /// For each plaintext body and mask, in the evaluation domain.
    sums: Vec<[AlignedVec; 2]>,
}

impl PlainSums {
    /// Sums over nothing, of `count` plaintexts each.
    pub fn new(ring: &RotationRing, count: usize) -> Self {
        let row = || AlignedVec::zeroed(ring.n());
        Self {
            sums: (0..count).map(|_| [row(), row()]).collect(),
        }
    }

    /// Adds each ciphertext times its plaintexts: coefficient `i` of plaintext `j` is word `j n + i` of
    /// its values, below `p` and taken in `(-p/2, p/2]`; what is missing at the end is 0. Plaintexts
    /// are spread over the threads.
    ///
    /// Panics: on more values than coefficients, or one that is not below `p`.
    pub fn add(&mut self, ring: &RotationRing, terms: &[(&RingCipher, &[u8])], p: u8) {
        let room = self.sums.len() * ring.n();
        for (_, values) in terms {
            assert!(values.len() <= room, "too many values");
            assert!(values.iter().all(|&x| x < p), "values below {p}");
        }
        let factor = |row: &AlignedVec| {
            let mut row = row.clone();
            ring.kernels().ntt_forward(ring.table(0), &mut row);
            row
        };
        let factors: Vec<[AlignedVec; 2]> = terms
            .par_iter()
            .map(|(ct, _)| [factor(&ct.body), factor(&ct.mask)])
            .collect();
        let scratch = || (AlignedVec::zeroed(ring.n()), vec![0; ring.n()]);
        let sums = self.sums.par_iter_mut().enumerate();
        sums.for_each_init(scratch, |(plaintext, words), (j, sums)| {
            for ((_, values), factors) in terms.iter().zip(&factors) {
                let Some(values) = values.chunks(ring.n()).nth(j) else {
                    continue;
                };
                lift(ring, values, p, words, plaintext);
                let (k, m) = (ring.kernels(), ring.modulus(0));
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    k.mul_add_assign(m, sum, factor, plaintext);
                }
            }
        });
    }

    /// Adds the sums over other messages. Panics: when the numbers of plaintexts differ.
    pub fn merge(&mut self, ring: &RotationRing, other: &Self) {
        assert_eq!(self.sums.len(), other.sums.len(), "numbers of plaintexts");
        for (sum, x) in self
            .sums
            .iter_mut()
            .flatten()
            .zip(other.sums.iter().flatten())
        {
            ring.kernels().add_assign(ring.modulus(0), sum, x);
        }
    }

    /// Body and mask of each plaintext, in the evaluation domain, to be written out.
    pub fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.sums.iter().flatten().map(|row| &row[..])
    }

    /// Rebuilds sums from their rows. Panics: when their number is odd.
    pub fn from_rows(rows: &[Vec<u64>]) -> Self {
        let (pairs, rest) = rows.as_chunks::<2>();
        assert!(rest.is_empty(), "a body and a mask each");
        let row = |from: &Vec<u64>| {
            let mut row = AlignedVec::zeroed(from.len());
            row.copy_from_slice(from);
            row
        };
        Self {
            sums: pairs.iter().map(|pair| pair.each_ref().map(row)).collect(),
        }
    }

    /// One ciphertext for each plaintext.
    pub fn ciphers(&self, ring: &RotationRing) -> Vec<RingCipher> {
        let back = |row: &AlignedVec| {
            let mut row = row.clone();
            ring.kernels().ntt_inverse(ring.table(0), &mut row);
            row
        };
        let cipher = |[body, mask]: &[AlignedVec; 2]| RingCipher {
            body: back(body),
            mask: back(mask),
        };
        self.sums.iter().map(cipher).collect()
    }
}

/// A plaintext in the evaluation domain.
fn lift(ring: &RotationRing, values: &[u8], p: u8, words: &mut [u32], plaintext: &mut AlignedVec) {
    let words = &mut words[..values.len()];
    for (word, &value) in words.iter_mut().zip(values) {
        *word = value.into();
    }
    let (used, rest) = plaintext.split_at_mut(values.len());
    let k = ring.kernels();
    k.lift_centered(ring.modulus(0), used, words, p.into());
    rest.fill(0);
    k.ntt_forward(ring.table(0), plaintext);
}
