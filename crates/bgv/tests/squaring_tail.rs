//! Chains of squarings explode at the rate that `reference/squaring_tail.py` predicts, and do not with the
//! margin that it requires, at an insecure small dimension.
mod common;

use common::{Insecure, Shape};
use omr_ring::max_embedding_squared;
use omr_rlwe::SwitchingKey;
use rustfft::{FftPlanner, num_complex::Complex};
use serde_json::Value;
use std::f64::consts::PI;

const N: usize = 1024;
const WEIGHT: usize = 64;
const BOUND: f64 = 12.0;

/// The logarithm of the probability that one embedding leaves the basin, by log2(q / sigma).
struct Tail {
    squarings: usize,
    bits: Vec<f64>,
    ln: Vec<f64>,
}

impl Tail {
    fn read() -> Self {
        let text = include_str!("../../../testdata/bgv/squaring_tail.json");
        let file: Value = serde_json::from_str(text).unwrap();
        let list = |name: &str| -> Vec<f64> {
            file[name]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap())
                .collect()
        };
        let squarings = file["squarings"].as_u64().unwrap() as usize;
        Self {
            squarings,
            bits: list("bits"),
            ln: list("ln_probability"),
        }
    }

    fn probability(&self, bits: f64) -> f64 {
        let step = self.bits[1] - self.bits[0];
        let place = (bits - self.bits[0]) / step;
        if place < 0.0 {
            return 1.0;
        }
        // Beyond the table's end the probability is below e^-40.
        let Some(high) = self.ln.get(place as usize + 1) else {
            return 0.0;
        };
        let low = self.ln[place as usize];
        (low + (high - low) * place.fract()).exp()
    }
}

fn squared_embeddings(coeffs: &[f64]) -> Vec<f64> {
    let half = coeffs.len() / 2;
    let mut values: Vec<Complex<f64>> = (0..half)
        .map(|k| {
            let twist = Complex::from_polar(1.0, PI * k as f64 / coeffs.len() as f64);
            Complex::new(coeffs[k], coeffs[k + half]) * twist
        })
        .collect();
    FftPlanner::new()
        .plan_fft_inverse(half)
        .process(&mut values);
    values.iter().map(Complex::norm_sqr).collect()
}

/// Returns a scheme with levels of `margin` bits over the root mean square floor, above a base that explosions
/// do not reach within the chain, so that every embedding stays an independent experiment.
fn scheme(margin: f64, squarings: usize, seed: u64) -> (Insecure, f64) {
    let mut shape = Shape {
        n: N,
        weight: WEIGHT,
        bound: BOUND,
        drops: vec![],
        base: (48.0, 4),
        special: 3,
    };
    let level = Insecure::new(
        &Shape {
            special: 0,
            ..shape.clone()
        },
        0,
    )
    .model
    .floor()
        + margin;
    shape.drops = [vec![45.0], vec![level; squarings]].concat();
    (Insecure::new(&shape, seed), level)
}

/// Returns a relinearisation key with digits of two primes below three special ones. Its noise is far below the
/// floor.
fn relin(t: &mut Insecure) -> SwitchingKey {
    t.relin(t.chain.basis(0).len().div_ceil(2))
}

/// Returns for each embedding whether it leaves `|v| < q` at some step, and the largest `|v| / q`.
fn run_chain(t: &mut Insecure, key: &SwitchingKey, q: f64, steps: usize) -> (Vec<bool>, f64) {
    let mut x = t.floor();
    let mut gone = vec![false; N / 2];
    let mut largest = 0f64;
    for step in 0..=steps {
        if step > 0 {
            x = t.ev().mul(&x, &x, key).unwrap();
        }
        for (gone, square) in gone.iter_mut().zip(squared_embeddings(&t.noise(&x))) {
            *gone |= square >= q * q;
            largest = largest.max(square.sqrt() / q);
        }
    }
    (gone, largest)
}

#[test]
fn explosions_occur_at_the_predicted_rate() {
    let tail = Tail::read();
    for (margin, secrets, chains) in [(2.0, 6, 10), (2.5, 6, 20), (2.75, 6, 40)] {
        let (mut expected, mut found) = (0.0, 0);
        for seed in 0..secrets {
            let (mut t, level) = scheme(margin, tail.squarings, seed);
            let key = relin(&mut t);
            let coeffs: Vec<f64> = t.secret.coeffs().iter().map(|&c| c as f64).collect();
            let sigma = |s2: f64| ((1.0 + s2) / (1.0 + WEIGHT as f64)).log2() / 2.0;
            expected += squared_embeddings(&coeffs)
                .iter()
                .map(|&s2| chains as f64 * tail.probability(margin - sigma(s2)))
                .sum::<f64>();
            for _ in 0..chains {
                let (gone, _) = run_chain(&mut t, &key, level.exp2(), tail.squarings);
                found += gone.iter().filter(|&&gone| gone).count();
            }
        }
        let deviations = (found as f64 - expected) / expected.sqrt();
        let trials = secrets as usize * chains * N / 2;
        println!(
            "margin {margin}: {found} of {trials} embeddings exploded, {expected:.1} predicted \
             ({deviations:+.2} standard deviations)"
        );
        // Two-sided 99.99 %, and 5 % for the model: x is only nearly Gaussian.
        assert!((found as f64 - expected).abs() <= 3.9 * expected.sqrt() + 0.05 * expected);
        assert!(expected > 30.0, "enough explosions to tell");
    }
}

/// The rule for 2^-40 per batch at this dimension, with every embedding at the bound:
/// `chances exp(-0.61 (q / sigma)^2)`, where sigma^2 is `bound` times the mean.
#[test]
fn nothing_leaves_the_basin_with_the_margin() {
    let steps = 12;
    let chances = 40f64.exp2() * (N / 2 * (steps + 1)) as f64;
    let margin = (BOUND.log2() + (chances.ln() / 0.61).log2()) / 2.0;
    let mut largest = 0f64;
    for seed in 0..4 {
        let (mut t, level) = scheme(margin, steps, seed);
        let coeffs: Vec<f64> = t.secret.coeffs().iter().map(|&c| c as f64).collect();
        assert!(max_embedding_squared(&coeffs) <= BOUND * WEIGHT as f64);
        let key = relin(&mut t);
        for _ in 0..10 {
            let (gone, met) = run_chain(&mut t, &key, level.exp2(), steps);
            assert!(!gone.contains(&true));
            largest = largest.max(met);
        }
    }
    println!("margin {margin:.2}: the largest |v| / q is {largest:.3}");
    assert!(largest < 0.5, "well inside: {largest}");
}
