//! A setting of small, insecure dimensions with all keys.

use chacha20::ChaCha20Rng;
use omr_bgv::{Chain, GaloisKey, Plain, encrypt_symmetric};
use omr_codec::Nodes;
use omr_compress::{
    CodeTables, Codes, Finisher, Functionals, Images, KeyUse, Keys, MergeKeys, PackedCiphertext,
    Packing, Phases, Plaintexts, Round, SUM_PRIME_BITS, Setting, Sums, SumsShape, encrypted_sum,
    merge_levels, pack,
};
use omr_ring::{Basis, Kernels, Ring, primes_below};
use omr_rlwe::{Descent, KeyShape, MaskSeed, Rlwe, Secret, SharedKey, SharedShape, SwitchingKey};
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

/// Dimensions of the three rings: they hide nothing.
const INSECURE_LARGE: usize = 512;
const INSECURE_SMALL: usize = 128;
const INSECURE_FINAL: usize = 32;

const SEED: [u8; 32] = [7; 32];

/// The masks' indices.
const DESCENT: u64 = 0;
const TURN: u64 = 1;
const SWAP: u64 = 2;
const LAST: u64 = 3;
const MERGE: u64 = 16;
const VECTORS: u64 = 64;

/// The modulus of private database queries: 9 * 2^17 + 1.
pub(crate) const P: u64 = 1_179_649;

/// Rings, nodes and the keys of one recipient.
pub(crate) struct InsecureWorld {
    large: Ring,
    small: Ring,
    plain: Plain,
    small_plain: Plain,
    nodes: Nodes,
    final_ring: Arc<Ring>,
    final_shape: SharedShape,
    limbs: usize,
    sum_primes: usize,
    secret: Secret,
    descent: SwitchingKey,
    turn: GaloisKey,
    swap: GaloisKey,
    merge: Vec<GaloisKey>,
    first_merge: u32,
    last: SharedKey,
    last_secrets: Vec<Secret>,
    tables: CodeTables,
    rng: ChaCha20Rng,
}

impl InsecureWorld {
    /// Small ciphertexts have `limbs` primes of `bits` bits; `width`: the least that is packed.
    pub(crate) fn new(limbs: usize, bits: u32, width: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(limbs as u64);
        let kernels = Kernels::detect();
        let mut primes = primes_below(bits, INSECURE_LARGE, limbs, &[]).unwrap();
        primes.extend(primes_below(50, INSECURE_LARGE, limbs, &primes).unwrap());
        let large = Ring::with_kernels(INSECURE_LARGE, &primes, kernels).unwrap();
        let sum_primes = (bits as usize * limbs).div_ceil(SUM_PRIME_BITS as usize);
        primes.extend(primes_below(SUM_PRIME_BITS, INSECURE_SMALL, sum_primes, &primes).unwrap());
        let small = Ring::with_kernels(INSECURE_SMALL, &primes, kernels).unwrap();
        let last_prime = primes_below(50, INSECURE_FINAL, 1, &[]).unwrap();
        let final_ring =
            Arc::new(Ring::with_kernels(INSECURE_FINAL, &last_prime, kernels).unwrap());
        let final_shape = SharedShape {
            components: INSECURE_SMALL / INSECURE_FINAL,
            parts: 2,
            digits: 2,
            digit_bits: 16,
        };
        let shape = KeyShape::new(&Basis::new(0..limbs), 1, &Basis::new(limbs..2 * limbs));
        let extended = shape.extended();
        let secret = Secret::uniform_ternary(&mut rng, INSECURE_LARGE);
        let small_secret = Secret::uniform_ternary(&mut rng, INSECURE_SMALL);
        let from = secret.poly(&large, &extended);
        let to = small_secret.spread(INSECURE_LARGE / INSECURE_SMALL);
        let to = to.poly(&large, &extended);
        let descent = SwitchingKey::generate(
            &large,
            &shape,
            &from,
            &to,
            P,
            MaskSeed::new(&SEED, DESCENT),
            &mut rng,
        );
        let s = small_secret.poly(&small, &extended);
        let mut galois = |key: KeyUse, index| {
            let g = key.exponent(INSECURE_SMALL);
            GaloisKey::generate(
                &small,
                &shape,
                &s,
                g,
                P,
                MaskSeed::new(&SEED, index),
                &mut rng,
            )
        };
        let levels = merge_levels(INSECURE_SMALL, width);
        let first_merge = *levels.start();
        let turn = galois(KeyUse::Turn, TURN);
        let swap = galois(KeyUse::Swap, SWAP);
        let merge = levels
            .map(|level| galois(KeyUse::Merge(level), MERGE + u64::from(level)))
            .collect();
        let last_secrets: Vec<Secret> = (0..final_shape.bodies())
            .map(|_| Secret::uniform_ternary(&mut rng, INSECURE_FINAL))
            .collect();
        let everything = final_ring.everything();
        let polys: Vec<_> = last_secrets
            .iter()
            .map(|secret| secret.poly(&final_ring, &everything))
            .collect();
        let at = MaskSeed::new(&SEED, LAST);
        let last = SharedKey::generate(
            &final_ring,
            final_shape,
            &small_secret,
            &polys,
            at,
            &mut rng,
        );
        let plain = Plain::new(P, INSECURE_LARGE, kernels).unwrap();
        let small_plain = Plain::new(P, INSECURE_SMALL, kernels).unwrap();
        let nodes = Nodes::new(P as u32, INSECURE_LARGE).unwrap();
        let tables = CodeTables::new(Setting {
            plain: &plain,
            small_plain: &small_plain,
            nodes: &nodes,
            packing: Packing {
                small: &small,
                p: plain.p(),
                limbs,
                final_ring: &final_ring,
                final_shape,
                mask_bits: 29,
                body_bits: 21,
            },
            sum_primes,
        });
        Self {
            large,
            small,
            plain,
            small_plain,
            nodes,
            final_ring,
            final_shape,
            limbs,
            sum_primes,
            secret,
            descent,
            turn,
            swap,
            merge,
            first_merge,
            last,
            last_secrets,
            tables,
            rng,
        }
    }

