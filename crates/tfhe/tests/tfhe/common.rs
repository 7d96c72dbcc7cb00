//! Full-size rings, secrets and keys.

use chacha20::ChaCha20Rng;
use omr_ring::{Gadget, NarrowGaussian, Ring, primes_below, uniform_residues};
use omr_rlwe::{Secret, SecretPoly};
use omr_tfhe::*;
use rand_core::{Rng, SeedableRng};

/// Coordinates of a block of the secret.
pub(crate) const BLOCK: usize = 6;

pub(crate) const SEED: [u8; 32] = [9; 32];

/// The accumulators' gadget; first layers use its first digit alone.
pub(crate) const CUT: Gadget = Gadget {
    bits: 16,
    digits: 2,
};
pub(crate) const SWITCH: Gadget = Gadget { bits: 5, digits: 4 };
pub(crate) const TRACE: Gadget = Gadget { bits: 7, digits: 6 };

pub(crate) fn ring(n: usize, bits: u32) -> RotationRing {
    let primes = primes_below(bits, n, 1, &[]).unwrap();
    RotationRing::new(Ring::new(n, &primes).unwrap())
}

pub(crate) struct World {
    pub(crate) ring: RotationRing,
    pub(crate) small: RotationRing,
    pub(crate) secret: BlockSecret,
    pub(crate) ternary: Secret,
    pub(crate) z: SecretPoly,
    pub(crate) noise: NarrowGaussian,
    pub(crate) switch_noise: NarrowGaussian,
    pub(crate) rng: ChaCha20Rng,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (ring, small) = (ring(2048, 50), ring(1024, 24));
        let ternary = Secret::uniform_ternary(&mut rng, ring.n());
        Self {
            z: ternary.poly(&ring, &ring.everything()),
            secret: BlockSecret::new(&mut rng, 1024, BLOCK, 141..=149),
            ternary,
            ring,
            small,
            noise: NarrowGaussian::new(0.62),
            switch_noise: NarrowGaussian::new(9.9),
            rng,
        }
    }

    pub(crate) fn bootstrap_key(&mut self) -> BootstrapKey {
        self.bootstrap_key_of(CUT)
    }

    pub(crate) fn bootstrap_key_of(&mut self, gadget: Gadget) -> BootstrapKey {
        let at = MaskSeed::new(&SEED, 0);
        BootstrapKey::generate(
            &self.ring,
            gadget,
            &self.secret,
            &self.z,
            at,
            &self.noise,
            &mut self.rng,
        )
    }

    pub(crate) fn switch_key(&mut self, index: u64) -> LweSwitchKey {
        let (from, to, noise) = (&self.ternary, &self.secret, &self.switch_noise);
        let at = MaskSeed::new(&SEED, index);
        LweSwitchKey::generate(&self.small, SWITCH, from, to, at, noise, &mut self.rng)
    }

    pub(crate) fn trace_key(&mut self) -> TraceKey {
        let at = MaskSeed::new(&SEED, 60);
        TraceKey::generate(&self.ring, TRACE, &self.z, at, &self.noise, &mut self.rng)
    }

    /// A ring ciphertext of `message` without noise.
    pub(crate) fn exact(&mut self, message: &[i64]) -> RingCipher {
        let m = *self.ring.modulus(0);
        let mut ct = RingCipher::trivial(&vec![0; self.ring.n()]);
        uniform_residues(&mut self.rng, &m, &mut ct.mask);
        let covered = phase(&self.ring, &ct, &self.z);
        for ((x, &c), &wanted) in ct.body.iter_mut().zip(&covered).zip(message) {
            *x = m.from_i64(wanted - c);
        }
        ct
    }

    /// A value close to Gaussian with this standard deviation: a sum of uniform ones.
    pub(crate) fn gaussian(&mut self, sd: f64) -> f64 {
        let uniform = (0..12).map(|_| self.rng.next_u64() as f64 / 2f64.powi(64));
        (uniform.sum::<f64>() - 6.0) * sd
    }

    /// A ciphertext modulo `q` whose phase is exactly `phase`.
    pub(crate) fn lwe(&mut self, q: u64, phase: u64) -> Lwe {
        let n = self.secret.bits().len();
        let mut ct = Lwe {
            body: 0,
            mask: (0..n).map(|_| self.rng.next_u64() % q).collect(),
        };
        ct.body = (phase + q - ct.phase(&self.secret, q)) % q;
        ct
    }
}

