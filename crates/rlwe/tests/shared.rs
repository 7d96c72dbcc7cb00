//! Ciphertexts that share one mask: every component of every part under its own secret.
use chacha20::ChaCha20Rng;
use omr_ring::*;
use omr_rlwe::*;
use rand_core::{Rng, SeedableRng};

const SEED: [u8; 32] = [5; 32];
const INDEX: u64 = 7;

struct World {
    ring: Ring,
    shape: SharedShape,
    from: Secret,
    to: Vec<SecretPoly>,
    key: SharedKey,
    rng: ChaCha20Rng,
}

impl World {
    fn new(n: usize, shape: SharedShape, seed: u64) -> Self {
        let ring = Ring::new(n, &primes_below(50, n, 1, &[]).unwrap()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let from = Secret::uniform_ternary(&mut rng, n * shape.components);
        let basis = ring.everything();
        let to: Vec<SecretPoly> = (0..shape.bodies())
            .map(|_| Secret::uniform_ternary(&mut rng, n).poly(&ring, &basis))
            .collect();
        let key = SharedKey::generate(
            &ring,
            shape,
            &from,
            &to,
            MaskSeed::new(&SEED, INDEX),
            &mut rng,
        );
        Self {
            ring,
            shape,
            from,
            to,
            key,
            rng,
        }
    }

    fn q(&self) -> f64 {
        self.ring.modulus(0).value() as f64
    }

    fn input(&mut self) -> SharedInput {
        let n = self.ring.n() * self.shape.components;
        let mut body = vec![0; n];
        uniform_residues(&mut self.rng, self.ring.modulus(0), &mut body);
        let bits = self.shape.mask_bits();
        let mask = (0..n).map(|_| self.rng.next_u64() >> (64 - bits)).collect();
        SharedInput { body, mask }
    }

    /// `body + mask s` as a fraction of the modulus, by the definition of the product.
    fn phase(&self, input: &SharedInput) -> Vec<f64> {
        let s = self.from.coeffs();
        let n = s.len();
        let coefficient = |i: usize| -> i64 {
            (0..n)
                .map(|j| {
                    let sign = if j <= i { 1 } else { -1 };
                    sign * s[j] * input.mask[(i + n - j) % n] as i64
                })
                .sum()
        };
        let unit = f64::from(self.shape.mask_bits()).exp2();
        (0..n)
            .map(|i| coefficient(i) as f64 / unit + input.body[i] as f64 / self.q())
            .collect()
    }

    /// The difference of every phase before and after, in `[-1/2, 1/2]` of the modulus.
    fn errors(&self, inputs: &[SharedInput]) -> Vec<f64> {
        let shared = self.key.switch(&self.ring, inputs);
        let components = self.shape.components;
        assert_eq!(shared.bodies.len(), inputs.len() * components);
        let mask = self.ring.forward(shared.mask);
        let mut out = Vec::new();
        for (part, input) in inputs.iter().enumerate() {
            let expected = self.phase(input);
            for c in 0..components {
                let i = part * components + c;
                let mut phase = mask.clone();
                self.ring.mul_assign(&mut phase, &self.to[i]);
                let mut phase = self.ring.inverse(phase);
                self.ring.add_assign(&mut phase, &shared.bodies[i]);
                for (k, &x) in phase.row(0).iter().enumerate() {
                    let error = x as f64 / self.q() - expected[k * components + c];
                    out.push(error - error.round());
                }
            }
        }
        out
    }
}

fn shape(components: usize, parts: usize) -> SharedShape {
    SharedShape {
        components,
        parts,
        digits: 2,
        digit_bits: 16,
    }
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

#[test]
fn every_component_keeps_its_phase() {
    for (components, parts) in [(1, 1), (1, 3), (2, 1), (4, 2), (8, 2)] {
        let mut world = World::new(64, shape(components, parts), 1);
        let inputs: Vec<SharedInput> = (0..parts).map(|_| world.input()).collect();
        let bound = 8.0 * world.shape.key_noise(64, world.ring.modulus(0).value());
        for used in 1..=parts {
            let worst = world.errors(&inputs[..used]).into_iter();
            let worst = worst.map(f64::abs).fold(0.0, f64::max);
            assert!(
                worst < bound && bound < 1e-6,
                "{components} {parts} {used}: {worst}"
            );
        }
    }
}

/// The full size of digests: four components of dimension 2,048, two parts.
#[test]
fn noise_is_as_predicted() {
    let mut world = World::new(2048, shape(4, 2), 2);
    let predicted = world.shape.key_noise(2048, world.ring.modulus(0).value());
    let inputs = [world.input(), world.input()];
    let measured = rms(&world.errors(&inputs));
    assert!(
        (measured / predicted).log2().abs() < 0.1,
        "predicted {predicted:e}, measured {measured:e}"
    );
}

#[test]
fn rounding_is_as_predicted() {
    let (n, bits) = (2048, 20);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let ring = Ring::new(n, &primes_below(50, n, 1, &[]).unwrap()).unwrap();
    let secret = Secret::uniform_ternary(&mut rng, n).poly(&ring, &ring.everything());
    // What rounding to 20 of 40 bits takes away.
    let lost: Vec<i64> = (0..n)
        .map(|_| (rng.next_u64() >> 44) as i64 - (1 << 19))
        .collect();
    let mut product = ring.forward(ring.lift_signed(&lost, &ring.everything()));
    ring.mul_assign(&mut product, &secret);
    let noise = centered_f64(&ring, &ring.inverse(product));
    let measured = rms(&noise) / 40f64.exp2();
    let predicted = rounding_noise(n, bits);
    assert!(
        (measured / predicted).log2().abs() < 0.1,
        "predicted {predicted:e}, measured {measured:e}"
    );
}

#[test]
fn a_key_is_rebuilt_from_its_bodies() {
    let mut world = World::new(64, shape(4, 2), 4);
    let bodies: Vec<Poly<Eval>> = world.key.bodies().cloned().collect();
    assert_eq!(bodies.len(), 16 * 8);
    let inputs = [world.input(), world.input()];
    let expected = world.key.switch(&world.ring, &inputs);
    world.key = SharedKey::from_bodies(
        &world.ring,
        world.shape,
        bodies,
        MaskSeed::new(&SEED, INDEX),
    );
    let again = world.key.switch(&world.ring, &inputs);
    assert_eq!(again.mask.to_words(), expected.mask.to_words());
    for (a, b) in again.bodies.iter().zip(&expected.bodies) {
        assert_eq!(a.to_words(), b.to_words());
    }
}

/// Half of the units in every digit, and one beside them: carries and the wrap at the top.
#[test]
fn digits_at_their_edges() {
    let mut world = World::new(64, shape(2, 1), 5);
    let bound = 8.0 * world.shape.key_noise(64, world.ring.modulus(0).value());
    for value in [0, 1, 0x7fff_7fff, 0x7fff_8000, 0x8000_0000, 0xffff_ffff] {
        let mut input = world.input();
        input.mask.fill(value);
        let worst = world.errors(&[input]).into_iter();
        let worst = worst.map(f64::abs).fold(0.0, f64::max);
        assert!(worst < bound, "{value:x}: {worst}");
    }
}
