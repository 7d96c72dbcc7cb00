//! The sets that a search derives, and their failure rates.

use omr_protocol::params::{ClueSpec, SecretSpec, SetSpec};
use omr_protocol::sophomr::ParamsSpec;

/// Least accepted rates, log2: a pertinent message missed, an impertinent one found.
const MISS_LOG2: f64 = -30.0;
const FALSE_POSITIVE_LOG2: f64 = -26.0;

/// Security of the large ring's keys at 1736.3 bits of log2 PQ, the base's largest, before secrets
/// are rejected (`reference/security.py`); smaller keys have more.
const LARGE_KEY_BITS: f64 = 128.27;

/// Clue secrets with an estimate: weight, parameter of the errors.
const CLUES: [(usize, f64); 3] = [(140, 0.4495), (140, 0.4775), (120, 0.46)];

/// The sets to be compared: every combination.
#[derive(Clone, Debug)]
pub struct Grid {
    baby: Vec<usize>,
    block: Vec<usize>,
    rotation_digits: Vec<usize>,
    product_digits: Vec<usize>,
    embedding_bound: Vec<f64>,
    small_n: Vec<usize>,
    clues: Vec<(usize, f64)>,
}

/// What sets are derived from: that with the affine transform, whose stages the model knows.
///
/// Panics: never, as published sets stay.
pub fn base() -> ParamsSpec {
    let set = SetSpec::named("sophomr-v3").expect("a published set");
    set.sophomr.expect("a set with SophOMR")
}

impl Grid {
    /// All that the code supports and estimates cover.
    pub fn full() -> Self {
        Self {
            baby: vec![16, 32, 64, 128, 256],
            block: vec![4, 8, 16],
            rotation_digits: vec![2, 3, 4, 5],
            product_digits: vec![1, 2, 3],
            embedding_bound: vec![10.5, 12.0, 14.0],
            small_n: vec![1 << 12, 1 << 13, 1 << 14],
            clues: CLUES.to_vec(),
        }
    }

    /// A few sets around the base.
    pub fn quick() -> Self {
        Self {
            baby: vec![32, 64],
            block: vec![8],
            rotation_digits: vec![2, 3],
            product_digits: vec![2],
            embedding_bound: vec![9.0, 12.0],
            small_n: vec![1 << 13],
            clues: CLUES[..1].to_vec(),
        }
    }

    /// Dimensions of small rings, that of `base` among them.
    pub(super) fn small_dimensions(&self, base: &ParamsSpec) -> Vec<usize> {
        let mut dimensions = self.small_n.clone();
        dimensions.push(base.small_n);
        dimensions.sort_unstable();
        dimensions.dedup();
        dimensions
    }

    /// Every combination that keeps the error rates, each with the bits of its keys, to a tenth.
    pub(super) fn specs(&self, base: &ParamsSpec) -> Vec<ParamsSpec> {
        let mut specs: Vec<ParamsSpec> = Vec::new();
        for &clue in &self.clues {
            specs.extend(with_clue(base, clue));
        }
        let specs = vary(specs, &self.baby, |spec, x| spec.baby = x);
        let specs = vary(specs, &self.block, |spec, x| spec.block = x);
        let specs = vary(specs, &self.rotation_digits, |s, x| s.rotation_digits = x);
        let specs = vary(specs, &self.product_digits, |s, x| s.product_digits = x);
        let specs = vary(specs, &self.small_n, |spec, x| spec.small_n = x);
        vary(specs, &self.embedding_bound, |spec, x| {
            spec.embedding_bound = x;
            let keys = LARGE_KEY_BITS + embedding_pass_log2(spec.n, x);
            spec.key_bits = (keys * 10.0).round() / 10.0;
        })
    }
}

fn vary<T: Copy>(
    specs: Vec<ParamsSpec>,
    values: &[T],
    set: impl Fn(&mut ParamsSpec, T),
) -> Vec<ParamsSpec> {
    let varied = |spec: &ParamsSpec| {
        let with = |&value: &T| {
            let mut spec = spec.clone();
            set(&mut spec, value);
            spec
        };
        values.iter().map(with).collect::<Vec<_>>()
    };
    specs.iter().flat_map(varied).collect()
}

/// The base with another clue secret and the least window that misses rarely enough; `None` where
/// too many impertinent messages pass it.
fn with_clue(base: &ParamsSpec, (weight, sigma): (usize, f64)) -> Option<ParamsSpec> {
    let with_range = |range| ParamsSpec {
        clue: ClueSpec {
            secret: SecretSpec::Ternary { weight },
            weight,
            sigma,
            ..base.clue.clone()
        },
        range,
        ..base.clone()
    };
    let spec = (1..=2 * weight as u64)
        .map(with_range)
        .find(|spec| spec.miss_log2() <= MISS_LOG2)?;
    (spec.false_positive_log2() <= FALSE_POSITIVE_LOG2).then_some(spec)
}

/// log2 of the probability that a random secret in dimension `n` has no embedding over `bound`
/// times the mean: `n / 2` squared absolute values, each close to exponential. What it takes from
/// the security of keys.
pub fn embedding_pass_log2(n: usize, bound: f64) -> f64 {
    (n / 2) as f64 * (-(-bound).exp()).ln_1p() / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_bits_are_those_of_the_published_set() {
        let base = base();
        let same = with_clue(&base, CLUES[0]).expect("it keeps the rates");
        assert_eq!(same.clue, base.clue);
        let keys = LARGE_KEY_BITS + embedding_pass_log2(base.n, base.embedding_bound);
        assert!((keys - base.key_bits).abs() < 0.05, "{keys}");
        // A bound of 9 takes nearly 6 bits.
        assert!(LARGE_KEY_BITS + embedding_pass_log2(base.n, 9.0) < 124.0);
    }

    #[test]
    fn grids_hold_the_base() {
        let base = base();
        for grid in [Grid::full(), Grid::quick()] {
            assert!(grid.specs(&base).contains(&base));
        }
    }
}
