//! Payloads in random linear combinations (OMR1p, OMR2p: sparse; PerfOMR1, PerfOMR2: dense).

use super::odds::{Factorials, sum};
use super::{Bundle, check_range};
use omr_codec::{CodecError, DecodeError, Draws, Field, eliminate};
use omr_protocol::Mismatch;

/// Combinations that a bundle is in, where the code is sparse.
const SPARSE: usize = 5;
/// Dense combinations beyond the bound.
const SPARE: usize = 3;

/// How many combinations there are, and how many of them a bundle is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CombinationShape {
    /// Combinations.
    pub rows: usize,
    /// Those that a bundle is in.
    pub weight: usize,
}

impl CombinationShape {
    /// Each bundle in 5 combinations, of twice as many as the bound and at least 10 more.
    pub fn sparse(bound: usize) -> Self {
        Self {
            rows: bound.saturating_add(bound.max(10)),
            weight: SPARSE,
        }
    }

    /// Each bundle in all combinations, 3 more than the bound.
    pub fn dense(bound: usize) -> Self {
        let rows = bound.saturating_add(SPARE);
        Self { rows, weight: rows }
    }

    /// The published numbers for PerfOMR: 53 for every 50, rounded up.
    pub fn perfomr(bound: usize) -> Self {
        let rows = bound.saturating_mul(53).div_ceil(50);
        Self { rows, weight: rows }
    }

    /// log2 of an upper bound on the probability that `bound` bundles have dependent factors modulo `p`.
    ///
    /// Dependent bundles leave no combination with one of them alone; each combination that they are in is
    /// then an equation for the dependency. Time: cubic in the bound, at the worst.
    pub fn failure_log2(&self, p: u32, bound: usize) -> f64 {
        let per_row = f64::from(p - 1).log2();
        if self.weight == self.rows {
            // (p^bound - 1) / (p - 1) directions; a random factor solves an equation for one of p - 1.
            return bound as f64 * f64::from(p).log2() - (self.rows as f64 + 1.0) * per_row;
        }
        let factorials = Factorials::up_to(self.rows.max(bound));
        let all = factorials.choose(self.rows, self.weight);
        let term = |s: usize, r: usize| {
            let within = s as f64 * (factorials.choose(r, self.weight) - all);
            let free = ((s as f64 - 1.0 - r as f64) * per_row).min(0.0);
            factorials.choose(bound, s) + factorials.choose(self.rows, r) + within + free
        };
        // Every combination touched is touched twice.
        let most = |s: usize| (s * self.weight / 2).min(self.rows);
        let terms = (2..=bound).flat_map(|s| (self.weight..=most(s)).map(move |r| (s, r)));
        sum(terms.map(|(s, r)| term(s, r)))
    }
}

/// A linear code for the payloads of at most `bound` bundles.
///
/// For bundle `j` the detector adds to each combination that `j` is in, modulo p, the symbols of its
/// messages times a factor of `j`, once for every pertinent message in it.
#[derive(Debug, Clone)]
pub struct Combinations {
    key: [u8; 32],
    field: Field,
    shape: CombinationShape,
    bound: usize,
}

impl Combinations {
    /// Builds the code for at most `bound` bundles with pertinent messages.
    ///
    /// Sums decode only with the seed and the numbers that they were made with.
    /// Errors: [`CodecError::Modulus`]; [`CodecError::Bound`] outside `1..=rows`;
    /// [`CodecError::Dimension`] for bundles in no combination, or in more than there are.
    pub fn new(
        p: u32,
        seed: &[u8; 32],
        shape: CombinationShape,
        bound: usize,
    ) -> Result<Self, CodecError> {
        let field = Field::new(p)?;
        if !(1..=shape.rows).contains(&bound) {
            return Err(CodecError::Bound(Mismatch::new(shape.rows, bound)));
        }
        if !(1..=shape.rows).contains(&shape.weight) {
            return Err(CodecError::Dimension(Mismatch::new(
                "bundles in at least one combination, and in at most all",
                shape.weight as u64,
            )));
        }
        Ok(Self {
            key: blake3::derive_key("omr earlier payload combinations v1", seed),
            field,
            shape,
            bound,
        })
    }

    /// The number of combinations.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// The combinations that a bundle is in, with its factors. Range: factors `[1, p)`.
    pub fn factors(&self, bundle: u64) -> Vec<(usize, u32)> {
        let mut draws = Draws::new(&self.key, bundle);
        let CombinationShape { rows, weight } = self.shape;
        let order = u64::from(self.field.modulus() - 1);
        let mut factor = || 1 + draws.below(order) as u32;
        if weight == rows {
            return (0..rows).map(|row| (row, factor())).collect();
        }
        let factors: Vec<u32> = (0..weight).map(|_| factor()).collect();
        // Floyd: uniform among all sets, one draw a place.
        let mut chosen: Vec<usize> = Vec::with_capacity(weight);
        for last in rows - weight..rows {
            let row = draws.below(last as u64 + 1) as usize;
            let taken = chosen.contains(&row);
            chosen.push(if taken { last } else { row });
        }
        chosen.into_iter().zip(factors).collect()
    }

    /// Writes a bundle's payload weights: for each combination its factor times the symbols.
    ///
    /// Shape:  `width` symbols to `rows * width` values, combination by combination.   Range: in and out
    /// `[0, p)`.
    /// Panics: on length mismatch.
    pub fn payload_weights_into(&self, bundle: u64, symbols: &[u32], out: &mut [u32]) {
        let width = symbols.len();
        assert_eq!(out.len(), self.rows() * width, "payload weights");
        out.fill(0);
        for (row, factor) in self.factors(bundle) {
            for (out, &symbol) in out[row * width..].iter_mut().zip(symbols) {
                *out = self.field.mul(factor, symbol);
            }
        }
    }

    /// The symbols of each bundle of `support`, whose payload weights add up to `sums`.
    ///
    /// All combinations beyond the number of bundles are checked. So are the bundles: with one too many or
    /// too few the sums contradict each other, but for one time in p for each such combination.
    /// Shape:  `rows * width` sums.   Range: counts below p.   Time: vartime.
    /// Errors: [`DecodeError::Overflow`] for more bundles than the bound; [`DecodeError::SumCount`];
    /// [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`] for dependent bundles, or one given twice;
    /// [`DecodeError::Inconsistent`] names the first combination that the others contradict.
    pub fn solve(
        &self,
        support: &[Bundle],
        width: usize,
        sums: &[u32],
    ) -> Result<Vec<Vec<u32>>, DecodeError> {
        let (count, bound) = (support.len(), self.bound);
        if count > bound {
            return Err(DecodeError::Overflow { count, bound });
        }
        let expected = self.rows().saturating_mul(width);
        let found = sums.len();
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        check_range(&self.field, sums)?;
        let mut rows = vec![vec![0; count + width]; self.rows()];
        for (row, own) in rows.iter_mut().zip(sums.chunks_exact(width.max(1))) {
            row[count..].copy_from_slice(own);
        }
        for (column, bundle) in support.iter().enumerate() {
            for (row, factor) in self.factors(bundle.index) {
                rows[row][column] = self.field.mul(factor, bundle.count);
            }
        }
        eliminate(&self.field, &mut rows, count)?;
        let symbols = rows.into_iter().take(count);
        Ok(symbols.map(|row| row[count..].to_vec()).collect())
    }
}
