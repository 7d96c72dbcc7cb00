//! The compression of a chosen pertinency vector, encrypted part by part in the small ring.

use super::super::blocks::Blocks;
use super::super::{Bundles, Compressor, PaperError, Pertinency, RowShape, RowSource, SumNoise};
use crate::clear::Part;
use crate::clear::{Params, Spec};
use crate::detector::params_of;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use omr_bgv::GaloisKey;
use omr_detector::Quiet;
use omr_protocol::Mismatch;
use omr_protocol::PackedCiphertext;
use omr_protocol::sophomr::{BODY_BITS, MASK_BITS};
use omr_ring::{Coeff, Poly, centered_f64, centered_mod};
use omr_rlwe::{MaskSeed, Rlwe, Secret, SecretPoly, SharedKey, decrypt_residues, encrypt, mask};
use std::sync::{Arc, LazyLock};

const SEED: [u8; 32] = [5; 32];

struct World {
    params: Arc<Params>,
    small: Secret,
    expansion: Vec<GaloisKey>,
    finals: Vec<SecretPoly>,
    last: SharedKey,
}

fn world() -> &'static World {
    static WORLD: LazyLock<World> = LazyLock::new(|| World::new("insecure-tiny-perfomr1-v1"));
    &WORLD
}

impl World {
    fn new(name: &str) -> Self {
        let params = params_of(name);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let small = Secret::uniform_ternary(&mut rng, params.small.n());
        let shape = &params.small_shape;
        let key = small.poly(&params.small, &shape.extended());
        let mut galois = |level| {
            let part = Part::Merge(level);
            let (g, at) = (
                part.exponent(&params).unwrap(),
                MaskSeed::new(&SEED, part.index()),
            );
            let p = params.p().value();
            GaloisKey::generate(&params.small, shape, &key, g, p, at, &mut rng)
        };
        let expansion = params.merge_levels().map(&mut galois).collect();
        let ring = &params.final_ring;
        let finals: Vec<SecretPoly> = (0..params.final_shape.bodies())
            .map(|_| Secret::uniform_ternary(&mut rng, ring.n()).poly(ring, &ring.everything()))
            .collect();
        let at = MaskSeed::new(&SEED, Part::Final.index());
        let last = SharedKey::generate(ring, params.final_shape, &small, &finals, at, &mut rng);
        Self {
            params,
            small,
            expansion,
            finals,
            last,
        }
    }

    /// Encrypts slots of the large ring part by part, all multiplied by `scale`.
    fn pertinency(&self, slots: &[u32], scale: u64, rng: &mut ChaCha20Rng) -> Pertinency {
        let (params, ring) = (&self.params, &self.params.small);
        let (p, basis) = (params.p(), params.small_basis());
        let coeffs = params.plain.encode(slots);
        let parts = params.slots() / ring.n();
        let secret = self.small.poly(ring, &basis);
        let mut part = |i: usize| {
            let of_part = coeffs[i..].iter().step_by(parts);
            let scaled: Vec<u32> = of_part.map(|&c| p.mul(c.into(), scale) as u32).collect();
            let message = ring.lift_plain(&scaled, p.value() as u32, &basis);
            let c1 = mask(ring, &basis, &[rng.next_u32() as u8; 32], &[i as u64]);
            let c0 = encrypt(ring, &secret, &message, p.value(), &c1, rng);
            Rlwe::new(c0, c1)
        };
        Pertinency {
            parts: (0..parts).map(&mut part).collect(),
            scale,
        }
    }

    fn residues(&self, ct: &Rlwe) -> Poly<Coeff> {
        let ring = &self.params.small;
        decrypt_residues(ring, ct, &self.small.poly(ring, ct.basis()))
    }

    /// Returns the sums of a digest.
    fn decode(&self, digest: &[PackedCiphertext]) -> Vec<u32> {
        let (ring, p) = (&self.params.final_ring, self.params.p().value());
        let components = self.params.final_shape.components;
        let mut out = Vec::new();
        for ct in digest {
            let mask_coeffs = Poly::from_rows(ring.n(), &ring.everything(), ct.mask.clone());
            let mask = ring.forward(mask_coeffs);
            for (i, part) in ct.parts.iter().enumerate() {
                let product = |c: usize| {
                    let mut product = mask.clone();
                    ring.mul_assign(&mut product, &self.finals[i * components + c]);
                    centered_f64(ring, &ring.inverse(product))
                };
                let products: Vec<Vec<f64>> = (0..components).map(product).collect();
                for (at, &body) in part.iter().enumerate() {
                    let product = products[at % components][at / components];
                    let phase = body as f64 / f64::from(BODY_BITS).exp2()
                        + product / f64::from(MASK_BITS).exp2();
                    out.push((phase * p as f64).round().rem_euclid(p as f64) as u32);
                }
            }
        }
        out
    }
}

/// Rows that are a function of the number of the bundle.
struct Rows {
    p: u64,
    shape: RowShape,
}