/// The variance of values around 0, as a fraction of `q`.
pub(crate) fn variance(values: impl Iterator<Item = i64>, q: u64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for x in values {
        sum += (x as f64 / q as f64).powi(2);
        count += 1.0;
    }
    sum / count
}

/// Panics when the standard deviations differ by more than `bits`.
#[track_caller]
pub(crate) fn check(name: &str, predicted: f64, measured: f64, bits: f64) {
    let [p, m] = [predicted, measured].map(|v| v.log2() / 2.0);
    println!("{name:30} {p:8.3} {m:8.3} {:+.3}", m - p);
    assert!(
        (m - p).abs() <= bits,
        "{name}: 2^{p} predicted, 2^{m} measured"
    );
}

/// LWE ciphertexts of a clue.
pub(crate) const COORDINATES: usize = 3;

pub(crate) struct Keys {
    pub(crate) bootstrap: BootstrapKey,
    /// The first digit of the key, and both, in double precision.
    pub(crate) fourier: [FourierKey; 2],
    pub(crate) switch: LweSwitchKey,
    pub(crate) trace: TraceKey,
}

impl Keys {
    pub(crate) fn new(w: &mut World) -> Self {
        let bootstrap = w.bootstrap_key();
        Self {
            fourier: [1, 2].map(|digits| FourierKey::new(&w.ring, &bootstrap, digits)),
            bootstrap,
            switch: w.switch_key(40),
            trace: w.trace_key(),
        }
    }
}

/// Plaintext modulus.
pub(crate) const P: u64 = 97;

/// The windows of the rotations: a coordinate near 0, and all coordinates inside.
pub(crate) fn windows(q: u64) -> [Window; 2] {
    let first = Window {
        centre: 0,
        half: 18,
        value: q / 14,
    };
    let second = Window {
        centre: 877,
        half: 146,
        value: q / P,
    };
    [first, second]
}

/// How a layer's rotations are computed.
#[derive(Clone, Copy)]
pub(crate) enum Arithmetic {
    Exact,
    Floats,
}

/// Sums of the coordinates' hits, modulo `2n` under the block secret.
pub(crate) fn first_layer(
    w: &World,
    keys: &Keys,
    clues: &[Vec<Lwe>],
    arithmetic: Arithmetic,
) -> Vec<Lwe> {
    let [window, _] = windows(w.ring.q());
    let start = clues.iter().flatten();
    let start = start.map(|ct| Rotation::new(&w.ring, ct, window)).collect();
    let m = w.ring.modulus(0);
    let turned = match arithmetic {
        Arithmetic::Exact => keys.bootstrap.rotate(&w.ring, 1, start),
        Arithmetic::Floats => keys.fourier[0].rotate(&w.ring, start),
    };
    let of_message = |turned: &[RingCipher]| {
        let mut sum = Lwe::extract(m, &turned[0]);
        for ct in &turned[1..] {
            sum.add_assign(m, &Lwe::extract(m, ct));
        }
        let narrow = sum.switch(m.value(), w.small.q());
        let switched = keys.switch.switch(&w.small, &narrow);
        switched.switch_blocks(w.small.q(), 2 * w.ring.n() as u64, BLOCK)
    };
    turned.chunks(COORDINATES).map(of_message).collect()
}

/// Whether all coordinates hit: in the constant coefficients.
pub(crate) fn second_layer(
    w: &World,
    keys: &Keys,
    cts: &[Lwe],
    arithmetic: Arithmetic,
) -> Vec<RingCipher> {
    let [_, window] = windows(w.ring.q());
    let start = cts.iter().map(|ct| Rotation::new(&w.ring, ct, window));
    let start = start.collect();
    match arithmetic {
        Arithmetic::Exact => keys.bootstrap.rotate(&w.ring, 2, start),
        Arithmetic::Floats => keys.fourier[1].rotate(&w.ring, start),
    }
}
