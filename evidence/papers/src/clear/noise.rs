//! Distributions of a clue's noise, by exact convolutions that drop events rarer than 2^-110.

use super::{LweKind, LweSpec};
use omr_ring::NarrowGaussian;
use omr_rlwe::noise::convolve;

/// The probability that is dropped at either end of a distribution.
const RARE: f64 = 7.7e-34; // 2^-110

/// Returns the distribution of an error that is Gaussian with probability `there`, else 0. The middle entry is
/// the probability of 0, in this distribution and in all others of this file.
fn error(sigma: f64, there: f64) -> Vec<f64> {
    let gaussian = NarrowGaussian::new(sigma);
    let half = gaussian.probabilities();
    let mut all: Vec<f64> = half
        .iter()
        .skip(1)
        .rev()
        .chain(half)
        .map(|p| p * there)
        .collect();
    all[half.len() - 1] += 1.0 - there;
    all
}

/// Drops the rare ends, equally many entries on both sides.
fn trimmed(mut noise: Vec<f64>) -> Vec<f64> {
    let rare = noise
        .iter()
        .take(noise.len() / 2)
        .take_while(|&&p| p < RARE);
    let cut = rare.count();
    noise.truncate(noise.len() - cut);
    noise.split_off(cut)
}

/// Returns the distribution of the sum of `count` independent values, by squaring.
fn sum(one: &[f64], mut count: usize) -> Vec<f64> {
    let (mut power, mut sum) = (one.to_vec(), vec![1.0]);
    while count > 0 {
        if count & 1 == 1 {
            sum = trimmed(convolve(&sum, &power));
        }
        count >>= 1;
        if count > 0 {
            power = trimmed(convolve(&power, &power));
        }
    }
    sum
}

/// Returns the distribution of one coordinate's noise, over keys and clues.
pub(super) fn noise(spec: &LweSpec) -> Vec<f64> {
    let sigma = spec.sigma;
    let subset = |rows| sum(&error(sigma, 0.5), rows);
    match spec.kind {
        LweKind::Subset { rows } => subset(rows),
        LweKind::Lwemongrass { rows, large } => {
            // Errors of a are multiplied by the secret's ternary part; b has an error of its own.
            let of_a = sum(&error(sigma, 2.0 / 3.0), spec.n - large);
            convolve(&convolve(&subset(rows), &of_a), &error(sigma, 1.0))
        }
        LweKind::Integers { weight } => sum(&error(sigma, 1.0), 2 * weight + 1),
    }
}

/// Returns log2 of the probability that at least one of several coordinates is outside `[-range, range]`, by a
/// union bound.
pub(super) fn miss_log2(noise: &[f64], range: u32, coordinates: usize) -> f64 {
    let beyond = (noise.len() / 2).saturating_sub(range as usize);
    // The sum runs from the outside in, without cancellation near 2^-30.
    let tail: f64 = noise[..beyond].iter().map(|p| 2.0 * p).sum();
    (coordinates as f64 * tail).log2()
}

/// Returns log2 of the probability that all of several uniform coordinates modulo `q` are in `[-range, range]`.
pub(super) fn false_positive_log2(q: f64, range: u32, coordinates: usize) -> f64 {
    coordinates as f64 * (f64::from(2 * range + 1) / q).log2()
}
