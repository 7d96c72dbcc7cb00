//! Genuine clues lie in the window with the noise that the parameters promise; others do not.

use crate::world::{rng, stranger, tiny};
use chacha20::ChaCha20Rng;
use omr_client::Sender;
use omr_client::sophomr::keygen;
use omr_protocol::clue::SEAL_PUBLIC_BYTES;
use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, ClueError, ClueKey, ClueKind};
use omr_ring::{NarrowGaussian, Poly};
use omr_rlwe::Secret;

/// `b - a s` in the coordinates of b, centred.
pub(crate) fn noise(params: &Params, secret: &Secret, clue: &Clue) -> Vec<i64> {
    let product = times_secret(params, secret, clue.a.iter().map(|&x| x.into()).collect());
    let p = params.p();
    let difference = |(&b, &product): (&u32, &u64)| p.to_centered(p.sub(b.into(), product));
    clue.b.iter().zip(&product).map(difference).collect()
}

fn times_secret(params: &Params, secret: &Secret, a: Vec<u64>) -> Vec<u64> {
    let (ring, basis) = (&params.clue.ring, params.clue.ring.everything());
    let mut a = ring.forward(Poly::from_rows(ring.n(), &basis, a));
    ring.mul_assign(&mut a, &secret.poly(ring, &basis));
    ring.inverse(a).row(0).to_vec()
}

/// Variance of one error: twice the sum of `x^2 P(x)`.
fn error_variance(params: &Params) -> f64 {
    let gaussian = NarrowGaussian::new(params.spec().clue.sigma);
    let terms = gaussian.probabilities().iter().enumerate();
    terms
        .map(|(x, probability)| 2.0 * (x * x) as f64 * probability)
        .sum()
}

/// Predicted variance under one key, whose error e stays the same from clue to clue: `x e` picks
/// `weight` of its coefficients; `e1 s` and `e2` are fresh.
fn predicted(params: &Params, secret: &Secret, key: &ClueKey) -> f64 {
    let p = params.p();
    let product = times_secret(params, secret, key.alpha(&params.clue));
    let error = |(&beta, &product): (&u32, &u64)| p.to_centered(p.sub(beta.into(), product));
    let squares: Vec<f64> = key
        .beta
        .iter()
        .zip(&product)
        .map(|pair| (error(pair) as f64).powi(2))
        .collect();
    assert!(
        squares.iter().all(|&square| square <= 36.0),
        "beta is alpha s and small errors"
    );
    let weight = params.spec().clue.weight as f64;
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    weight * mean + (weight + 1.0) * error_variance(params)
}

/// Measures `count` clues of one key: the sum of squares; none misses the window.
fn measure(
    params: &Params,
    secret: &Secret,
    key: &ClueKey,
    count: usize,
    rng: &mut ChaCha20Rng,
) -> f64 {
    let sender = Sender::new(&params.clue, key);
    let range = params.spec().range;
    let mut sum = 0.0;
    for _ in 0..count {
        let clue = sender.gen_clue(rng);
        for d in noise(params, secret, &clue) {
            assert!(d.unsigned_abs() <= range, "a genuine clue missed by {d}");
            sum += (d * d) as f64;
        }
    }
    sum
}

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let ratio = found / expected;
    assert!(
        (ratio - 1.0).abs() < tolerance,
        "variance {found}, predicted {expected}"
    );
}

#[test]
fn noise_at_tiny_parameters() {
    const KEYS: usize = 40;
    const CLUES: usize = 250;
    let params = tiny();
    let mut rng = rng(30);
    let (mut squares, mut prediction) = (0.0, 0.0);
    for _ in 0..KEYS {
        let keys = keygen(params, ClueKind::Plain, &mut rng);
        let secret = keys.secret.clue_secret();
        squares += measure(params, secret, &keys.clue, CLUES, &mut rng);
        prediction += predicted(params, secret, &keys.clue) / KEYS as f64;
    }
    let found = squares / (KEYS * CLUES * params.spec().clue.coordinates) as f64;
    assert_close(found, prediction, 0.03);
    let weight = params.spec().clue.weight as f64;
    assert_close(found, (2.0 * weight + 1.0) * error_variance(params), 0.05);
}

/// An address made here from its definition, without the large keys around it.
fn address(params: &Params, rng: &mut ChaCha20Rng) -> (Secret, ClueKey) {
    let spec = &params.spec().clue;
    let secret = Secret::fixed_weight(rng, spec.n, spec.weight, f64::INFINITY);
    let seal = [0; SEAL_PUBLIC_BYTES];
    let mut key = ClueKey {
        kind: ClueKind::Plain,
        id: [0; 16],
        seed: [5; 32],
        beta: Vec::new(),
        seal,
    };
    let product = times_secret(params, &secret, key.alpha(&params.clue));
    let errors = NarrowGaussian::new(spec.sigma).sample(rng, spec.n);
    let p = params.p();
    key.beta = product
        .iter()
        .zip(errors)
        .map(|(&x, e)| p.add(x, p.from_i64(e)) as u32)
        .collect();
    (secret, key)
}

#[test]
fn noise_and_norms_at_full_parameters() {
    const CLUES: usize = 1000;
    let params = Params::named("sophomr-v2").unwrap();
    let mut rng = rng(31);
    let (secret, key) = address(&params, &mut rng);
    let squares = measure(&params, &secret, &key, CLUES, &mut rng);
    let found = squares / (CLUES * params.spec().clue.coordinates) as f64;
    // 2,000 samples: the deviation of their variance is 3 %.
    assert_close(found, predicted(&params, &secret, &key), 0.1);
    let sender = Sender::new(&params.clue, &key);
    for _ in 0..CLUES {
        sender.gen_clue(&mut rng).check_norm(&params.clue).unwrap();
    }
    let n = params.spec().clue.n;
    let p = params.p().value() as u32;
    let ternary = (0..n).map(|i| [0, 1, p - 1][i % 3]).collect();
    let small = (0..n as u32).map(|i| i * 613 % (p / 3)).collect();
    for a in [vec![0; n], vec![1; n], vec![p - 1; n], ternary, small] {
        let clue = Clue { a, b: vec![0; 2] };
        let error = clue.check_norm(&params.clue).unwrap_err();
        assert!(
            matches!(error, ClueError::Norm { norm, least, .. } if norm < least),
            "{error}"
        );
    }
}

#[test]
fn impertinent_clues_do_not_pass() {
    let params = tiny();
    let mut rng = rng(32);
    let (mine, _) = address(params, &mut rng);
    let (_, other) = address(params, &mut rng);
    let sender = Sender::new(&params.clue, &other);
    let range = params.spec().range;
    for i in 0..10_000 {
        let clue = if i % 2 == 0 {
            sender.gen_clue(&mut rng)
        } else {
            stranger(params, &mut rng)
        };
        let inside = noise(params, &mine, &clue)
            .iter()
            .all(|d| d.unsigned_abs() <= range);
        assert!(!inside, "clue {i}");
    }
}

#[test]
fn clues_are_fresh() {
    let (_, key) = address(tiny(), &mut rng(33));
    let sender = Sender::new(&tiny().clue, &key);
    let mut rng = rng(34);
    assert_ne!(sender.gen_clue(&mut rng), sender.gen_clue(&mut rng));
}
