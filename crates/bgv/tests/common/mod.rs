//! A scheme at an insecure small dimension, with primes of any size.
#![allow(dead_code, reason = "each test file uses its own part")]

use chacha20::ChaCha20Rng;
use omr_bgv::*;
use omr_ring::*;
use omr_rlwe::noise::NoiseModel;
use omr_rlwe::*;
use rand_core::SeedableRng;

pub(crate) const P: u64 = 786_433;

/// The dimensions of a scheme.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) n: usize,
    pub(crate) weight: usize,
    /// The largest `|s(zeta)|^2` divided by the weight.
    pub(crate) bound: f64,
    /// Bits of the primes that levels drop, in order.
    pub(crate) drops: Vec<f64>,
    /// Bits and number of the primes of the last level.
    pub(crate) base: (f64, usize),
    /// The number of special primes of 49 bits.
    pub(crate) special: usize,
}

/// An insecure scheme. Its primes are the base, the dropped primes (the last dropped first), and the special
/// primes.
pub(crate) struct Insecure {
    pub(crate) ring: Ring,
    pub(crate) plain: Plain,
    pub(crate) chain: Chain,
    pub(crate) secret: Secret,
    pub(crate) model: NoiseModel,
    pub(crate) rng: ChaCha20Rng,
    pub(crate) special: Basis,
    encrypted: u64,
}

impl Insecure {
    pub(crate) fn new(shape: &Shape, seed: u64) -> Self {
        let n = shape.n;
        let mut primes = primes_near(shape.base.0, n, shape.base.1, &[P]).unwrap();
        for &bits in shape.drops.iter().rev() {
            let found = primes_near(bits, n, 1, &primes).unwrap();
            primes.extend(found);
        }
        let chained = primes.len();
        primes.extend(primes_below(49, n, shape.special, &primes).unwrap());
        let ring = Ring::new(n, &primes).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        Self {
            plain: Plain::new(P, n, ring.kernels()).unwrap(),
            chain: Chain::new(
                (shape.base.1..=chained)
                    .rev()
                    .map(|l| Basis::new(0..l))
                    .collect(),
            ),
            secret: Secret::fixed_weight(&mut rng, n, shape.weight, shape.bound),
            model: NoiseModel {
                n,
                p: P,
                weight: shape.weight as f64,
            },
            special: Basis::new(chained..primes.len()),
            encrypted: 0,
            ring,
            rng,
        }
    }

    pub(crate) fn ev(&self) -> Evaluator<'_> {
        Evaluator {
            ring: &self.ring,
            plain: &self.plain,
            chain: &self.chain,
            stop: None,
        }
    }

    pub(crate) fn slots(&mut self) -> Vec<u32> {
        let mut out = vec![0; self.ring.n()];
        uniform_residues(&mut self.rng, self.plain.p(), &mut out);
        out.into_iter().map(|x| x as u32).collect()
    }

    /// Encrypts random slots at level 0.
    pub(crate) fn encrypt(&mut self) -> Ciphertext {
        let slots = self.slots();
        self.encrypt_slots(&slots)
    }

    /// Encrypts these slots at level 0.
    pub(crate) fn encrypt_slots(&mut self, slots: &[u32]) -> Ciphertext {
        let secret = self.secret.poly(&self.ring, self.chain.basis(0));
        self.encrypted += 1;
        let at = MaskSeed::new(&[1; 32], self.encrypted);
        let (ring, plain, chain) = (&self.ring, &self.plain, &self.chain);
        encrypt_symmetric(ring, plain, chain, 0, &secret, slots, at, &mut self.rng)
    }

    /// Encrypts random slots and switches them to level 1, with noise at the floor.
    pub(crate) fn floor(&mut self) -> Ciphertext {
        let fresh = self.encrypt();
        self.ev().at_level(&fresh, 1).unwrap()
    }

    pub(crate) fn shape(&self, dnum: usize) -> KeyShape {
        KeyShape::new(self.chain.basis(0), dnum, &self.special)
    }

    pub(crate) fn relin(&mut self, dnum: usize) -> SwitchingKey {
        let shape = self.shape(dnum);
        let s = self.secret.poly(&self.ring, &shape.extended());
        let square = s.product(&self.ring, &s);
        SwitchingKey::generate(
            &self.ring,
            &shape,
            &square,
            &s,
            P,
            MaskSeed::new(&[2; 32], 0),
            &mut self.rng,
        )
    }

    pub(crate) fn galois(&mut self, g: usize, dnum: usize) -> GaloisKey {
        let shape = self.shape(dnum);
        let s = self.secret.poly(&self.ring, &shape.extended());
        let at = MaskSeed::new(&[3; 32], g as u64);
        GaloisKey::generate(&self.ring, &shape, &s, g, P, at, &mut self.rng)
    }

    pub(crate) fn decryptor(&self) -> Decryptor<'_> {
        Decryptor {
            ring: &self.ring,
            plain: &self.plain,
            secret: &self.secret,
        }
    }

    pub(crate) fn open(&self, ct: &Ciphertext) -> Vec<u32> {
        self.decryptor().decrypt(ct)
    }

    pub(crate) fn noise(&self, ct: &Ciphertext) -> Vec<f64> {
        self.decryptor().noise(ct)
    }
}
