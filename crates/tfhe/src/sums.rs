//! Sums of ciphertexts times plaintexts, from which digests are made.

use crate::{RingCipher, RotationRing};
use omr_ring::AlignedVec;
use omr_ring::parallel::*;

/// Shares of work that each thread has at least when terms are added: the last one then makes few of them wait.
const SHARES: usize = 4;
/// Ciphertexts of a part at least, which is added up beside the others and then to them.
const LEAST: usize = 16;

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
    /// its values, below `p` and taken in `(-p/2, p/2]`; what is missing at the end is 0. The
    /// ciphertexts are in the evaluation domain after that.
    ///
    /// Panics: on more values than coefficients, or one that is not below `p`, or where there are not as
    /// many ciphertexts as plaintexts.
    pub fn add(&mut self, ring: &RotationRing, cts: &mut [RingCipher], values: &[Vec<u8>], p: u8) {
        let room = self.sums.len() * ring.n();
        assert_eq!(cts.len(), values.len(), "values of each ciphertext");
        values.par_iter().for_each(|values| {
            assert!(values.len() <= room, "too many values");
            assert!(values.iter().all(|&x| x < p), "values below {p}");
        });
        cts.par_iter_mut().for_each(|ct| {
            for row in [&mut ct.body, &mut ct.mask] {
                ring.kernels().ntt_forward(ring.table(0), row);
            }
        });
        let length = cts.len().div_ceil(self.parts(cts.len())).max(1);
        let mut parts = cts.chunks(length).zip(values.chunks(length));
        let Some((first_cts, first_values)) = parts.next() else {
            return;
        };
        let rest: Vec<_> = parts.collect();
        let count = self.sums.len();
        let (_, others): (_, Vec<Self>) = join(
            || self.add_part(ring, first_cts, first_values, p),
            || {
                rest.par_iter()
                    .map(|(cts, values)| {
                        let mut sums = Self::new(ring, count);
                        sums.add_part(ring, cts, values, p);
                        sums
                    })
                    .collect()
            },
        );
        for other in &others {
            self.merge(ring, other);
        }
    }

    /// Returns the number of parts in which `cts` ciphertexts are added side by side, so that all threads have enough
    /// work.
    fn parts(&self, cts: usize) -> usize {
        let of_threads = (SHARES * current_num_threads()).div_ceil(self.sums.len().max(1));
        of_threads.min(cts / LEAST).max(1)
    }

    fn add_part(&mut self, ring: &RotationRing, cts: &[RingCipher], values: &[Vec<u8>], p: u8) {
        let scratch = || (AlignedVec::zeroed(ring.n()), vec![0; ring.n()]);
        let sums = self.sums.par_iter_mut().enumerate();
        sums.for_each_init(scratch, |(plaintext, words), (j, sums)| {
            for (ct, values) in cts.iter().zip(values) {
                let Some(of_plaintext) = values.chunks(ring.n()).nth(j) else {
                    continue;
                };
                lift(ring, of_plaintext, p, words, plaintext);
                let (k, m) = (ring.kernels(), ring.modulus(0));
                for (sum, factor) in sums.iter_mut().zip([&ct.body, &ct.mask]) {
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
            let mut coefficients = row.clone();
            ring.kernels().ntt_inverse(ring.table(0), &mut coefficients);
            coefficients
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
