//! The noise of PerfOMR1's sums, in closed form.

use crate::clear::Params;
use omr_rlwe::noise::{self, NoiseModel};

/// Predicted noise, log2 of the root mean square: of a coefficient, where nothing else is said.
///
/// Every level of the expansion maps `e` to `(1 +- sigma) e` and adds a key switch's noise. The products of
/// the automorphisms below a level are all different and no one but 1 has a trace, so that
/// each level doubles the mean square of an embedding: after `log2 n'` levels the start has grown by
/// `n'` in a coefficient (the constant one alone), and the key switches of all levels together are as
/// large as if each coefficient of the start had one more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumNoise {
    /// A part of the pertinency vector after the ring switch.
    pub start: f64,
    /// What one key switch of the expansion adds.
    pub key_switch: f64,
    /// A leaf: root of the sum of the squares of its coefficients.
    pub leaf: f64,
    /// A sum of the digest, before it is rounded.
    pub sum: f64,
}

impl SumNoise {
    /// With a pertinency vector from the range check, for `leaves` of them in all batches.
    pub fn new(params: &Params, leaves: usize) -> Self {
        let large = params.spec().rings.noise_model();
        let small = small_model(params);
        let start = noise::add(
            large.floor() - (large.n as f64).log2() / 2.0,
            small.floor() - embed(params),
        );
        Self::from_start(params, start, leaves)
    }

    /// With the noise of a coefficient of the small ciphertexts.
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

    /// Bits of modulus that the sums need: 14 standard deviations, and the sign.
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
