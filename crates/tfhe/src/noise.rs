//! The variance of the noise that each operation adds, as a fraction of the modulus, in closed form.
//!
//! After InstantOMR, section 5.4, with these differences: blocks (one decomposition for all keys of a
//! block), the rounding of cut accumulators under a ternary secret (`1 + 2N/3`, not `1 + N/2`), and
//! after the trace the noise of the constant coefficient stays, whatever the other ones were.
//! The tests hold each formula to the measured noise.

use crate::BootstrapShape;
use crate::lwe::round_block;
use omr_ring::{Gadget, Xof};
use omr_rlwe::noise::convolve;
use rand_core::Rng;

/// Mean square of a uniform ternary coefficient.
const TERNARY: f64 = 2.0 / 3.0;

/// Mean square of a digit, and of what the last digit rounds off.
fn cut(gadget: Gadget) -> (f64, f64) {
    let digit = (2.0 * f64::from(gadget.bits)).exp2() / 12.0;
    let rest = (-2.0 * f64::from(gadget.bits * gadget.digits)).exp2() / 12.0;
    (digit, rest)
}

/// A blind rotation in dimension `ring_n` with a secret of `weight` ones: keys' errors of variance
/// `key`, and what accumulators lose when they are cut into the digits of the shape.
pub fn rotation(shape: &BootstrapShape, ring_n: usize, weight: f64, key: f64) -> f64 {
    let (digit, rest) = cut(shape.gadget);
    let n = ring_n as f64;
    // A factor X^a - 1 doubles a variance.
    let keys = shape.keys() as f64 * 2.0 * f64::from(shape.gadget.digits) * n * digit * 2.0 * key;
    keys + weight * 2.0 * (1.0 + n * TERNARY) * rest
}

/// Returns the noise that rounding adds to a rotation in double precision ([`crate::FourierKey`]), in dimension
/// `ring_n`.
///
/// Rounding errors are proportional to the sums before they wrap around; those of masks are multiplied by the ring
/// secret.
pub fn rounding(shape: &BootstrapShape, ring_n: usize) -> f64 {
    let (digit, _) = cut(shape.gadget);
    let n = ring_n as f64;
    // Keys are uniform fractions of a turn, each times a digit and X^a - 1.
    let products = shape.block as f64 * 2.0 * f64::from(shape.gadget.digits) * n;
    let sums = products * 2.0 * digit / 12.0;
    // Digits, key and products go through transforms; combining the keys is like five levels more.
    let levels = 3.0 * (n / 2.0).log2() + 5.0;
    shape.blocks() as f64 * sums * levels * LEVEL * (1.0 + n * TERNARY)
}

/// Mean square error of a level of a transform, relative to its values, as measured; a count of
/// roundings, with mantissas as they fall, gives `0.09 2^-104`.
const LEVEL: f64 = 0.115 / (1u128 << 104) as f64;

/// A key switch of an LWE ciphertext of dimension `from` under a uniform ternary secret.
pub fn lwe_switch(gadget: Gadget, from: usize, key: f64) -> f64 {
    let (digit, rest) = cut(gadget);
    let n = from as f64;
    n * f64::from(gadget.digits) * digit * key + n * TERNARY * rest
}

/// Rounding an LWE ciphertext to the modulus `to`: every coordinate is off by a uniform fraction of
/// a unit. `mean_square`: the sum of the squares of the secret's coordinates.
pub fn modulus_switch(to: u64, mean_square: f64) -> f64 {
    (1.0 + mean_square) / 12.0 / (to as f64).powi(2)
}

/// The constant coefficient after the trace, beside what it had before: each step's key switch is
/// multiplied by the number of the automorphisms of all later steps.
pub fn trace(gadget: Gadget, n: usize, key: f64) -> f64 {
    let steps = n.trailing_zeros() as i32;
    (0..steps).map(|i| 4f64.powi(i)).sum::<f64>() * lwe_switch(gadget, n, key)
}

/// The mean over the other coefficients after the trace. Those whose number has v factors 2 are
/// cleared in step v; what comes then and later spreads over others like them.
pub fn trace_others(gadget: Gadget, n: usize, key: f64) -> f64 {
    let steps = n.trailing_zeros() as i32;
    let of = |v: i32| (2f64.powi(steps - v) - 1.0) / 2f64.powi(v + 1);
    (0..steps).map(of).sum::<f64>() * lwe_switch(gadget, n, key)
}

