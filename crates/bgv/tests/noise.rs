//! Compares the noise formulas with the evaluator's measured noise, at insecure small dimensions.
mod common;

use common::{Insecure, P, Shape};
use omr_bgv::*;
use omr_ring::*;
use omr_rlwe::MaskSeed;
use omr_rlwe::noise::{self, NoiseModel};
use rand_core::Rng;

/// The dimension, and how many coefficients of the secret are not 0.
#[derive(Clone, Copy)]
struct Size {
    n: usize,
    weight: usize,
}

const SIZES: [Size; 3] = [
    Size {
        n: 1024,
        weight: 64,
    },
    Size {
        n: 2048,
        weight: 128,
    },
    Size {
        n: 4096,
        weight: 1024,
    },
];

/// The tolerance of a formula, in bits.
const TOLERANCE: f64 = 0.1;
/// The number of bits of a special prime.
const SPECIAL: f64 = 49.0;

/// Returns the shape of a scheme of one of [`SIZES`].
fn shape(size: Size, drops: &[f64], special: usize) -> Shape {
    Shape {
        n: size.n,
        weight: size.weight,
        bound: 20.0,
        drops: drops.to_vec(),
        base: (40.0, 4),
        special,
    }
}

/// Averages the mean square over seeds; prints and checks the line of the table.
#[track_caller]
fn check(
    name: &str,
    shape: &Shape,
    predict: impl Fn(&NoiseModel) -> f64,
    measure: impl Fn(&mut Insecure) -> Ciphertext,
) {
    const SEEDS: u64 = 8;
    let (mut sum, mut predicted) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let mut t = Insecure::new(shape, seed);
        predicted = predict(&t.model);
        let ct = measure(&mut t);
        sum += rms_embedding(&t.noise(&ct)).powi(2);
    }
    let measured = (sum / SEEDS as f64).log2() / 2.0;
    let difference = measured - predicted;
    println!(
        "{name:40} n {:4} {predicted:8.3} {measured:8.3} {difference:+.3}",
        shape.n
    );
    assert!(
        difference.abs() <= TOLERANCE,
        "{name}: {predicted} predicted, {measured} measured"
    );
}

#[test]
fn public_key() {
    for size in SIZES {
        check(
            "fresh, public key",
            &shape(size, &[], 0),
            NoiseModel::fresh_public,
            |t| {
                let secret = t.secret.poly(&t.ring, t.chain.basis(0));
                let at = MaskSeed::new(&[9; 32], 0);
                let key = PublicKey::generate(&t.ring, P, &t.chain, 0, &secret, at, &mut t.rng);
                let slots = t.slots();
                key.encrypt(&t.ring, &t.plain, 0, &slots, &mut t.rng)
            },
        );
    }
}

#[test]
fn plaintexts_and_scalars() {
    for size in SIZES {
        let shape = shape(size, &[40.0], 0);
        let predict = |model: &NoiseModel| model.times_plain(model.floor());
        check("plaintext product", &shape, predict, |t| {
            let mut ct = t.floor();
            let slots = t.slots();
            let coeffs = t.plain.encode(&slots);
            let plain = t.ring.lift_plain(&coeffs, P as u32, t.chain.basis(1));
            t.ev().mul_plain_assign(&mut ct, &plain);
            ct
        });
        let predict = |model: &NoiseModel| noise::sum(model.times_scalar(model.floor()), 64);
        check("64 scalar products added", &shape, predict, |t| {
            let summands: Vec<(u64, Ciphertext)> =
                (0..64).map(|_| (t.rng.next_u64() % P, t.floor())).collect();
            let terms: Vec<(u64, &Ciphertext)> = summands.iter().map(|(c, ct)| (*c, ct)).collect();
            t.ev().linear_combination(&terms, 1).unwrap()
        });
    }
}

/// At the floor, without a switch to a lower level, products dominate; key switch noise is far below.
#[test]
fn products_at_one_level() {
    for size in SIZES {
        let shape = shape(size, &[40.0], 2);
        let product = |t: &mut Insecure, x: &Ciphertext, y: &Ciphertext| {
            let key = t.relin(3);
            t.ev()
                .relinearise(&t.ev().tensor(x, y).unwrap(), &key, x.level())
                .unwrap()
        };
        let predict = |model: &NoiseModel| model.product(model.floor(), model.floor());
        check("product", &shape, predict, |t| {
            let (x, y) = (t.floor(), t.floor());
            product(t, &x, &y)
        });
        let predict = |model: &NoiseModel| model.square(model.floor());
        check("square", &shape, predict, |t| {
            let x = t.floor();
            product(t, &x, &x)
        });
        // Fresh noise does not contain the secret, so its half bit is missing.
        let predict = |model: &NoiseModel| model.product(model.fresh(), model.fresh()) - 0.5;
        check("product, fresh", &shape, predict, |t| {
            let (x, y) = (t.encrypt(), t.encrypt());
            product(t, &x, &y)
        });
        let predict = |model: &NoiseModel| model.square(model.fresh()) - 0.5;
        check("square, fresh", &shape, predict, |t| {
            let x = t.encrypt();
            product(t, &x, &x)
        });
    }
}

/// In a relinearisation with a switch, the product, the gadget and the floor each dominate once.
#[test]
fn fused_relinearisation() {
    for (name, drop, special, dnum) in [
        ("fused product, product dominates", 20.0, 2, 3),
        ("fused product, gadget dominates", 24.0, 1, 2),
        ("fused product, floor dominates", 40.0, 2, 3),
    ] {
        for size in SIZES {
            let shape = shape(size, &[40.0, drop], special);
            // Digits: (40, 40, 40, 40, drop, 40) in `dnum` groups; the last dropped prime is gone.
            let predict = |model: &NoiseModel| {
                let full = match dnum {
                    2 => model.gadget(1, 120.0, SPECIAL),
                    _ => model.gadget(2, 80.0, SPECIAL * special as f64),
                };
                model.relinearised(model.product(model.floor(), model.floor()), full, drop)
            };
            check(name, &shape, predict, |t| {
                let key = t.relin(dnum);
                let (x, y) = (t.floor(), t.floor());
                t.ev().mul(&x, &y, &key).unwrap()
            });
        }
    }
}

#[test]
fn rotation_for_every_digit_count() {
    for (dnum, digit_bits, special) in [(2, 80.0, 1), (2, 80.0, 2), (4, 40.0, 1)] {
        for size in SIZES {
            let shape = shape(size, &[], special);
            let predict = |model: &NoiseModel| {
                let switch = model.key_switch(dnum, digit_bits, SPECIAL * special as f64);
                noise::add(model.fresh(), switch)
            };
            check(
                &format!("rotation, {dnum} digits, {special} special"),
                &shape,
                predict,
                |t| {
                    let gadget = t.shape(dnum);
                    let s = t.secret.poly(&t.ring, &gadget.extended());
                    let g = Automorphism::rotation(t.ring.n(), 3);
                    let at = MaskSeed::new(&[3; 32], 0);
                    let key = GaloisKey::generate(&t.ring, &gadget, &s, g, P, at, &mut t.rng);
                    let x = t.encrypt();
                    t.ev().automorphism(&x, &key).unwrap()
                },
            );
        }
    }
}