    pub(crate) fn setting(&self) -> Setting<'_> {
        Setting {
            plain: &self.plain,
            small_plain: &self.small_plain,
            nodes: &self.nodes,
            packing: Packing {
                small: &self.small,
                p: self.plain.p(),
                limbs: self.limbs,
                final_ring: &self.final_ring,
                final_shape: self.final_shape,
                mask_bits: 29,
                body_bits: 21,
            },
            sum_primes: self.sum_primes,
        }
    }

    fn keys(&self) -> Keys<'_> {
        Keys {
            turn: &self.turn,
            swap: &self.swap,
            merge: MergeKeys {
                keys: &self.merge,
                first_level: self.first_merge,
            },
            last: &self.last,
        }
    }

    /// Values modulo p, one for each slot.
    pub(crate) fn values(&mut self) -> Vec<u32> {
        (0..INSECURE_LARGE)
            .map(|_| self.rng.next_u32() % P as u32)
            .collect()
    }

    /// A vector encrypted in the large ring and brought to the small one.
    pub(crate) fn encrypt(&mut self, slots: &[u32], number: u64) -> Vec<Rlwe> {
        let basis = Basis::new(0..self.limbs);
        let secret = self.secret.poly(&self.large, &basis);
        let chain = Chain::new(vec![basis.clone()]);
        let at = MaskSeed::new(&SEED, VECTORS + number);
        let rng = &mut self.rng;
        let ct = encrypt_symmetric(&self.large, &self.plain, &chain, 0, &secret, slots, at, rng);
        let descent = Descent {
            large: &self.large,
            small: &self.small,
            key: &self.descent,
        };
        descent.apply(&ct.into_pair(), &basis, self.plain.p())
    }

    fn codes(&self, shape: SumsShape, round: usize, batch: usize, images: &mut Images) -> Codes {
        let setting = self.setting();
        let round = Round::new(setting, shape, round, batch, 1);
        let images = std::slice::from_mut(images);
        let codes = self.tables.codes(setting, &round, images, &|| true);
        codes.unwrap().remove(0)
    }

    /// The digest of encrypted vectors, one a batch, with the symbols of each: symbol by symbol, one value for
    /// each place; `places` has the place for each slot.
    pub(crate) fn digest(
        &self,
        shape: SumsShape,
        vectors: &[Vec<Rlwe>],
        symbols: &[Vec<Vec<u32>>],
        places: &[u32],
    ) -> Vec<PackedCiphertext> {
        let setting = self.setting();
        let order = self.tables.classes().order(setting.small_plain, places);
        let mut plaintexts = Plaintexts::new(setting, shape, shape.stride());
        let mut images: Vec<Images> = vectors
            .iter()
            .map(|vector| Images::new(self.keys(), vector, true))
            .collect();
        self.packed(shape, |round, ciphertext, sums| {
            let range = shape.symbols_of(ciphertext);
            for (batch, (images, symbols)) in images.iter_mut().zip(symbols).enumerate() {
                let codes = self.codes(shape, round, batch, images);
                let columns: Vec<&[u32]> = symbols[range.clone()].iter().map(|x| &x[..]).collect();
                plaintexts.encode(setting, &order, &columns);
                sums.add(&codes, &plaintexts, 0..columns.len());
            }
        })
    }

    /// The digest of encrypted products of vectors and symbols: batch by batch, symbol by symbol.
    pub(crate) fn digest_of_encrypted(
        &self,
        shape: SumsShape,
        products: &[Vec<Vec<Rlwe>>],
    ) -> Vec<PackedCiphertext> {
        let (setting, keys) = (self.setting(), self.keys());
        let mut finisher = Finisher::new(setting.packing, &self.last, shape);
        for (round, ciphertext) in shape.positions() {
            let functionals = |batch| {
                let round = Round::new(setting, shape, round, batch, 1);
                self.tables.functionals(setting, &round)
            };
            let functionals: Vec<Functionals> = (0..products.len()).map(functionals).collect();
            let sum = |symbol: usize| {
                let products = products.iter().map(|symbols| &symbols[symbol][..]);
                let batches: Vec<(&Functionals, &[Rlwe])> =
                    functionals.iter().zip(products).collect();
                encrypted_sum(setting, keys, &batches)
            };
            let sums = shape.symbols_of(ciphertext).map(sum).collect();
            finisher.push(&pack(setting.packing, shape, keys.merge, sums));
        }
        finisher.finish()
    }

    /// The digest of encrypted products of vectors and symbols, computed by the codes of each
    /// product.
    pub(crate) fn digest_of_encrypted_codes(
        &self,
        shape: SumsShape,
        products: &[Vec<Vec<Rlwe>>],
    ) -> Vec<PackedCiphertext> {
        self.packed(shape, |round, ciphertext, sums| {
            for (batch, products) in products.iter().enumerate() {
                for (i, symbol) in shape.symbols_of(ciphertext).enumerate() {
                    let mut images = Images::new(self.keys(), &products[symbol], false);
                    sums.add_codes(&self.codes(shape, round, batch, &mut images), i);
                }
            }
        })
    }

    fn packed(
        &self,
        shape: SumsShape,
        mut fill: impl FnMut(usize, usize, &mut Sums),
    ) -> Vec<PackedCiphertext> {
        let mut finisher = Finisher::new(self.setting().packing, &self.last, shape);
        for (round, ciphertext) in shape.positions() {
            let mut sums = Sums::new(self.setting(), shape.symbols_of(ciphertext).len());
            fill(round, ciphertext, &mut sums);
            finisher.push(&sums.pack(shape, self.keys().merge));
        }
        finisher.finish()
    }

    pub(crate) fn phases(&self) -> Phases {
        let everything = self.final_ring.everything();
        let secrets = self.last_secrets.iter();
        let secrets = secrets.map(|secret| secret.poly(&self.final_ring, &everything));
        Phases::new(self.setting().packing.last(), secrets.collect())
    }

    /// `sum x^e v L` over the slots of all batches, for each symbol and exponent, in the clear.
    pub(crate) fn expected(
        &self,
        shape: SumsShape,
        vectors: &[Vec<u32>],
        symbols: &[Vec<Vec<u32>>],
        places: &[u32],
    ) -> Vec<Vec<u32>> {
        let p = self.plain.p();
        let mut sums = vec![vec![0; shape.bound()]; shape.symbols()];
        for (batch, (vector, symbols)) in vectors.iter().zip(symbols).enumerate() {
            for (slot, &value) in vector.iter().enumerate() {
                let node = self.nodes.node(batch, slot);
                for (sums, column) in sums.iter_mut().zip(symbols) {
                    let mut term = p.mul(value.into(), column[places[slot] as usize].into());
                    for sum in sums {
                        *sum = p.add(u64::from(*sum), term) as u32;
                        term = p.mul(term, node.into());
                    }
                }
            }
        }
        sums
    }
}
