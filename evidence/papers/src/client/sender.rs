//! Generation of LWE clues for one recipient.

use super::ring;
use crate::clear::{LweClueKey, LweKind, LweParams};
use omr_protocol::Clue;
use omr_ring::{NarrowGaussian, fixed_weight};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A sender to one recipient, with the address prepared for many clues.
///
/// It contains the key's public rows: `rows (n + coordinates)` words, 73 MB for `pvw-v1`.
pub struct LweSender<'a> {
    params: &'a LweParams,
    rows: Vec<u32>,
    products: Vec<u32>,
    errors: NarrowGaussian,
}

impl<'a> LweSender<'a> {
    /// Prepares an address.
    ///
    /// Panics: if the key does not have the shape of the parameters. A key that was read from a file has it.
    pub fn new(params: &'a LweParams, key: &LweClueKey) -> Self {
        let count = LweClueKey::product_count(params);
        assert_eq!(key.products.len(), count, "shape of the key");
        let n = params.spec().n;
        let mut rows = vec![0; params.rows() * n];
        for (i, row) in rows.chunks_exact_mut(n).enumerate() {
            key.row_into(params, i, row);
        }
        Self {
            params,
            rows,
            products: key.products.clone(),
            errors: NarrowGaussian::new(params.spec().sigma),
        }
    }

    /// Generates a fresh clue. It is sampled again if it would be pertinent to every recipient.
    ///
    /// Subsets: a and b are the sums of the same random rows and their products, with `q/4` added to b; for
    /// LWEmongrass, errors are added to all but the last coordinates of a. Integers: `a = alpha x + e1`; b is
    /// the first coordinates of `beta x + e2`. Time: independent of the randomness, except for sampling again.
    pub fn gen_clue(&self, rng: &mut impl CryptoRng) -> Clue {
        loop {
            let clue = match self.params.spec().kind {
                LweKind::Integers { weight } => self.ring(weight, rng),
                LweKind::Subset { .. } => self.subset(0, false, rng),
                LweKind::Lwemongrass { large, .. } => {
                    self.subset(self.params.spec().n - large, true, rng)
                }
            };
            if self.params.check_clue(&clue).is_ok() {
                return clue;
            }
        }
    }

    fn ring(&self, weight: usize, rng: &mut impl CryptoRng) -> Clue {
        let (spec, residues) = (self.params.spec(), self.params.residues());
        let x = Zeroizing::new(fixed_weight(rng, spec.n, weight));
        let mut sample = |key: &[u32], count: usize| {
            let errors = Zeroizing::new(self.errors.sample(rng, count));
            ring::sample(residues, key, &x, &errors, count)
        };
        let a = sample(&self.rows, spec.n);
        let b = sample(&self.products, spec.coordinates);
        Clue { a, b }
    }

    /// Returns a subset's sums, with errors on the first `noisy` coordinates of a, and on b if `and_b`.
    fn subset(&self, noisy: usize, and_b: bool, rng: &mut impl CryptoRng) -> Clue {
        let spec = self.params.spec();
        let (n, l) = (spec.n, spec.coordinates);
        let mut bits = Zeroizing::new(vec![0; self.params.rows().div_ceil(8)]);
        rng.fill_bytes(&mut bits);
        let mut sums = Zeroizing::new(vec![0u64; n + l]);
        let rows = self.rows.chunks_exact(n).zip(self.products.chunks_exact(l));
        for (i, (row, products)) in rows.enumerate() {
            // All ones for a row of the subset. Every row is added, some as zeros.
            let mask = u32::from(bits[i / 8] >> (i % 8) & 1).wrapping_neg();
            for (sum, &x) in sums.iter_mut().zip(row.iter().chain(products)) {
                *sum += u64::from(x & mask);
            }
        }
        let errors = Zeroizing::new(self.errors.sample(rng, n + l));
        let offset = i64::from(self.params.offset());
        let value = |(i, (&sum, &error)): (usize, (&u64, &i64))| {
            let has_error = i < noisy || i >= n && and_b;
            let error = if has_error { error } else { 0 };
            let offset = if i >= n { offset } else { 0 };
            self.params
                .residues()
                .reduce_signed(sum as i64 + error + offset)
        };
        let mut a: Vec<u32> = sums
            .iter()
            .zip(errors.iter())
            .enumerate()
            .map(value)
            .collect();
        let b = a.split_off(n);
        Clue { a, b }
    }
}
