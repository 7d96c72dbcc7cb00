//! The narrow discrete Gaussian distribution of clue errors, sampled in constant time.

mod wide;

use rand_core::CryptoRng;
use wide::WIDE;

/// Parameters of the published sets' errors and their thresholds: `2^63` times the probability of magnitudes 0,
/// up to 1, 2 and so on (`reference/narrow.py`). Those of 0.5 were computed in double precision and are off by up to 2^-53.
const PUBLISHED: [(f64, &[u64]); 5] = [
    (
        0.5,
        &[
            7_254_834_264_339_791_872,
            9_218_504_364_338_009_088,
            9_223_371_815_872_633_856,
            9_223_372_036_854_591_488,
        ],
    ),
    (
        0.4775,
        &[
            7_538_572_897_413_798_467,
            9_221_034_113_024_803_944,
            9_223_371_996_401_604_628,
            9_223_372_036_854_767_091,
        ],
    ),
    (
        0.4495,
        &[
            7_893_421_687_807_023_637,
            9_222_578_766_598_251_632,
            9_223_372_033_498_756_984,
            9_223_372_036_854_775_707,
        ],
    ),
    (
        0.52,
        &[
            7_008_744_964_358_855_372,
            9_214_772_503_505_471_321,
            9_223_371_206_741_453_652,
            9_223_372_036_852_790_988,
            9_223_372_036_854_775_807,
        ],
    ),
    (28.0, &WIDE),
];

/// The discrete Gaussian `exp(-x^2 / (2 s^2))` for small `s`, by a table of cumulative
/// probabilities that is read whole each time. Time: constant.
#[derive(Clone, Debug)]
pub struct NarrowGaussian {
    thresholds: Vec<u64>,
    probabilities: Vec<f64>,
}

impl NarrowGaussian {
    /// The distribution with parameter `s` (about the standard deviation; for 0.5 the true one is
    /// 0.4637), cut where the weight falls below 2^-70 of the whole. Draws are the same on every platform for the
    /// [`NarrowGaussian::published`] parameters alone: others go by the platform's `exp`.
    pub fn new(s: f64) -> Self {
        let weight = |x: usize| (-((x * x) as f64) / (2.0 * s * s)).exp();
        let tail = (0..)
            .find(|&x| weight(x) < 2f64.powi(-70))
            .expect("weights fall");
        let total = weight(0) + 2.0 * (1..tail).map(weight).sum::<f64>();
        let probabilities: Vec<f64> = (0..tail).map(|x| weight(x) / total).collect();
        let thresholds = match Self::published(s) {
            Some(thresholds) => thresholds.to_vec(),
            None => thresholds(&probabilities),
        };
        Self {
            thresholds,
            probabilities,
        }
    }

    /// Returns the thresholds that docs/wire.md defines for parameter `s`: the magnitude is the number of thresholds that
    /// 63 random bits reach. Two senders that make a clue of one seed must draw the same errors, and so must two machines
    /// that make an address of one person's words.
    pub fn published(s: f64) -> Option<&'static [u64]> {
        let found = PUBLISHED.iter().find(|(parameter, _)| *parameter == s);
        found.map(|(_, thresholds)| *thresholds)
    }

    /// `P(x)` for x = 0, 1, 2, ... (the same for -x).
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The standard deviation.
    pub fn sd(&self) -> f64 {
        let squares = self.probabilities.iter().enumerate();
        let half: f64 = squares.map(|(x, p)| (x * x) as f64 * p).sum();
        (2.0 * half).sqrt()
    }

    /// `n` coefficients.
    pub fn sample(&self, rng: &mut impl CryptoRng, n: usize) -> Vec<i64> {
        (0..n)
            .map(|_| {
                let word = rng.next_u64();
                let (uniform, sign) = (word >> 1, (word & 1) as i64);
                let magnitude: i64 = self
                    .thresholds
                    .iter()
                    .map(|&t| i64::from(uniform >= t))
                    .sum();
                magnitude * (1 - 2 * sign)
            })
            .collect()
    }
}

/// Thresholds computed from probabilities in double precision, for parameters that are not
/// published.
fn thresholds(probabilities: &[f64]) -> Vec<u64> {
    let (_, all_but_last) = probabilities.split_last().expect("a distribution");
    let mut below = 0.0;
    let accumulate = |(x, p): (usize, &f64)| {
        below += p * if x == 0 { 1.0 } else { 2.0 };
        (below * 63f64.exp2()) as u64
    };
    all_but_last.iter().enumerate().map(accumulate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Exact to the integer, from `reference/narrow.py`.
    fn exact() -> Vec<(f64, Vec<u64>)> {
        let text = include_str!("narrow/exact.json");
        let cases: Vec<Value> = serde_json::from_str(text).expect("a list of cases");
        let case = |case: &Value| {
            let thresholds = case["thresholds"].as_array().expect("a list");
            let parameter = case["parameter"].as_str().expect("a number as text");
            let thresholds = thresholds.iter().map(|x| x.as_u64().expect("63 bits"));
            (parameter.parse().expect("a number"), thresholds.collect())
        };
        cases.iter().map(case).collect()
    }

    #[test]
    fn published_thresholds_are_those_of_exact_arithmetic() {
        let exact = exact();
        assert_eq!(exact.len(), PUBLISHED.len());
        for (parameter, exact) in exact {
            let table = NarrowGaussian::published(parameter).expect("a published parameter");
            let off = if parameter == 0.5 { 1 << 10 } else { 0 };
            assert!(
                table.iter().zip(&exact).all(|(x, y)| x.abs_diff(*y) <= off),
                "{parameter}: {table:?}, {exact:?}"
            );
            // Where nothing is published double precision does, to 2^-51.
            let gaussian = NarrowGaussian::new(parameter);
            assert_eq!(gaussian.thresholds, table);
            let computed = thresholds(gaussian.probabilities());
            assert_eq!(computed.len(), exact.len());
            assert!(
                computed
                    .iter()
                    .zip(&exact)
                    .all(|(x, y)| x.abs_diff(*y) <= 1 << 12)
            );
        }
        assert_eq!(NarrowGaussian::published(0.62), None);
    }
}
