//! Blind rotations at full size: values, noise, and keys rebuilt from their bodies.

use crate::common::*;
use omr_ring::Gadget;
use omr_tfhe::*;

/// Phases in, at the edges of and outside a window, and half a turn away.
fn phases(window: Window, turn: u64) -> Vec<(u64, i64)> {
    let (c, h) = (u64::from(window.centre) + turn, u64::from(window.half));
    let inside = [c - h, c, c + h].map(|x| (x % turn, 1));
    let opposite = [c - h, c, c + h].map(|x| ((x + turn / 2) % turn, -1));
    let outside = [c - h - 1, c + h + 1, c + turn / 4].map(|x| (x % turn, 0));
    [inside, opposite, outside].concat()
}

#[test]
fn values_and_noise() {
    let mut w = World::new(1);
    let key = w.bootstrap_key();
    for (digits, centre, half) in [(1, 0, 19), (2, 877, 146), (2, 4095, 3)] {
        let rotate = |w: &World, start| key.rotate(&w.ring, digits, start);
        rotations(&mut w, &key, digits, centre, half, rotate, |_| 0.0);
    }
}

#[test]
fn values_and_noise_in_double_precision() {
    for bits in [16, 17] {
        let mut w = World::new(1);
        let key = w.bootstrap_key_of(Gadget { bits, digits: 2 });
        let first = FourierKey::new(&w.ring, &key, 1);
        // The second layer's key shares the first digit.
        let both = first.with_digits(&w.ring, &key, 2);
        for (fourier, digits, centre, half) in [(first, 1, 0, 19), (both, 2, 877, 146)] {
            let n = w.ring.n();
            let rotate = |w: &World, start| fourier.rotate(&w.ring, start);
            let rounding = |shape: &BootstrapShape| noise::rounding(shape, n);
            rotations(&mut w, &key, digits, centre, half, rotate, rounding);
        }
    }
}

/// Sums over messages take the constant coefficients alone: their noise has the same variance, and no mean
/// that would add up faster than noise does.
#[test]
fn rounding_of_constant_coefficients_is_centred() {
    const MESSAGES: usize = 240;
    let mut w = World::new(4);
    let key = w.bootstrap_key();
    let [_, window] = windows(w.ring.q());
    let turn = 2 * w.ring.n() as u64;
    let cts: Vec<Lwe> = (0..MESSAGES as u64).map(|i| w.lwe(turn, i * 17)).collect();
    let start = || {
        cts.iter()
            .map(|ct| Rotation::new(&w.ring, ct, window))
            .collect()
    };
    let fourier = FourierKey::new(&w.ring, &key, 2);
    let constants = |out: Vec<RingCipher>| -> Vec<f64> {
        let constants = out.iter().map(|ct| phase(&w.ring, ct, &w.z)[0] as f64);
        constants.map(|x| x / w.ring.q() as f64).collect()
    };
    let exact = constants(key.rotate(&w.ring, 2, start()));
    let floats = constants(fourier.rotate(&w.ring, start()));
    let off: Vec<f64> = exact.iter().zip(&floats).map(|(a, b)| b - a).collect();
    let mean = off.iter().sum::<f64>() / MESSAGES as f64;
    let square = off.iter().map(|x| x * x).sum::<f64>() / MESSAGES as f64;
    // Accumulators soon differ in all digits, so that the exact noise counts too.
    let weight = w.secret.weight() as f64;
    let error = (w.noise.sd() / w.ring.q() as f64).powi(2);
    let n = w.ring.n();
    let predicted = noise::rounding(key.shape(), n);
    let noise = noise::rotation(key.shape(), n, weight, error);
    check("constant coefficients", predicted + noise, square, 0.2);
    assert!(
        mean.abs() < 4.0 * (square / MESSAGES as f64).sqrt(),
        "{mean}"
    );
}

