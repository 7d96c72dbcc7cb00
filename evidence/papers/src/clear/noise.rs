//! How a clue's noise is distributed: exact convolutions, but for what is rarer than 2^-110.

use super::{LweKind, LweSpec};
use omr_ring::NarrowGaussian;
use omr_rlwe::noise::convolve;

/// What is dropped at either end of a distribution.
const RARE: f64 = 7.7e-34; // 2^-110

/// A Gaussian error that is there with this probability, else 0. Its middle is 0, as that of all here.
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

/// Drops the rare ends, as much on both sides.
fn trimmed(mut noise: Vec<f64>) -> Vec<f64> {
    let rare = noise
        .iter()
        .take(noise.len() / 2)
        .take_while(|&&p| p < RARE);
    let cut = rare.count();
    noise.truncate(noise.len() - cut);
    noise.split_off(cut)
}

/// The sum of `count` independent values, by squaring.
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

/// The distribution of one coordinate, over keys and clues.
pub(super) fn noise(spec: &LweSpec) -> Vec<f64> {
    let sigma = spec.sigma;
    let subset = |rows| sum(&error(sigma, 0.5), rows);
    match spec.kind {
        LweKind::Subset { rows } => subset(rows),
        LweKind::Lwemongrass { rows, large } => {
            // Errors of a meet the secret's ternary part; b has one of its own.
            let of_a = sum(&error(sigma, 2.0 / 3.0), spec.n - large);
            convolve(&convolve(&subset(rows), &of_a), &error(sigma, 1.0))
        }
        LweKind::Integers { weight } => sum(&error(sigma, 1.0), 2 * weight + 1),
    }
}

/// log2 of the probability that one of several coordinates is outside `[-range, range]`: a union bound.
pub(super) fn miss_log2(noise: &[f64], range: u32, coordinates: usize) -> f64 {
    let beyond = (noise.len() / 2).saturating_sub(range as usize);
    // Summed from the outside in: no cancellation near 2^-30.
    let tail: f64 = noise[..beyond].iter().map(|p| 2.0 * p).sum();
    (coordinates as f64 * tail).log2()
}

/// log2 of the probability that uniform coordinates modulo `q` are all in `[-range, range]`.
pub(super) fn false_positive_log2(q: f64, range: u32, coordinates: usize) -> f64 {
    coordinates as f64 * (f64::from(2 * range + 1) / q).log2()
}
