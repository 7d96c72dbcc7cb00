//! The noise formulas against measurement, at insecure small dimensions: key switching, its parts.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use omr_rlwe::noise::{self, NoiseModel};
use omr_rlwe::*;
use rand_core::SeedableRng;

const P: u64 = 786_433;
const SEEDS: u64 = 8;
/// How far a formula may be off, in bits.
const TOLERANCE: f64 = 0.1;

/// Four primes of 40 bits for ciphertexts, two of 49 bits for key switching.
struct Insecure {
    ring: Ring,
    model: NoiseModel,
    secret: Secret,
    rng: ChaCha20Rng,
}

impl Insecure {
    fn new(n: usize, weight: usize, seed: u64) -> Self {
        let mut primes = primes_near(40.0, n, 4, &[P]).unwrap();
        primes.extend(primes_below(49, n, 2, &primes).unwrap());
        let ring = Ring::new(n, &primes).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = Secret::fixed_weight(&mut rng, n, weight, 20.0);
        Self {
            ring,
            model: NoiseModel {
                n,
                p: P,
                weight: weight as f64,
            },
            secret,
            rng,
        }
    }

    fn all() -> Basis {
        Basis::new(0..4)
    }

    fn message(&mut self, basis: &Basis) -> Poly<Eval> {
        let mut coeffs = vec![0; self.ring.n()];
        uniform_residues(&mut self.rng, &Modulus::new(P).unwrap(), &mut coeffs);
        let coeffs: Vec<u32> = coeffs.into_iter().map(|c| c as u32).collect();
        self.ring.lift_plain(&coeffs, P as u32, basis)
    }

    fn encrypt(&mut self, basis: &Basis, index: u64) -> Rlwe {
        let message = self.message(basis);
        let c1 = mask(&self.ring, basis, &[1; 32], &[index]);
        let secret = self.secret.poly(&self.ring, basis);
        Rlwe::new(
            encrypt(&self.ring, &secret, &message, P, &c1, &mut self.rng),
            c1,
        )
    }

    /// The mean square of the noise over the embeddings.
    fn noise(&self, ct: &Rlwe) -> f64 {
        let secret = self.secret.poly(&self.ring, ct.basis());
        let noise = centered_f64(&self.ring, &decrypt_residues(&self.ring, ct, &secret));
        rms_embedding(&noise).powi(2)
    }

    fn down(&self, ct: &Rlwe, to: &Basis) -> Rlwe {
        let down = Switch::new(&self.ring, ct.basis(), to, &Modulus::new(P).unwrap());
        Rlwe::new(
            down.apply(&self.ring, &ct.c0),
            down.apply(&self.ring, &ct.c1),
        )
    }

    /// Switches a fresh ciphertext from another secret, with `left` of the key's special primes.
    fn key_switched(&mut self, dnum: usize, special: &Basis, left: usize) -> Rlwe {
        let shape = KeyShape::new(&Self::all(), dnum, special);
        let other = Secret::uniform_ternary(&mut self.rng, self.ring.n());
        let (from, to) = (&other, &self.secret);
        let from = from.poly(&self.ring, &shape.extended());
        let to = to.poly(&self.ring, &shape.extended());
        let key = SwitchingKey::generate(
            &self.ring,
            &shape,
            &from,
            &to,
            P,
            MaskSeed::new(&[2; 32], 0),
            &mut self.rng,
        );
        let left = Basis::new(special.ids()[..left].iter().copied());
        let lowered = (left != *special).then(|| shape.lowered(&Self::all(), &left));
        let p = Modulus::new(P).unwrap();
        let key = key.with_lowered(&self.ring, lowered.as_slice(), &p);
        let message = self.message(&Self::all());
        let c1 = mask(&self.ring, &Self::all(), &[1; 32], &[9]);
        let source = from.restrict(&Self::all());
        let mut c0 = message;
        let mut hidden = c1.clone();
        self.ring.mul_assign(&mut hidden, &source);
        self.ring.sub_assign(&mut c0, &hidden);
        key.switch(&self.ring, &Rlwe::new(c0, c1), &p)
    }
}

