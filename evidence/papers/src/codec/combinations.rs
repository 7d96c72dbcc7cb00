//! Payloads in random linear combinations (OMR1p, OMR2p: sparse; PerfOMR1, PerfOMR2: dense).

use super::odds::{Factorials, sum};
use super::{Bundle, check_range};
use omr_codec::{CodecError, DecodeError, Draws, Field, eliminate};
use omr_protocol::Mismatch;

/// The number of combinations that contain a bundle in a sparse code.
const SPARSE: usize = 5;
/// The number of dense combinations in excess of the bound.
const SPARE: usize = 3;

/// The number of combinations, and the number that contain any one bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CombinationShape {
    /// The number of combinations.
    pub rows: usize,
    /// The number of combinations that contain a bundle.
    pub weight: usize,
}

impl CombinationShape {
    /// Returns a sparse shape: each bundle is in 5 combinations. There are twice as many combinations as the
    /// bound, and at least 10 more.
    pub fn sparse(bound: usize) -> Self {
        Self {
            rows: bound.saturating_add(bound.max(10)),
            weight: SPARSE,
        }
    }

    /// Returns a dense shape: each bundle is in all combinations, 3 more than the bound.
    pub fn dense(bound: usize) -> Self {
        let rows = bound.saturating_add(SPARE);
        Self { rows, weight: rows }
    }

    /// Returns the published dense shape of PerfOMR: 53 combinations for every 50 of the bound, rounded up.
    pub fn perfomr(bound: usize) -> Self {
        let rows = bound.saturating_mul(53).div_ceil(50);
        Self { rows, weight: rows }
    }

    /// Returns log2 of an upper bound on the probability that `bound` bundles have dependent factors modulo
    /// `p`.
    ///
    /// If bundles are dependent, no combination contains only one of them; each combination that contains any
    /// is then an equation for the dependency. Time: at most cubic in the bound.
    pub fn failure_log2(&self, p: u32, bound: usize) -> f64 {
        let per_row = f64::from(p - 1).log2();
        if self.weight == self.rows {
            // (p^bound - 1) / (p - 1) directions; one of p - 1 random factors solves an equation.
            return bound as f64 * f64::from(p).log2() - (self.rows as f64 + 1.0) * per_row;
        }
        let factorials = Factorials::up_to(self.rows.max(bound));
        let all = factorials.choose(self.rows, self.weight);
        let term = |s: usize, r: usize| {
            let within = s as f64 * (factorials.choose(r, self.weight) - all);
            let free = ((s as f64 - 1.0 - r as f64) * per_row).min(0.0);
            factorials.choose(bound, s) + factorials.choose(self.rows, r) + within + free
        };
        // A combination that contains one of the bundles contains at least two.
        let most = |s: usize| (s * self.weight / 2).min(self.rows);
        let terms = (2..=bound).flat_map(|s| (self.weight..=most(s)).map(move |r| (s, r)));
        sum(terms.map(|(s, r)| term(s, r)))
    }
}

/// A linear code for the payloads of at most `bound` bundles.
///
/// For bundle `j` the detector adds, modulo p, the symbols of its messages times a factor of `j` to each
/// combination that contains `j`, once for every pertinent message of the bundle.
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
    /// Sums decode only with the seed and the numbers with which the detector computed them.
    ///
    /// Errors: [`CodecError::Modulus`]; [`CodecError::Bound`] outside `1..=rows`; [`CodecError::Dimension`] if
    /// bundles are in no combination, or in more than there are.
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

    /// Returns the number of combinations.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Returns the combinations that contain a bundle, with the bundle's factors. Range: factors `[1, p)`.
    pub fn factors(&self, bundle: u64) -> Vec<(usize, u32)> {
        let mut draws = Draws::new(&self.key, bundle);
        let CombinationShape { rows, weight } = self.shape;
        let order = u64::from(self.field.modulus() - 1);
        let mut factor = || 1 + draws.below(order) as u32;
        if weight == rows {
            return (0..rows).map(|row| (row, factor())).collect();
        }
        let factors: Vec<u32> = (0..weight).map(|_| factor()).collect();
        // Floyd's algorithm: uniform among all sets, one draw for each element.
        let mut chosen: Vec<usize> = Vec::with_capacity(weight);
        for last in rows - weight..rows {
            let row = draws.below(last as u64 + 1) as usize;
            let taken = chosen.contains(&row);
            chosen.push(if taken { last } else { row });
        }
        chosen.into_iter().zip(factors).collect()
    }

    /// Writes a bundle's payload weights: for each combination the bundle's factor times the symbols.
    ///
    /// Shape:  `width` symbols to `rows * width` values, combination by combination.   Range: in and out
    /// `[0, p)`.
    ///
    /// Panics: if `out` has another length.
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

    /// Returns the symbols of each bundle of `support`, whose payload weights add up to `sums`.
    ///
    /// All combinations in excess of the number of bundles are checked, and with them the bundles: if there is
    /// one too many or too few, each of these combinations contradicts the others with probability 1 - 1/p.
    ///
    /// Shape:  `rows * width` sums.   Range: counts below p.   Time: vartime.
    ///
    /// Errors: [`DecodeError::Overflow`] for more bundles than the bound; [`DecodeError::SumCount`];
    /// [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`] for dependent or repeated bundles;
    /// [`DecodeError::Inconsistent`] with the first combination that contradicts the others.
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