impl Rows {
    fn value(&self, bundle: usize, which: usize) -> u32 {
        let x = (bundle as u64 * 0x9e37_79b9 + which as u64 * 0x85eb_ca6b + 1)
            .wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        ((x >> 20) % self.p) as u32
    }

    fn index(&self, bundle: usize) -> Vec<(u32, u32)> {
        let entry = |i: usize| {
            let position = self.value(bundle, 1000 + i) as usize % self.shape.index;
            (position as u32, self.value(bundle, 2000 + i))
        };
        (0..6).map(entry).collect()
    }

    fn weight(&self, bundle: usize, r: usize) -> u32 {
        self.value(bundle, 3000 + r)
    }

    fn symbol(&self, bundle: usize, s: usize) -> u32 {
        self.value(bundle, 5000 + s)
    }

    fn with<T>(&self, use_it: impl FnOnce(&RowSource) -> T) -> T {
        use_it(&RowSource {
            index: &|j, out| out.extend(self.index(j)),
            weights: &|j, out| (0..).zip(out).for_each(|(r, w)| *w = self.weight(j, r)),
            symbols: &|j, out| (0..).zip(out).for_each(|(s, x)| *x = self.symbol(j, s)),
        })
    }

    /// Computes the sums from their definition.
    fn sums(&self, bundles: &Bundles, slots: &[u32], out: &mut [u64]) {
        let p = self.p;
        for j in 0..bundles.count() {
            let value = bundles.slots(j).map(|z| u64::from(slots[z])).sum::<u64>() % p;
            if value == 0 {
                continue;
            }
            for (position, x) in self.index(j) {
                let sum = &mut out[position as usize];
                *sum = (*sum + value * u64::from(x)) % p;
            }
            for s in 0..self.shape.symbols {
                for r in 0..self.shape.combinations {
                    let product = u64::from(self.weight(j, r)) * u64::from(self.symbol(j, s)) % p;
                    let sum = &mut out[self.shape.payload(r, s)];
                    *sum = (*sum + value * product) % p;
                }
            }
        }
    }
}

const SHAPE: RowShape = RowShape {
    index: 90,
    combinations: 5,
    symbols: 161,
};

fn sparse(rng: &mut ChaCha20Rng, slots: usize, ones: usize) -> Vec<u32> {
    let mut out = vec![0; slots];
    for _ in 0..ones {
        out[rng.next_u32() as usize % slots] = 1;
    }
    out
}

#[test]
fn leaves_are_the_coefficients() {
    let world = world();
    let (params, p) = (&world.params, world.params.p());
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let slots: Vec<u32> = (0..params.slots()).map(|_| rng.next_u32() % 1000).collect();
    let coeffs = params.plain.encode(&slots);
    let expander = super::expander(params, &world.expansion);
    for (size, count) in [(2, 8), (8, 2)] {
        let bundles = Bundles::new(params, size).unwrap();
        let blocks = Blocks::new(params, &bundles, count).unwrap();
        let pertinency = world.pertinency(&slots, 1, &mut rng);
        for beta in [0, count - 1] {
            let (part, level, number) = blocks.root(beta, size, pertinency.parts.len());
            let node = expander.node(&pertinency.parts[part], level, number);
            let mut place = 0;
            expander.leaves(node, level, &mut |leaf| {
                let value = centered_mod(&params.small, world.residues(&leaf), p);
                let at = size * (beta + count * blocks.leaf(place));
                let expected = p.mul(coeffs[at].into(), params.small.n() as u64);
                assert_eq!(value[0], expected, "coefficient {at}");
                assert!(value[1..].iter().all(|&x| x == 0));
                place += 1;
            });
            assert_eq!(place, blocks.len);
        }
    }
}

/// The sums over two batches are those of the definition, with rows in one block and in many.
#[test]
fn digests_hold_the_sums_over_bundles() {
    let world = world();
    let p = world.params.p().value();
    let rows = Rows { p, shape: SHAPE };
    for (size, row_bytes) in [(1, 1 << 30), (2, 1 << 30), (2, 1 << 18), (4, 1), (8, 1)] {
        let mut rng = ChaCha20Rng::seed_from_u64(size as u64);
        let bundles = Bundles::new(&world.params, size).unwrap();
        let (params, keys) = (&world.params, &world.expansion);
        let mut compressor = Compressor::with_keys(params, keys, &world.last, bundles, SHAPE)
            .unwrap()
            .with_row_bytes(row_bytes);
        let mut expected = vec![0; SHAPE.positions()];
        for scale in [1, 4711] {
            let slots = sparse(&mut rng, world.params.slots(), 20);
            rows.sums(&bundles, &slots, &mut expected);
            let pertinency = world.pertinency(&slots, scale, &mut rng);
            let added = rows.with(|rows| compressor.add_batch(&pertinency, rows, &Quiet));
            added.unwrap();
        }
        let (digest, _) = compressor.finish();
        let found: Vec<u64> = world.decode(&digest).into_iter().map(u64::from).collect();
        assert_eq!(found, expected, "bundles of {size}");
    }
}

