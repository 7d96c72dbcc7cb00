//! Cases for samplers, clues and keys. If sampling may be repeated, secrets are generated unmarked and marked
//! afterwards.

use crate::rng::SecretRng;
use crate::{Case, Expected};
use chacha20::ChaCha20Rng;
use omr_client::{SecretKey, Sender, identity, write_detection_key};
use omr_kernels::Modulus;
use omr_marks::hide;
use omr_protocol::sophomr::Epoch;
use omr_protocol::{ClueKey, ClueKind, EngineKind, ParamSet};
use omr_ring::{NarrowGaussian, centered_binomial, fixed_weight, uniform_ternary};
use omr_rlwe::Secret;
use rand_core::SeedableRng;
use std::hint::black_box;

/// Small rings of the clients' default set, `sophomr-v5`. Every function is the same in all dimensions.
pub(crate) const BULK: &str = "insecure-tiny-v4";
/// Small rings of the servers' default set, `hybrid-v4`: rounded clues with two secrets in blocks.
pub(crate) const HYBRID: &str = "insecure-tiny-hybrid-v4";

pub(crate) const BOARD: [u8; 16] = [3; 16];

pub(crate) fn all() -> Vec<Case> {
    use EngineKind::{Instantomr, Sophomr};
    vec![
        Case::new("a branch", branch).expecting(Expected::Leak),
        Case::new("an address", address).expecting(Expected::Leak),
        Case::new("samplers", samplers),
        Case::new("secrets with bounded embeddings", bounded),
        Case::new("residues of signed words", residues),
        Case::new("plain clues that are halved", || plain_clues("sophomr-v5")),
        Case::new("plain clues that are rounded", || {
            plain_clues("instantomr-v2")
        }),
        Case::new("secrets and addresses", || {
            for set in [BULK, HYBRID] {
                let set = set_of(set);
                black_box(identity(set.clue(), ClueKind::Bound, &mut SecretRng::new()));
            }
        }),
        Case::new("keys of SophOMR", || keys(BULK, Sophomr)),
        Case::new("keys of SophOMR in hybrid sets", || keys(HYBRID, Sophomr)),
        Case::new("keys of InstantOMR", || keys(HYBRID, Instantomr)),
    ]
}

pub(crate) fn public() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([2; 32])
}

pub(crate) fn set_of(name: &str) -> ParamSet {
    ParamSet::named(name).expect("published")
}

/// Returns a recipient whose secrets are not marked.
pub(crate) fn recipient(set: &ParamSet) -> (SecretKey, ClueKey) {
    identity(set.clue(), ClueKind::Bound, &mut public())
}

/// Marks all secrets of a recipient.
pub(crate) fn hide_secrets(secret: &SecretKey) {
    hide(secret.clue_secret().coeffs());
    hide(secret.instant_secret().coeffs());
    hide(std::slice::from_ref(secret.digest_secret()));
    hide(std::slice::from_ref(secret.seal_secret()));
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

/// Samples secrets of the large ring. Some are rejected.
fn bounded() {
    black_box(Secret::fixed_weight(&mut SecretRng::new(), 1024, 64, 6.0));
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
    let set = set_of(set);
    let (_, address) = identity(set.clue(), ClueKind::Plain, &mut public());
    let sender = Sender::new(set.clue(), &address);
    black_box(sender.gen_clue(&mut SecretRng::new()));
}

/// Generates a detection key from a marked secret with a generator whose numbers are secret, and writes the file.
fn keys(set: &str, engine: EngineKind) {
    let set = set_of(set);
    let (secret, _) = recipient(&set);
    hide_secrets(&secret);
    let epoch = Epoch {
        board: BOARD,
        number: 226,
    };
    let mut file = Vec::new();
    let rng = &mut SecretRng::new();
    write_detection_key(&set, engine, &secret, Some(&epoch), rng, &mut file).expect("a key");
    black_box(file);
}