/// Averages the mean square over seeds; prints and checks the line of the table.
#[track_caller]
fn check(
    name: &str,
    size: Size,
    predict: impl Fn(&NoiseModel) -> f64,
    measure: impl Fn(&mut Insecure) -> f64,
) {
    let Size { n, weight } = size;
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        sum += measure(&mut Insecure::new(n, weight, seed));
    }
    let measured = (sum / SEEDS as f64).log2() / 2.0;
    let predicted = predict(&Insecure::new(n, weight, 0).model);
    let difference = measured - predicted;
    println!("{name:36} n {n:4} {predicted:8.3} {measured:8.3} {difference:+.3}");
    assert!(
        difference.abs() <= TOLERANCE,
        "{name}: {predicted} predicted, {measured} measured"
    );
}

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

#[test]
fn fresh_and_sums() {
    for size in SIZES {
        let all = Insecure::all();
        check("fresh", size, NoiseModel::fresh, |t| {
            let ct = t.encrypt(&all, 0);
            t.noise(&ct)
        });
        let predict = |model: &NoiseModel| noise::sum(model.fresh(), 9);
        check("sum of nine", size, predict, |t| {
            let mut sum = Rlwe::zero(&t.ring, &all);
            for i in 0..9 {
                let ct = t.encrypt(&all, i);
                t.ring.add_assign(&mut sum.c0, &ct.c0);
                t.ring.add_assign(&mut sum.c1, &ct.c1);
            }
            t.noise(&sum)
        });
    }
}

#[test]
fn modulus_switch() {
    for size in SIZES {
        check("switch to the floor", size, NoiseModel::floor, |t| {
            let ct = t.encrypt(&Insecure::all(), 0);
            t.noise(&t.down(&ct, &Basis::new(0..3)))
        });
        check("floor of primes that come", size, NoiseModel::floor, |t| {
            let ct = t.encrypt(&Basis::new(0..3), 0);
            t.noise(&t.down(&ct, &Basis::new([3, 0])))
        });
        // Turned up first, so that what is left of it stands beside the floor.
        let predict = |model: &NoiseModel| model.switched(model.fresh() + 40.0, 40.0);
        check("switch of much noise", size, predict, |t| {
            let mut ct = t.encrypt(&Insecure::all(), 0);
            for part in [&mut ct.c0, &mut ct.c1] {
                t.ring.scale_assign(part, |m| m.reduce(1 << 40));
            }
            t.noise(&t.down(&ct, &Basis::new(0..3)))
        });
    }
}

#[test]
fn key_switch_for_every_digit_count() {
    // (digits, bits of a digit, special primes): from a gadget that drowns the floor to none.
    for (dnum, digit_bits, special) in [
        (1, 160.0, 1),
        (2, 80.0, 1),
        (2, 80.0, 2),
        (4, 40.0, 1),
        (4, 40.0, 2),
    ] {
        for size in SIZES {
            let predict =
                |model: &NoiseModel| model.key_switch(dnum, digit_bits, 49.0 * special as f64);
            let name = format!("key switch, {dnum} digits, {special} special");
            check(&name, size, predict, |t| {
                let ct = t.key_switched(dnum, &Basis::new(4..4 + special), special);
                t.noise(&ct)
            });
        }
    }
}

/// One of two special primes is left.
#[test]
fn key_switch_with_lowered_keys() {
    for (dnum, digit_bits) in [(1, 160.0), (2, 80.0), (4, 40.0)] {
        for size in SIZES {
            let predict = |model: &NoiseModel| {
                let gadget = model.gadget(dnum, digit_bits, 49.0) + model.lowered_key();
                noise::add(gadget, model.floor())
            };
            let name = format!("key switch, {dnum} digits, lowered");
            check(&name, size, predict, |t| {
                let ct = t.key_switched(dnum, &Basis::new(4..6), 1);
                t.noise(&ct)
            });
        }
    }
}