/// Holds rotations to the window's values and to the noise of exact ones and what `more` adds.
fn rotations(
    w: &mut World,
    key: &BootstrapKey,
    digits: u32,
    centre: u32,
    half: u32,
    rotate: impl Fn(&World, Vec<Rotation>) -> Vec<RingCipher>,
    more: impl Fn(&BootstrapShape) -> f64,
) {
    let (turn, q) = (2 * w.ring.n() as u64, w.ring.q());
    let window = Window {
        centre,
        half,
        value: q / 14,
    };
    let cases = phases(window, turn);
    let cts: Vec<Lwe> = cases.iter().map(|&(x, _)| w.lwe(turn, x)).collect();
    let start = cts.iter().map(|ct| Rotation::new(&w.ring, ct, window));
    let out = rotate(w, start.collect());
    let mut errors = Vec::new();
    for ((ct, &(x, sign)), input) in out.iter().zip(&cases).zip(&cts) {
        let found = phase(&w.ring, ct, &w.z);
        assert!(
            (found[0] - sign * window.value as i64).abs() < (q / 64) as i64,
            "phase {x}, window {window:?}"
        );
        assert_eq!(input.phase(&w.secret, turn), x);
        // Coefficient i is the window's value at phase x + i.
        for (i, &value) in found.iter().enumerate() {
            let at = (x + i as u64 + turn - u64::from(centre)) % turn;
            let near = |at: u64| at.min(turn - at) <= u64::from(half);
            let expected = i64::from(near(at)) - i64::from(near((at + turn / 2) % turn));
            errors.push(value - expected * window.value as i64);
        }
    }
    let shape = BootstrapShape {
        gadget: Gadget {
            digits,
            ..key.shape().gadget
        },
        ..*key.shape()
    };
    let error = (w.noise.sd() / q as f64).powi(2);
    let predicted = noise::rotation(&shape, w.ring.n(), w.secret.weight() as f64, error);
    let more = more(&shape);
    let name = format!("rotation, {digits} digits");
    check(
        &name,
        predicted + more,
        variance(errors.into_iter(), q),
        0.15,
    );
}

#[test]
fn a_key_from_bodies_is_the_same() {
    let mut w = World::new(2);
    let key = w.bootstrap_key();
    let bodies: Vec<Vec<u64>> = (0..key.shape().rows()).map(|row| key.body(row)).collect();
    let rows = bodies.iter().map(Vec::as_slice);
    let again = BootstrapKey::from_bodies(&w.ring, *key.shape(), rows, MaskSeed::new(&SEED, 0));
    let window = Window {
        centre: 5,
        half: 2,
        value: 1 << 40,
    };
    let ct = w.lwe(2 * w.ring.n() as u64, 5);
    let outs = [&key, &again].map(|key| {
        let out = key.rotate(&w.ring, 2, vec![Rotation::new(&w.ring, &ct, window)]);
        (out[0].body.to_vec(), out[0].mask.to_vec())
    });
    assert_eq!(outs[0], outs[1]);
}

#[test]
fn secrets_have_their_form() {
    let mut w = World::new(3);
    for _ in 0..20 {
        let s = BlockSecret::new(&mut w.rng, 1024, 6, 141..=149);
        assert!((141..=149).contains(&s.weight()));
        assert_eq!(s.bits()[1020..], [0; 4]);
        let again = BlockSecret::from_bits(s.bits().to_vec(), 6);
        assert_eq!(again.map(|s| s.weight()), Some(s.weight()));
    }
    let mut two = vec![0; 16];
    (two[8], two[12]) = (1, 1);
    for (bits, block) in [
        (two, 8),
        (vec![2; 8], 8),
        (vec![0, 0, 0, 1], 3),
        (vec![0], 0),
    ] {
        assert!(BlockSecret::from_bits(bits, block).is_none());
    }
    // Every position and the empty block come equally often: 9 options, 12,800 blocks.
    let mut counts = [0u32; 9];
    for _ in 0..100 {
        let s = BlockSecret::new(&mut w.rng, 1024, 8, 0..=128);
        for block in s.bits().chunks(8) {
            counts[block.iter().position(|&b| b == 1).unwrap_or(8)] += 1;
        }
    }
    let expected = 12_800.0 / 9.0;
    let chi: f64 = counts
        .iter()
        .map(|&c| (f64::from(c) - expected).powi(2) / expected)
        .sum();
    assert!(
        chi < 40.0,
        "chi-squared {chi} with 8 degrees of freedom: {counts:?}"
    );
}
