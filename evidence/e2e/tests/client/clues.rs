//! Genuine clues are in the window with the noise that the parameters promise; other clues are not.

use crate::world::{rng, stranger, tiny};
use chacha20::ChaCha20Rng;
use omr_client::Sender;
use omr_client::sophomr::keygen;
use omr_protocol::clue::SEAL_PUBLIC_BYTES;
use omr_protocol::params::Posting;
use omr_protocol::sophomr::Params;
use omr_protocol::{Clue, ClueError, ClueKey, ClueKind};
use omr_ring::{NarrowGaussian, Poly};
use omr_rlwe::Secret;

/// Returns `b - a s` in the coordinates of b, centred, in the unit of [`ClueSpec::modulus`], which is half a residue
/// if clues are halved.
pub(crate) fn noise(params: &Params, secret: &Secret, clue: &Clue) -> Vec<i64> {
    let spec = &params.spec().clue;
    let modulus = spec.modulus() as i64;
    let value = |posted: u32| i64::from(spec.stands_for(posted));
    let coordinate = |(i, &b): (usize, &u32)| {
        let terms = secret.coeffs().iter().enumerate().map(|(j, &s)| {
            let wraps = j > i;
            let a = value(clue.a[i + usize::from(wraps) * spec.n - j]);
            s * if wraps { -a } else { a }
        });
        let difference = (value(b) - terms.sum::<i64>()).rem_euclid(modulus);
        if 2 * difference > modulus {
            difference - modulus
        } else {
            difference
        }
    };
    clue.b.iter().enumerate().map(coordinate).collect()
}

/// Returns the largest noise in the window, which counts residues modulo p, in the unit of [`noise`].
pub(crate) fn window(params: &Params) -> u64 {
    params.spec().range * params.spec().clue.modulus() / params.p().value()
}

fn times_secret(params: &Params, secret: &Secret, a: Vec<u64>) -> Vec<u64> {
    let (ring, basis) = (&params.clue.ring, params.clue.ring.everything());
    let mut a = ring.forward(Poly::from_rows(ring.n(), &basis, a));
    ring.mul_assign(&mut a, &secret.poly(ring, &basis));
    ring.inverse(a).row(0).to_vec()
}

/// Returns the variance of an error of the address, in squares of a residue.
fn address_variance(params: &Params) -> f64 {
    NarrowGaussian::new(params.spec().clue.sigma).sd().powi(2)
}

/// Returns the predicted variance of [`noise`] for the mean square of the errors of an address. The sender's
/// randomness selects `weight` of them; the errors of posting are half a residue each, in b and at every coefficient
/// of the secret.
fn variance(params: &Params, mean_square: f64) -> f64 {
    let spec = &params.spec().clue;
    assert_eq!(
        (spec.posting, spec.modulus()),
        (Posting::Halved, 2 * spec.q)
    );
    let weight = spec.weight as f64;
    4.0 * weight * mean_square + spec.secret.most() as f64 + 1.0
}

/// Returns the predicted variance for one key, whose errors are the same for all clues.
fn predicted(params: &Params, secret: &Secret, key: &ClueKey) -> f64 {
    let q = params.clue.q();
    let product = times_secret(params, secret, key.alpha(&params.clue));
    let error = |(&beta, &product): (&u32, &u64)| q.to_centered(q.sub(beta.into(), product));
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
    variance(params, squares.iter().sum::<f64>() / squares.len() as f64)
}

/// Measures `count` clues of one key and returns the sum of squares. No clue may miss the window.
fn measure(
    params: &Params,
    secret: &Secret,
    key: &ClueKey,
    count: usize,
    rng: &mut ChaCha20Rng,
) -> f64 {
    let sender = Sender::new(&params.clue, key);
    let range = window(params);
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
    assert_close(found, variance(params, address_variance(params)), 0.05);
}

/// Builds an address from its definition, without the large keys.
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
    let q = params.clue.q();
    key.beta = product
        .iter()
        .zip(errors)
        .map(|(&x, e)| q.add(x, q.from_i64(e)) as u32)
        .collect();
    (secret, key)
}

#[test]
fn noise_and_norms_at_full_parameters() {
    const CLUES: usize = 1000;
    let params = Params::named("sophomr-v5").unwrap();
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
    let posted = params.spec().clue.posted_modulus() as u32;
    let ternary = (0..n).map(|i| [0, 1, posted - 1][i % 3]).collect();
    let small = (0..n as u32).map(|i| i * 613 % (posted / 3)).collect();
    for a in [vec![0; n], vec![1; n], vec![posted - 1; n], ternary, small] {
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
    let range = window(params);
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
