//! An insecure small case: every key, clues of random residues, and phases by schoolbook.

use chacha20::ChaCha20Rng;
use omr_bgv::*;
use omr_opening::*;
use omr_ring::*;
use omr_rlwe::noise::NoiseModel;
use omr_rlwe::*;
use rand_core::{Rng, SeedableRng};

pub(crate) const P: u64 = 786_433;
const N: usize = 1 << 11;
const SEED: [u8; 32] = [7; 32];
const DIGITS: usize = 2;
/// Values of bound clues that are subtracted from every coordinate.
const EXTRA: usize = 3;

pub(crate) struct Insecure {
    pub(crate) opening: Opening,
    pub(crate) plain: Plain,
    pub(crate) model: NoiseModel,
    ring: Ring,
    chain: Chain,
    shape: KeyShape,
    large: Secret,
    clue: Vec<i64>,
    extra: Vec<i64>,
    sparse: ModuleSecret,
    packing: PackingKey,
    narrow: NarrowKey,
    rng: ChaCha20Rng,
}

/// Clues of a batch, place by place.
pub(crate) struct Clues {
    a: Vec<u32>,
    b: Vec<Vec<u32>>,
    extra: Vec<Vec<u32>>,
}

const CLUE: ClueShape = ClueShape {
    n: 80,
    q: 1 << 21,
    coordinates: 2,
};

fn spec() -> OpeningSpec {
    OpeningSpec {
        n: 32,
        packing_rank: 2,
        packing_bits: 50,
        packing_sigma: 0.62,
        rank: 3,
        weight: 5,
        narrow_bits: 29.6,
        gadget: Gadget {
            bits: 2,
            digits: 14,
        },
        points: 8,
        baby: 4,
    }
}

