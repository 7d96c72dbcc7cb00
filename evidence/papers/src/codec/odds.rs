//! Bounds on the probability that a code fails, as base-2 logarithms, for tables and tests. Nothing that is
//! sent depends on them.

/// Base-2 logarithms of the factorials up to `n`.
pub(super) struct Factorials(Vec<f64>);

impl Factorials {
    pub(super) fn up_to(n: usize) -> Self {
        let mut sum = 0.0;
        let term = |i: usize| {
            sum += (i.max(1) as f64).log2();
            sum
        };
        Self((0..=n).map(term).collect())
    }

    /// Returns log2 of the number of ways to choose `k` of `n`.
    pub(super) fn choose(&self, n: usize, k: usize) -> f64 {
        if k <= n {
            self.0[n] - self.0[k] - self.0[n - k]
        } else {
            f64::NEG_INFINITY
        }
    }
}

/// Returns log2 of a sum whose terms are given by their log2.
pub(super) fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    terms.map(f64::exp2).sum::<f64>().log2()
}
