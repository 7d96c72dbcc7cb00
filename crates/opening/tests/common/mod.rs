//! An insecure small case: every key of two recipients with one seed, clues of random residues, and phases by schoolbook.

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
pub(crate) const RECIPIENTS: usize = 2;
/// Values of bound clues that are subtracted from every coordinate.
const EXTRA: usize = 3;

pub(crate) struct Insecure {
    pub(crate) opening: Opening,
    pub(crate) plain: Plain,
    pub(crate) model: NoiseModel,
    ring: Ring,
    chain: Chain,
    shape: KeyShape,
    recipients: Vec<Recipient>,
    rng: ChaCha20Rng,
}

struct Recipient {
    large: Secret,
    clue: Vec<i64>,
    extra: Vec<i64>,
    sparse: ModuleSecret,
    packing: PackingKey,
    narrow: NarrowKey,
}

impl Recipient {
    fn new(opening: &Opening, rng: &mut ChaCha20Rng) -> Self {
        let packing_secret = packing_secret(opening, rng);
        let sparse = sparse_secret(opening, rng);
        let clue = uniform_ternary(rng, CLUE.n);
        let extra: Vec<i64> = (0..EXTRA).map(|_| (rng.next_u32() & 15) as i64).collect();
        let at = |index| MaskSeed::new(&SEED, index);
        Self {
            packing: PackingKey::generate(opening, &clue, &extra, &packing_secret, at(1), rng),
            narrow: NarrowKey::generate(opening, &packing_secret, &sparse, at(2), rng),
            large: Secret::fixed_weight(rng, N, 128, 12.0),
            clue,
            extra,
            sparse,
        }
    }
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
        Self {
            recipients: (0..RECIPIENTS)
                .map(|_| Recipient::new(&opening, &mut rng))
                .collect(),
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
            rng,
        }
    }

    fn ev(&self) -> Evaluator<'_> {
        Evaluator {
            ring: &self.ring,
            plain: &self.plain,
            chain: &self.chain,
            stop: None,
        }
    }

    pub(crate) fn decryptor(&self, recipient: usize) -> Decryptor<'_> {
        Decryptor {
            ring: &self.ring,
            plain: &self.plain,
            secret: &self.recipients[recipient].large,
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
    pub(crate) fn distance(
        &self,
        clues: &Clues,
        message: usize,
        c: usize,
        recipient: usize,
    ) -> i64 {
        let (n, recipient) = (CLUE.n, &self.recipients[recipient]);
        let a = &clues.a[message * n..][..n];
        let product: i64 = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .filter(|(i, j)| (i + j) % n == c)
            .map(|(i, j)| i64::from(a[i]) * recipient.clue[j] * if i + j < n { 1 } else { -1 })
            .sum();
        let extra = &clues.extra[c][message * EXTRA..][..EXTRA];
        let extra: i64 = extra
            .iter()
            .zip(&recipient.extra)
            .map(|(&h, w)| i64::from(h) * w)
            .sum();
        (i64::from(clues.b[c][message]) - product - extra).rem_euclid(CLUE.q as i64)
    }

    /// Narrowed ciphertexts, coordinate by coordinate, block by block.
    pub(crate) fn packed(&self, clues: &Clues) -> Vec<Vec<Narrowed>> {
        let n = self.opening.spec().n;
        let (packing, narrowing): (Vec<&PackingKey>, Vec<&NarrowKey>) = self
            .recipients
            .iter()
            .map(|recipient| (&recipient.packing, &recipient.narrow))
            .unzip();
        let mut out = vec![Vec::new(); CLUE.coordinates];
        for block in 0..self.opening.blocks() {
            let places = block * n..(block + 1) * n;
            let of = |rows: &'_ [Vec<u32>], width: usize| -> Vec<Vec<u32>> {
                rows.iter()
                    .map(|row| row[places.start * width..places.end * width].to_vec())
                    .collect()
            };
            let clues = BlockOfClues {
                a: clues.a[places.start * CLUE.n..places.end * CLUE.n].to_vec(),
                b: of(&clues.b, 1),
                extra: of(&clues.extra, EXTRA),
            };
            for (out, ct) in out
                .iter_mut()
                .zip(pack(&self.opening, &packing, &[clues]).remove(0))
            {
                out.push(narrow(&self.opening, &narrowing, &ct));
            }
        }
        out
    }

    /// Phases modulo p, coordinate by coordinate, place by place.
    pub(crate) fn phases(&self, packed: &[Vec<Narrowed>], recipient: usize) -> Vec<Vec<i64>> {
        let sparse = &self.recipients[recipient].sparse;
        let of = |blocks: &Vec<Narrowed>| {
            blocks
                .iter()
                .flat_map(|ct| sparse.phase(P, &ct.0, recipient))
                .collect()
        };
        packed.iter().map(of).collect()
    }

    /// The slots of each recipient, coordinate by coordinate.
    pub(crate) fn opened(&mut self, packed: &[Vec<Narrowed>]) -> Vec<Vec<Ciphertext>> {
        let [baby, giant] = self.opening.transform_steps();
        let turns = [(1, 10), (baby, 11), (giant, 12)];
        let mut galois: [Vec<GaloisKey>; 3] = Default::default();
        let mut secrets = Vec::new();
        for recipient in &self.recipients {
            let s = recipient.large.poly(&self.ring, &self.shape.extended());
            for (keys, (steps, index)) in galois.iter_mut().zip(turns) {
                keys.push(GaloisKey::generate(
                    &self.ring,
                    &self.shape,
                    &s,
                    Automorphism::rotation(N, steps),
                    P,
                    MaskSeed::new(&SEED, index),
                    &mut self.rng,
                ));
            }
            secrets.push(encrypt_symmetric(
                &self.ring,
                &self.plain,
                &self.chain,
                0,
                &recipient.large.poly(&self.ring, self.chain.basis(0)),
                &secret_slots(&self.opening, &recipient.sparse),
                MaskSeed::new(&SEED, 13),
                &mut self.rng,
            ));
        }
        let [step, baby, giant] = galois.each_ref().map(|keys| keys.iter().collect());
        let step: Vec<&GaloisKey> = step;
        let secrets = SharedRlwe {
            mask: secrets[0].parts()[1].clone(),
            bodies: secrets.iter().map(|ct| ct.parts()[0].clone()).collect(),
        };
        let (ev, opening) = (self.ev(), &self.opening);
        let turned = Turned::new(&ev, opening, secrets, &step).unwrap();
        let keys = OpeningKeys { baby, giant };
        let values = PhaseValues::new(&ev, opening, &turned, &keys, packed).unwrap();
        open(&ev, opening, &keys, values, 0).unwrap()
    }

    /// With masks that all recipients hold together.
    pub(crate) fn rebuild_keys(&mut self) {
        let bodies = self.opening.packing_bodies(EXTRA);
        let packing = PackingKey::masks(&self.opening, bodies, MaskSeed::new(&SEED, 1));
        let narrow = NarrowKey::masks(&self.opening, MaskSeed::new(&SEED, 2));
        for recipient in &mut self.recipients {
            let bodies = recipient.packing.bodies().cloned().collect();
            recipient.packing = PackingKey::from_bodies(&self.opening, bodies, packing.clone());
            let bodies = recipient.narrow.bodies().cloned().collect();
            recipient.narrow = NarrowKey::from_bodies(&self.opening, bodies, narrow.clone());
        }
    }
}