#[test]
fn noise_is_as_predicted() {
    noise(world(), 1);
}

/// This test takes a minute.
#[test]
#[ignore = "full size"]
fn full_size_noise_is_as_predicted() {
    noise(&World::new("perfomr1-v2"), 2);
}

fn noise(world: &World, size: usize) {
    let (params, n) = (&world.params, world.params.small.n() as f64);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let bundles = Bundles::new(params, size).unwrap();
    let slots = sparse(&mut rng, params.slots(), 50);
    let pertinency = world.pertinency(&slots, 1, &mut rng);
    let noise = |ct: &Rlwe| -> f64 {
        let values = centered_f64(&params.small, &world.residues(ct));
        values.iter().map(|x| x * x).sum::<f64>()
    };
    let start = pertinency.parts.iter().map(noise).sum::<f64>() / params.slots() as f64;
    let predicted = SumNoise::from_start(params, start.log2() / 2.0, bundles.count());
    // The leaves of all parts.
    let expander = super::expander(params, &world.expansion);
    let (mut leaves, mut count) = (0.0, 0.0);
    for part in &pertinency.parts {
        expander.leaves(part.clone(), 0, &mut |leaf| {
            leaves += noise(&leaf);
            count += 1.0;
        });
    }
    let leaf = (leaves / count).log2() / 2.0;
    assert!((leaf - predicted.leaf).abs() < 0.1, "{leaf} {predicted:?}");
    let (keys, last) = (&world.expansion, &world.last);
    // Every coefficient is used.
    let shape = RowShape {
        index: 96,
        combinations: 4,
        symbols: (params.small.n().max(1024) - 96) / 4,
    };
    let mut compressor = Compressor::with_keys(params, keys, last, bundles, shape).unwrap();
    let rows = Rows {
        p: params.p().value(),
        shape,
    };
    let added = rows.with(|rows| compressor.add_batch(&pertinency, rows, &Quiet));
    added.unwrap();
    let sums = compressor.sums().ciphertexts();
    let all = sums.iter().map(noise).sum::<f64>() / (sums.len() as f64 * n);
    let sum = all.log2() / 2.0;
    println!(
        "start {start:.2}, leaf {leaf:.2}, sum {sum:.2} bits; {predicted:?}",
        start = start.log2() / 2.0
    );
    assert!((sum - predicted.sum).abs() < 0.1, "{sum} {predicted:?}");
}

/// The full-size set has room for the largest number of merged batches.
#[test]
fn the_full_size_modulus_holds_the_sums() {
    let params = params_of("perfomr1-v2");
    let modulus = params.small.log2(&params.small_basis());
    let one = SumNoise::new(&params, params.slots() / 2);
    println!("{one:?}, needed {:.1} of {modulus:.1}", one.needed_bits());
    assert!(one.needed_bits() < modulus - 20.0);
    let most = SumNoise::new(&params, 12 * params.slots());
    assert!(most.needed_bits() < modulus - 15.0);
}

#[test]
fn shapes_and_rows_that_do_not_fit_are_refused() {
    let world = world();
    let (params, keys) = (&world.params, &world.expansion);
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let bundles = Bundles::new(params, 2).unwrap();
    let compressor = |shape| Compressor::with_keys(params, keys, &world.last, bundles, shape);
    let nothing = RowShape {
        index: 0,
        combinations: 3,
        symbols: 0,
    };
    assert!(matches!(compressor(nothing).err(), Some(PaperError::Empty)));
    let other = Params::named(Spec::TINY_SOPHOMR).unwrap();
    let refused = Compressor::with_keys(&other, keys, &world.last, bundles, SHAPE);
    assert!(matches!(refused.err(), Some(PaperError::NoExpansion(_))));
    let mut pertinency = world.pertinency(&vec![0; params.slots()], 1, &mut rng);
    let mut compressor = compressor(SHAPE).unwrap();
    let mut add = |index: (u32, u32), symbol: u32, pertinency: &Pertinency| {
        let source = RowSource {
            index: &|j, out| out.extend((j == 7).then_some(index)),
            weights: &|_, out| out.fill(1),
            symbols: &|_, out| out.fill(symbol),
        };
        compressor.add_batch(pertinency, &source, &Quiet).err()
    };
    let p = params.p().value() as u32;
    let error = add((90, 1), 1, &pertinency);
    assert!(matches!(
        error,
        Some(PaperError::Position {
            bundle: 7,
            found: 90,
            ..
        })
    ));
    let error = add((89, p), 1, &pertinency);
    assert!(matches!(error, Some(PaperError::Residue { bundle: 7, .. })));
    let error = add((89, 1), p, &pertinency);
    assert!(matches!(error, Some(PaperError::Residue { bundle: 0, .. })));
    pertinency.parts.pop();
    let error = add((89, 1), 1, &pertinency);
    assert!(matches!(
        error,
        Some(PaperError::Parts(Mismatch { found: 7, .. }))
    ));
}
