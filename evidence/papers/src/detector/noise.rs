//! The noise of PerfOMR1's sums, in closed form.

use crate::clear::Params;
use omr_rlwe::noise::{self, NoiseModel};

/// Predicted noise as log2 of the root mean square, of a coefficient unless stated otherwise.
///
/// Every level of the expansion maps `e` to `(1 +- sigma) e` and adds a key switch's noise. The products of the
/// automorphisms below a level are all different, and only 1 has a trace, so that each level doubles the mean
/// square of an embedding. After `log2 n'` levels the start has grown by `n'` in a coefficient (the constant
/// one), and the key switches of all levels together are as large as if each coefficient of the start had one
/// more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumNoise {
    /// The noise of a part of the pertinency vector after the ring switch.
    pub start: f64,
    /// The noise that one key switch of the expansion adds.
    pub key_switch: f64,
    /// The noise of a leaf: the root of the sum of the squares of its coefficients.
    pub leaf: f64,
    /// The noise of a sum of the digest, before it is rounded.
    pub sum: f64,
}

impl SumNoise {
    /// Predicts the noise for `leaves` leaves in all batches, with a pertinency vector from the range check.
    pub fn new(params: &Params, leaves: usize) -> Self {
        let large = params.spec().rings.noise_model();
        let small = small_model(params);
        let start = noise::add(
            large.floor() - (large.n as f64).log2() / 2.0,
            small.floor() - embed(params),
        );
        Self::from_start(params, start, leaves)
    }

    /// Predicts the noise from that of a coefficient of the small ciphertexts.
    pub fn from_start(params: &Params, start: f64, leaves: usize) -> Self {
        let small = small_model(params);
        let shape = &params.small_shape;
        let digit = params.small.log2(&shape.digits()[0]);
        let special = params.small.log2(shape.special());
        let dnum = shape.digits().len();
        let key_switch = small.key_switch(dnum, digit, special) - embed(params);
        let leaf = noise::add(start, key_switch) + (params.small.n() as f64).log2();
        // Rows are random modulo p, and a coefficient of the product is a sum over all of the leaf's.
        let product = leaf + (small.p as f64).log2() - 12f64.log2() / 2.0;
        Self {
            start,
            key_switch,
            leaf,
            sum: noise::sum(product, leaves),
        }
    }

    /// Returns the bits of modulus that the sums need: 14 standard deviations, and the sign.
    pub fn needed_bits(&self) -> f64 {
        self.sum + 14f64.log2() + 1.0
    }
}

fn embed(params: &Params) -> f64 {
    (params.small.n() as f64).log2() / 2.0
}

fn small_model(params: &Params) -> NoiseModel {
    NoiseModel {
        n: params.small.n(),
        p: params.p().value(),
        weight: params.small.n() as f64 * 2.0 / 3.0,
    }
}
