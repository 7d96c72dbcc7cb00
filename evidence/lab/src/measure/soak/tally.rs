//! Sums over the digests of a soak test.

use super::SoakLine;
use omr_protocol::sophomr::{BODY_BITS, Params};
use serde::Serialize;

/// The number of bins of the histogram, each 0.05 wide.
const BINS: usize = 10;

/// The distances of digests' coefficients from symbols; 0.5 is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rounding {
    /// The largest distance.
    pub worst_rounding: f64,
    /// The root mean square.
    pub rms_rounding: f64,
    /// The number of coefficients.
    pub coefficients: u64,
    /// The number of coefficients in each bin: from 0 to 0.05, from 0.05 to 0.1, ..., from 0.45 to 0.5.
    pub histogram: [u64; BINS],
}

impl Rounding {
    pub(super) fn new(distances: &[f64]) -> Self {
        let mut out = Self {
            coefficients: distances.len() as u64,
            ..Self::default()
        };
        let mut squares = 0.0;
        for distance in distances.iter().map(|d| d.abs()) {
            squares += distance * distance;
            out.worst_rounding = out.worst_rounding.max(distance);
            let bin = (distance * 2.0 * BINS as f64) as usize;
            out.histogram[bin.min(BINS - 1)] += 1;
        }
        out.rms_rounding = (squares / distances.len().max(1) as f64).sqrt();
        out
    }

    pub(super) fn add(&mut self, other: &Self) {
        let squares = |r: &Self| r.rms_rounding.powi(2) * r.coefficients as f64;
        let all = self.coefficients + other.coefficients;
        self.rms_rounding = ((squares(self) + squares(other)) / all.max(1) as f64).sqrt();
        self.coefficients = all;
        self.worst_rounding = self.worst_rounding.max(other.worst_rounding);
        let bins = self.histogram.iter_mut().zip(other.histogram);
        bins.for_each(|(sum, count)| *sum += count);
    }
}

/// Sums over the digests of a soak test.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SoakTally {
    /// The number of digests.
    pub digests: u64,
    /// The number of digests with exactly the messages whose clues are in the window.
    pub exact: u64,
    /// The number of full batches.
    pub batches: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of pertinent messages posted.
    pub pertinent: usize,
    /// The number of these that were found.
    pub found: usize,
    /// The number that were not found although their clue is in the window.
    pub missed: usize,
    /// The number that were found although their clue is outside the window.
    pub false_positives: usize,
    /// The number of strangers' clues in the window by chance.
    pub accidental: usize,
    /// The number of pertinent clues that their own noise moved outside the window.
    pub outside: usize,
    /// The number of wrong payloads.
    pub inexact: usize,
    /// The number of digests that did not decode.
    pub failed: usize,
    /// The distances of the coefficients from symbols.
    #[serde(flatten)]
    pub rounding: Rounding,
    /// log2 of the probability that some coefficient of a digest is wrong, from the root mean square: see
    /// [`failure_log2`].
    pub digest_failure_log2: Option<f64>,
    /// log2 of the probability that some coefficient of a digest is wrong, for each batch.
    pub batch_failure_log2: Option<f64>,
    /// Seconds of all digests.
    pub digest_s: f64,
}

impl SoakTally {
    /// Adds a digest made with `params`.
    pub fn add(&mut self, params: &Params, line: &SoakLine) {
        let verdict = &line.verdict;
        self.digests += 1;
        self.exact += u64::from(line.is_exact());
        self.batches += line.batches;
        self.messages += line.messages;
        self.pertinent += line.pertinent;
        self.found += verdict.found;
        self.missed += verdict.missed;
        self.false_positives += verdict.false_positives;
        self.accidental += verdict.accidental;
        self.outside += verdict.outside;
        self.inexact += verdict.inexact;
        self.failed += usize::from(verdict.error.is_some());
        self.digest_s += line.digest_s;
        self.rounding.add(&line.rounding);
        let step = params.p().value() as f64 / f64::from(BODY_BITS).exp2();
        let one = failure_log2(self.rounding.rms_rounding, step);
        let coefficients = self.rounding.coefficients as f64;
        self.digest_failure_log2 = one.map(|one| one + (coefficients / self.digests as f64).log2());
        self.batch_failure_log2 = one.map(|one| one + (coefficients / self.batches as f64).log2());
    }
}

/// Returns log2 of the probability that a coefficient is farther than 0.5 from its symbol, if this distance has the
/// given root mean square. The distance is the sum of a uniform error of width `step` (the rounding of bodies) and an
/// independent Gaussian error, which accounts for the rest. `None` if the rounding alone accounts for all.
pub fn failure_log2(rms: f64, step: f64) -> Option<f64> {
    beyond_log2(rms, step, 0.5)
}

/// Returns [`failure_log2`] for another limit than 0.5.
pub(super) fn beyond_log2(rms: f64, step: f64, limit: f64) -> Option<f64> {
    const PIECES: usize = 512;
    let variance = rms * rms - step * step / 12.0;
    if variance <= 0.0 {
        return None;
    }
    let sd = variance.sqrt();
    let at = |i: usize| {
        let uniform = ((i as f64 + 0.5) / PIECES as f64 - 0.5) * step;
        two_sided_tail_log2((limit - uniform) / sd)
    };
    let terms: Vec<f64> = (0..PIECES).map(at).collect();
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|t| (t - most).exp2()).sum();
    Some(most + (sum / PIECES as f64).log2())
}

/// Returns log2 of the probability that a standard Gaussian is farther than `x > 0` from 0, within 3 % for x over 3
/// (Abramowitz and Stegun 7.1.13, the upper bound).
fn two_sided_tail_log2(x: f64) -> f64 {
    let mills = 2.0 / (x + (x * x + 8.0 / std::f64::consts::PI).sqrt());
    let density = -x * x / 2.0 - (2.0 * std::f64::consts::PI).ln() / 2.0;
    (density + (2.0 * mills).ln()) / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaussian_tails() {
        // P(|x| > 3) = 0.0026998, P(|x| > 6) = 1.9732e-9.
        for (x, probability) in [(3.0, 0.002_699_8_f64), (6.0, 1.9732e-9)] {
            assert!((two_sided_tail_log2(x) - probability.log2()).abs() < 0.04);
        }
        // Without a uniform part, 0.5 is five deviations.
        let pure = failure_log2(0.1, 0.0).expect("a Gaussian part");
        assert!((pure - 5.733e-7_f64.log2()).abs() < 0.02, "{pure}");
        assert!(failure_log2(0.1, 0.4).is_none());
        // A uniform part of width 1 and a deviation of 0.2 exceed 1 with the chance 0.4 E(max(0, x - 2.5)) = 0.000802.
        let rms = (0.04 + 1.0 / 12.0_f64).sqrt();
        let both = beyond_log2(rms, 1.0, 1.0).expect("a Gaussian part");
        assert!((both - 8.02e-4_f64.log2()).abs() < 0.05, "{both}");
    }

    #[test]
    fn roundings_add_up() {
        let (a, b) = ([0.1, -0.2, 0.0], [0.5, 0.3]);
        let mut sum = Rounding::default();
        for part in [&a[..], &b] {
            sum.add(&Rounding::new(part));
        }
        let all = Rounding::new(&[&a[..], &b].concat());
        assert_eq!(sum.histogram, all.histogram);
        assert_eq!((sum.coefficients, sum.worst_rounding), (5, 0.5));
        assert!((sum.rms_rounding - all.rms_rounding).abs() < 1e-12);
    }
}
