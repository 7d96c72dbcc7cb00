//! What is run. Secrets are made in the open and marked afterwards, where drawing them may be repeated.

use crate::memcheck::hide;
use crate::rng::SecretRng;
use chacha20::ChaCha20Rng;
use omr_bgv::{GaloisKey, encrypt_symmetric};
use omr_client::{Sender, identity};
use omr_kernels::Modulus;
use omr_protocol::instantomr::InstantParams;
use omr_protocol::sophomr::{Params, Part};
use omr_protocol::{ClueKind, ParamSet};
use omr_ring::{NarrowGaussian, centered_binomial, fixed_weight, uniform_ternary};
use omr_rlwe::{Secret, SecretPoly, SharedKey, SwitchingKey, encrypt, mask};
use omr_tfhe::{BlockSecret, BootstrapKey, LweSwitchKey, TraceKey};
use rand_core::SeedableRng;
use std::hint::black_box;
use std::sync::Arc;

/// Something that runs on marked secrets.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Whether it depends on them on purpose.
    pub(crate) leaks: bool,
    pub(crate) run: fn(),
}

/// Public seed of masks.
const SEED: [u8; 32] = [1; 32];

/// Small rings: every function is the same at any dimension.
const TINY: &str = "insecure-tiny-hybrid-v1";

pub(crate) fn all() -> Vec<Case> {
    let leak = |name, run| Case {
        name,
        leaks: true,
        run,
    };
    let case = |name, run| Case {
        name,
        leaks: false,
        run,
    };
    vec![
        leak("a branch", branch),
        leak("an address", address),
        case("samplers", samplers),
        case("residues of signed words", residues),
        case("clues", || plain_clues("sophomr-v3")),
        case("clues that are rounded", || plain_clues("instantomr-v2")),
        case("encryption of slots", slots),
        case("switching keys", switching_keys),
        case("the key to the ring of digests", shared_key),
        case("keys of InstantOMR", instant_keys),
        case("products with digests' secrets", digest_products),
    ]
}

fn public() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([2; 32])
}

fn branch() {
    let secret = black_box([5u64]);
    hide(&secret);
    if black_box(secret)[0] > 3 {
        black_box(());
    }
}

fn address() {
    let secret = black_box([5usize]);
    hide(&secret);
    black_box(black_box([0u8; 16])[black_box(secret)[0] & 15]);
}

fn samplers() {
    let rng = &mut SecretRng::new();
    black_box(centered_binomial(rng, 256));
    black_box(uniform_ternary(rng, 256));
    black_box(fixed_weight(rng, 1024, 120));
    black_box(NarrowGaussian::new(0.46).sample(rng, 256));
    black_box(NarrowGaussian::new(9.9).sample(rng, 256));
}

fn residues() {
    let m = Modulus::new(786_433).expect("a prime");
    let words: Vec<i64> = (-64..64).map(|x| x * 1_000_003).collect();
    hide(&words);
    let residues: Vec<u64> = words.iter().map(|&x| m.from_i64(x)).collect();
    let back: Vec<i64> = residues.iter().map(|&x| m.to_centered(x)).collect();
    black_box(back);
}

fn plain_clues(set: &str) {
    let set = ParamSet::named(set).expect("published");
    let (_, clue_key) = identity(set.clue(), ClueKind::Plain, &mut public());
    let sender = Sender::new(set.clue(), &clue_key);
    black_box(sender.candidate(&mut SecretRng::new()));
}

fn bulk() -> Arc<Params> {
    Params::named(TINY).expect("published")
}

/// A secret whose coefficients are marked.
fn secret(n: usize) -> Secret {
    let secret = Secret::uniform_ternary(&mut public(), n);
    hide(secret.coeffs());
    secret
}

fn slots() {
    let params = bulk();
    let (ring, chain) = (&params.ring, &params.chain);
    let s = secret(ring.n()).poly(ring, chain.basis(0));
    let slots: Vec<u32> = (0..params.slots() as u32).collect();
    hide(&slots);
    let at = (&SEED, 0);
    let rng = &mut SecretRng::new();
    black_box(encrypt_symmetric(
        ring,
        &params.plain,
        chain,
        0,
        &s,
        &slots,
        at,
        rng,
    ));
}

fn switching_keys() {
    let params = bulk();
    let rng = &mut SecretRng::new();
    let p = params.p().value();
    for part in [Part::Turn, Part::Product] {
        let (ring, shape) = part.shape(&params);
        let shape = shape.expect("a switching key");
        let s = secret(ring.n()).poly(ring, &shape.extended());
        match part.exponent(&params) {
            Some(g) => {
                let at = (&SEED, part.index());
                black_box(GaloisKey::generate(ring, shape, &s, g, p, at, rng));
            }
            None => {
                let square = s.product(ring, &s);
                let index = part.index();
                black_box(SwitchingKey::generate(
                    ring, shape, &square, &s, p, &SEED, index, rng,
                ));
            }
        }
    }
}

fn digest_secrets(params: &Params) -> Vec<SecretPoly> {
    let ring = &params.final_ring;
    (0..params.final_shape.bodies())
        .map(|_| secret(ring.n()).poly(ring, &ring.everything()))
        .collect()
}

fn shared_key() {
    let params = bulk();
    let from = secret(params.small.n());
    let to = digest_secrets(&params);
    let (ring, shape) = (&params.final_ring, params.final_shape);
    let at = (&SEED, 0);
    black_box(SharedKey::generate(
        ring,
        shape,
        &from,
        &to,
        at,
        &mut SecretRng::new(),
    ));
}

fn instant_keys() {
    let params = InstantParams::named(TINY).expect("published");
    let (ring, spec) = (&params.ring, params.spec());
    let (block, _) = params.blocks();
    let weights = 0..=params.clue.spec().n;
    let clue = BlockSecret::new(&mut public(), params.clue.spec().n, block, weights);
    hide(clue.bits());
    let ternary = secret(ring.n());
    let z = ternary.poly(ring, &ring.everything());
    let (noise, gadget) = (&params.noise, params.bootstrap().gadget);
    let rng = &mut SecretRng::new();
    let at = (&SEED, 0);
    black_box(BootstrapKey::generate(
        ring, gadget, &clue, &z, at, noise, rng,
    ));
    black_box(TraceKey::generate(ring, spec.trace, &z, at, noise, rng));
    let (small, errors) = (&params.small, &params.switch_noise);
    black_box(LweSwitchKey::generate(
        small,
        spec.switch,
        &ternary,
        &clue,
        at,
        errors,
        rng,
    ));
}

/// What decrypts: a mask in the clear times a secret, and the lift of what comes out.
fn digest_products() {
    let params = bulk();
    let ring = &params.final_ring;
    let basis = ring.everything();
    let s = secret(ring.n()).poly(ring, &basis);
    let c1 = mask(ring, &basis, &SEED, &[0]);
    let zero = omr_ring::Poly::zero(ring, &basis);
    let c0 = encrypt(ring, &s, &zero, 1, &c1, &mut SecretRng::new());
    let value = omr_rlwe::decrypt_residues(ring, &omr_rlwe::Rlwe::new(c0, c1), &s);
    let m = ring.modulus(0);
    let centered: Vec<i64> = value.row(0).iter().map(|&x| m.to_centered(x)).collect();
    black_box(centered);
}