/// A coefficient of the sum of `count` ciphertexts after the trace, each times a plaintext of `n`
/// uniform coefficients modulo `p`: the noise of the constant coefficient and of the `n - 1` others.
pub fn plain_sum(count: u64, p: u32, n: usize, constant: f64, others: f64) -> f64 {
    let square = f64::from(p).powi(2) / 12.0;
    count as f64 * square * (constant + (n - 1) as f64 * others)
}

/// How a phase is off, in units of a turn, after its coordinates were rounded from a finer modulus: a
/// distribution on a grid, its middle at 0.
#[derive(Clone, Debug)]
pub struct PhaseError(Vec<f64>);

impl PhaseError {
    /// Each of the `weight` ones of a binary secret brings a rounding error, uniform over a unit.
    pub fn uniform(weight: usize) -> Self {
        let unit = vec![1.0 / CELLS as f64; CELLS];
        Self(power(&unit, weight))
    }

    /// [`crate::Lwe::switch_blocks`] under a secret of `blocks` blocks of `block` coordinates, `weight` of
    /// which have a 1. The error of one block is simulated with a fixed seed.
    pub fn blockwise(blocks: usize, block: usize, weight: usize) -> Self {
        let [full, empty] = block_errors(block);
        Self(convolve(
            &power(&full, weight),
            &power(&empty, blocks - weight),
        ))
    }

    /// The variance, in squared units.
    pub fn variance(&self) -> f64 {
        let middle = (self.0.len() - 1) as f64 / 2.0;
        let square = |(i, p): (usize, &f64)| ((i as f64 - middle) / CELLS as f64).powi(2) * p;
        self.0.iter().enumerate().map(square).sum()
    }

    /// log2 of the probability that a phase lies more than `half` units from its message; `sd` units is
    /// the Gaussian noise before rounding. The body's own error makes the phase whole, so that it is
    /// these errors and the noise, rounded.
    pub fn miss_log2(&self, half: u32, sd: f64) -> f64 {
        let sums = convolve(&self.0, &gaussian(sd));
        // The middle of the grid is 0.
        let middle = (sums.len() - 1) as f64 / 2.0;
        let limit = (f64::from(half) + 0.5) * CELLS as f64;
        let outside = |&i: &usize| (i as f64 - middle).abs() > limit;
        // Summed from the outside in: no cancellation.
        let tail: f64 = (0..sums.len()).take_while(outside).map(|i| sums[i]).sum();
        (2.0 * tail).log2()
    }
}

/// Simulated blocks.
const BLOCKS: usize = 1 << 18;

/// The distribution of what a block's rounding is off by, where it has a 1 and where it has none.
fn block_errors(block: usize) -> [Vec<f64>; 2] {
    let mut stream = Xof::stream("omr block rounding v1", &[0; 32], &[]);
    // Errors lie within a unit, their mean too.
    let cells = 4 * CELLS + 1;
    let mut out = [vec![0.0; cells], vec![0.0; cells]];
    let mut exact = vec![0.0; block];
    let mut add = |which: usize, error: f64, share: f64| {
        let cell = (error * CELLS as f64).round() as i64 + 2 * CELLS as i64;
        out[which][cell as usize] += share;
    };
    for _ in 0..BLOCKS {
        exact.fill_with(|| (stream.next_u32() as f64 + 0.5) / 2f64.powi(32));
        let (rounded, expected) = round_block(&exact);
        for (&r, &x) in rounded.iter().zip(&exact) {
            add(0, r as f64 - x - expected, 1.0 / (BLOCKS * block) as f64);
        }
        add(1, -expected, 1.0 / BLOCKS as f64);
    }
    out
}

/// The sum of `count` independent values.
fn power(distribution: &[f64], count: usize) -> Vec<f64> {
    (0..count).fold(vec![1.0], |sums, _| trimmed(convolve(&sums, distribution)))
}

/// Without ends that no figure here depends on.
fn trimmed(sums: Vec<f64>) -> Vec<f64> {
    let reach = sums.iter().position(|&p| p > 1e-30).unwrap_or(0);
    let other = sums.iter().rev().position(|&p| p > 1e-30).unwrap_or(0);
    let cut = reach.min(other);
    sums[cut..sums.len() - cut].to_vec()
}

/// Grid points a unit.
const CELLS: usize = 64;

/// A Gaussian on the grid, out to eight standard deviations.
fn gaussian(sd: f64) -> Vec<f64> {
    let reach = (8.0 * sd * CELLS as f64).ceil() as i64;
    let weight = |i: i64| match reach {
        0 => 1.0,
        _ => (-0.5 * (i as f64 / (sd * CELLS as f64)).powi(2)).exp(),
    };
    let weights: Vec<f64> = (-reach..=reach).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / total).collect()
}