impl Insecure {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let top = primes_near(49.0, N, 4, &[P]).unwrap();
        let special = primes_near(49.5, N, 3, &top).unwrap();
        let ring = Ring::new(N, &[&top[..], &special].concat()).unwrap();
        let plain = Plain::new(P, N, ring.kernels()).unwrap();
        let opening = Opening::new(CLUE, spec(), &plain).unwrap();
        let chain = Chain::new(vec![Basis::new(0..4)]);
        let shape = KeyShape::new(chain.basis(0), DIGITS, &Basis::new(4..7));
        let packing_secret = packing_secret(&opening, &mut rng);
        let sparse = sparse_secret(&opening, &mut rng);
        let clue = uniform_ternary(&mut rng, CLUE.n);
        let extra: Vec<i64> = (0..EXTRA).map(|_| (rng.next_u32() & 15) as i64).collect();
        let at = |index| (&SEED, index);
        Self {
            packing: PackingKey::generate(
                &opening,
                &clue,
                &extra,
                &packing_secret,
                at(1),
                &mut rng,
            ),
            narrow: NarrowKey::generate(&opening, &packing_secret, &sparse, at(2), &mut rng),
            large: Secret::fixed_weight(&mut rng, N, 128, 12.0),
            model: NoiseModel {
                n: N,
                p: P,
                weight: 128.0,
            },
            opening,
            plain,
            ring,
            chain,
            shape,
            clue,
            extra,
            sparse,
            rng,
        }
    }

    fn ev(&self) -> Evaluator<'_> {
        Evaluator {
            ring: &self.ring,
            plain: &self.plain,
            chain: &self.chain,
        }
    }

    pub(crate) fn decryptor(&self) -> Decryptor<'_> {
        Decryptor {
            ring: &self.ring,
            plain: &self.plain,
            secret: &self.large,
        }
    }

    pub(crate) fn turn_noise(&self) -> f64 {
        let special = self.ring.log2(self.shape.special());
        let digit = self.ring.log2(&self.shape.digits()[0]);
        self.model.key_switch(DIGITS, digit, special)
    }

    fn residues(&mut self, count: usize, below: u64) -> Vec<u32> {
        (0..count)
            .map(|_| (self.rng.next_u64() % below) as u32)
            .collect()
    }

    /// Random residues, one clue for each slot.
    pub(crate) fn clues(&mut self) -> Clues {
        let (places, q) = (self.opening.slots(), CLUE.q);
        let coordinates = CLUE.coordinates;
        Clues {
            a: self.residues(places * CLUE.n, q),
            b: (0..coordinates).map(|_| self.residues(places, q)).collect(),
            extra: (0..coordinates)
                .map(|_| self.residues(places * EXTRA, q))
                .collect(),
        }
    }

    /// `b - (a s) - <extra>` of a message in one coordinate, modulo the clue modulus, by schoolbook.
    pub(crate) fn distance(&self, clues: &Clues, message: usize, c: usize) -> i64 {
        let n = CLUE.n;
        let a = &clues.a[message * n..][..n];
        let product: i64 = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .filter(|(i, j)| (i + j) % n == c)
            .map(|(i, j)| i64::from(a[i]) * self.clue[j] * if i + j < n { 1 } else { -1 })
            .sum();
        let extra = &clues.extra[c][message * EXTRA..][..EXTRA];
        let extra: i64 = extra
            .iter()
            .zip(&self.extra)
            .map(|(&h, w)| i64::from(h) * w)
            .sum();
        (i64::from(clues.b[c][message]) - product - extra).rem_euclid(CLUE.q as i64)
    }

    /// Narrowed ciphertexts, coordinate by coordinate, block by block.
    pub(crate) fn packed(&self, clues: &Clues) -> Vec<Vec<Narrowed>> {
        let n = self.opening.spec().n;
        let mut out = vec![Vec::new(); CLUE.coordinates];
        for block in 0..self.opening.blocks() {
            let places = block * n..(block + 1) * n;
            let of = |rows: &'_ [Vec<u32>], width: usize| -> Vec<Vec<u32>> {
                rows.iter()
                    .map(|row| row[places.start * width..places.end * width].to_vec())
                    .collect()
            };
            let (b, extra) = (of(&clues.b, 1), of(&clues.extra, EXTRA));
            let clues = BlockOfClues {
                a: &clues.a[places.start * CLUE.n..places.end * CLUE.n],
                b: &b.iter().map(Vec::as_slice).collect::<Vec<_>>(),
                extra: &extra.iter().map(Vec::as_slice).collect::<Vec<_>>(),
            };
            for (out, ct) in out.iter_mut().zip(self.packing.pack(&self.opening, &clues)) {
                out.push(self.narrow.narrow(&self.opening, &ct));
            }
        }
        out
    }

    /// Phases modulo p, coordinate by coordinate, place by place.
    pub(crate) fn phases(&self, packed: &[Vec<Narrowed>]) -> Vec<Vec<i64>> {
        let of = |blocks: &Vec<Narrowed>| {
            blocks
                .iter()
                .flat_map(|ct| self.sparse.phase(P, &ct.0))
                .collect()
        };
        packed.iter().map(of).collect()
    }

    pub(crate) fn opened(&mut self, packed: &[Vec<Narrowed>]) -> Vec<Ciphertext> {
        let s = self.large.poly(&self.ring, &self.shape.extended());
        let [baby, giant] = self.opening.transform_steps();
        let mut galois = |steps: usize, index: u64| {
            let g = Automorphism::rotation(N, steps);
            GaloisKey::generate(
                &self.ring,
                &self.shape,
                &s,
                g,
                P,
                (&SEED, index),
                &mut self.rng,
            )
        };
        let (step, baby, giant) = (galois(1, 10), galois(baby, 11), galois(giant, 12));
        let slots = secret_slots(&self.opening, &self.sparse);
        let top = self.large.poly(&self.ring, self.chain.basis(0));
        let (ring, plain, chain) = (&self.ring, &self.plain, &self.chain);
        let secret = encrypt_symmetric(
            ring,
            plain,
            chain,
            0,
            &top,
            &slots,
            (&SEED, 13),
            &mut self.rng,
        );
        let turned = Turned::new(&self.ev(), &self.opening, secret, &step).unwrap();
        let keys = OpeningKeys {
            step: &step,
            baby: &baby,
            giant: &giant,
        };
        open(&self.ev(), &self.opening, &turned, &keys, packed).unwrap()
    }

    pub(crate) fn rebuild_keys(&mut self) {
        let bodies = self.packing.bodies().cloned().collect();
        self.packing = PackingKey::from_bodies(&self.opening, bodies, (&SEED, 1));
        let bodies = self.narrow.bodies().cloned().collect();
        self.narrow = NarrowKey::from_bodies(&self.opening, bodies, (&SEED, 2));
    }
}
