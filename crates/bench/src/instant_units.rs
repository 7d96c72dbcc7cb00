//! What one message takes in the parts of InstantOMR that exist: `omr-tfhe` at full size.

use omr_ring::{Gadget, NarrowGaussian, Ring, RingError, primes_below};
use omr_rlwe::{Secret, SecretPoly};
use omr_tfhe::{
    BlockSecret, BootstrapKey, Lwe, LweSwitchKey, RingCipher, Rotation, RotationRing, TraceKey,
    Window, phase,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// LWE ciphertexts of a clue.
const COORDINATES: usize = 3;

/// Plaintext modulus of the result.
const P: u64 = 97;

/// The accumulators' gadget; first layers use its first digit alone.
const CUT: Gadget = Gadget {
    bits: 16,
    digits: 2,
};
const SWITCH: Gadget = Gadget { bits: 5, digits: 4 };
const TRACE: Gadget = Gadget { bits: 7, digits: 6 };

/// Rings, secrets and keys for messages: three rotations with one digit, the switch to the block
/// secret, one rotation with two digits, the trace.
pub struct InstantUnits {
    ring: RotationRing,
    small: RotationRing,
    secret: BlockSecret,
    z: SecretPoly,
    bootstrap: BootstrapKey,
    switch: LweSwitchKey,
    trace: TraceKey,
    rng: ChaCha20Rng,
}

impl InstantUnits {
    /// Fresh secrets and keys from `seed`: 134 MB of them.
    ///
    /// Errors: the primes do not fit the rings.
    pub fn new(seed: u64) -> Result<Self, RingError> {
        let (ring, small) = (rotation_ring(2048, 50)?, rotation_ring(1024, 24)?);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let ternary = Secret::uniform_ternary(&mut rng, ring.n());
        let z = ternary.poly(&ring, &ring.everything());
        let secret = BlockSecret::new(&mut rng, 128, 8, 106..=112);
        let (noise, wide) = (NarrowGaussian::new(0.62), NarrowGaussian::new(9.9));
        let masks = [9; 32];
        let at = |index| (&masks, index);
        Ok(Self {
            bootstrap: BootstrapKey::generate(&ring, CUT, &secret, &z, at(0), &noise, &mut rng),
            switch: LweSwitchKey::generate(
                &small,
                SWITCH,
                &ternary,
                &secret,
                at(1),
                &wide,
                &mut rng,
            ),
            trace: TraceKey::generate(&ring, TRACE, &z, at(3), &noise, &mut rng),
            ring,
            small,
            secret,
            z,
            rng,
        })
    }

    /// The row operations in use.
    pub fn kernels(&self) -> &'static str {
        self.ring.kernels().name()
    }

    /// A clue: pertinent ones have all coordinates in the window, others none.
    pub fn clue(&mut self, pertinent: bool) -> Vec<Lwe> {
        let turn = 2 * self.ring.n() as u64;
        let phase = if pertinent { 0 } else { 100 };
        (0..COORDINATES).map(|_| self.lwe(turn, phase)).collect()
    }

    /// A ciphertext modulo `q` whose phase is exactly `phase`.
    fn lwe(&mut self, q: u64, phase: u64) -> Lwe {
        let mut ct = Lwe {
            body: 0,
            mask: (0..self.secret.bits().len())
                .map(|_| self.rng.next_u64() % q)
                .collect(),
        };
        ct.body = (phase + q - ct.phase(&self.secret, q)) % q;
        ct
    }

    /// Everything that messages with these clues take, side by side: for each an encryption of 1 or
    /// 0 in the constant coefficient.
    pub fn detect(&self, clues: &[Vec<Lwe>]) -> Vec<RingCipher> {
        let middle = self.first_layer(clues);
        let window = Window {
            centre: 877,
            half: 146,
            value: self.ring.q() / P,
        };
        let start = middle
            .iter()
            .map(|ct| Rotation::new(&self.ring, ct, window));
        let turned = self.bootstrap.rotate(&self.ring, 2, start.collect());
        let trace = |ct| self.trace.apply(&self.ring, ct);
        turned.into_iter().map(trace).collect()
    }

    /// Sums of the coordinates' hits, modulo `2n` under the block secret.
    fn first_layer(&self, clues: &[Vec<Lwe>]) -> Vec<Lwe> {
        let (m, q) = (self.ring.modulus(0), self.small.q());
        let window = Window {
            centre: 0,
            half: 19,
            value: m.value() / 14,
        };
        let start = clues.iter().flatten();
        let start = start.map(|ct| Rotation::new(&self.ring, ct, window));
        let turned = self.bootstrap.rotate(&self.ring, 1, start.collect());
        let of_message = |turned: &[RingCipher]| {
            let mut sum = Lwe::extract(m, &turned[0]);
            for ct in &turned[1..] {
                sum.add_assign(m, &Lwe::extract(m, ct));
            }
            let switched = self.switch.switch(&self.small, &sum.switch(m.value(), q));
            switched.switch(q, 2 * self.ring.n() as u64)
        };
        turned.chunks(COORDINATES).map(of_message).collect()
    }

    /// What a result of [`Self::detect`] holds: 1 if pertinent, else 0.
    pub fn decrypt(&self, ct: &RingCipher) -> i64 {
        let constant = phase(&self.ring, ct, &self.z)[0];
        (constant as f64 / self.ring.q() as f64 * P as f64).round() as i64
    }
}

fn rotation_ring(n: usize, bits: u32) -> Result<RotationRing, RingError> {
    let primes = primes_below(bits, n, 1, &[])?;
    Ok(RotationRing::new(Ring::new(n, &primes)?))
}
