//! The tail of the noise of packed clues.

use crate::clue::{OFFSET_LEN, norms};
use crate::params::ClueSpec;
use omr_opening::ClueNoise;
use omr_ring::NarrowGaussian;

/// The cumulant generating function of a sum of independent terms and its first two derivatives, at one point.
#[derive(Clone, Copy)]
struct Cumulants([f64; 3]);

impl Cumulants {
    /// Computes the cumulants at `t` of a variable with these values and weights, which are symmetric around 0.
    fn of(values: impl Iterator<Item = (f64, f64)>, t: f64) -> Self {
        let mut sums = [0.0; 3];
        for (x, weight) in values {
            let tilted = weight * (t * x).exp();
            for (sum, power) in sums.iter_mut().zip([1.0, x, x * x]) {
                *sum += tilted * power;
            }
        }
        let mean = sums[1] / sums[0];
        Self([sums[0].ln(), mean, sums[2] / sums[0] - mean * mean])
    }

    /// Computes the cumulants at `t` of a variable that is uniform over one unit around 0.
    fn rounding(t: f64) -> Self {
        // Narrow steps, because the logarithm of sinh(x) / x loses its digits near 0.
        const STEPS: i32 = 200;
        let step = |i: i32| (f64::from(i) + 0.5) / f64::from(STEPS) - 0.5;
        Self::of((0..STEPS).map(|i| (step(i), 1.0 / f64::from(STEPS))), t)
    }

    fn times(self, count: usize) -> Self {
        Self(self.0.map(|x| x * count as f64))
    }

    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
}

/// Returns the values of a symmetric variable with their weights, from the weights of 0, 1, 2, .. units.
fn both(weights: &[f64], unit: f64) -> Vec<(f64, f64)> {
    let values = weights
        .iter()
        .enumerate()
        .map(|(i, &weight)| (i as f64 * unit, weight));
    values
        .clone()
        .chain(values.skip(1).map(|(x, weight)| (-x, weight)))
        .collect()
}

/// Returns the mean squares of the residues that meet errors of the packing key, in those of uniform vectors of `n`
/// residues: for honest clues, and for the longest accepted ones. A bound clue adds a hash to its vector.
pub(crate) fn mean_squares(n: usize) -> [f64; 2] {
    let [_, longest] = norms(n);
    [1.0, longest].map(|norm| norm + OFFSET_LEN as f64 / n as f64)
}

/// Returns log2 of the probability that the noise of one coordinate of a packed clue is larger than `beyond` to either
/// side: the saddle point of the sum of all errors and roundings. The modulus has `units` units, in which `beyond` and
/// `added` are.
pub(crate) fn packed(clue: &ClueSpec, added: &ClueNoise, units: f64, beyond: f64) -> f64 {
    let unit = units / clue.q as f64;
    let of_beta = both(NarrowGaussian::new(clue.sigma).probabilities(), unit);
    let of_sender = both(&clue.sender_errors(), unit / 2.0);
    let secret = clue.secret.most();
    let cumulants = |t: f64| {
        let normal = added.normal * added.normal;
        Cumulants([normal * t * t / 2.0, normal * t, normal])
            .plus(Cumulants::of(of_beta.iter().copied(), t).times(clue.weight))
            .plus(Cumulants::of(of_sender.iter().copied(), t).times(secret + 1))
            .plus(Cumulants::rounding(t).times(added.roundings))
    };
    let (mut low, mut high) = (0.0, 256.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if cumulants(middle).0[1] < beyond {
            low = middle
        } else {
            high = middle
        }
    }
    let Cumulants([k, _, variance]) = cumulants(low);
    let tail = k - low * beyond - (low * (std::f64::consts::TAU * variance).sqrt()).ln();
    1.0 + tail / std::f64::consts::LN_2
}
