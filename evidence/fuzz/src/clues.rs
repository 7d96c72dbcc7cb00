//! Fuzz target: posted clues: plain clues, bound clues, and those of the papers' schemes.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::{BoundSender, ClueSeed, Sender, identity};
use omr_papers::clear::{LweParams, PaperSet};
use omr_papers::client as papers;
use omr_protocol::clue::{Binding, BoundClue, FingerprintKey, Hashed, post_key};
use omr_protocol::{Clue, ClueKind, ClueParams};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("clues", run, seeds);

const BOARD: [u8; 16] = [9; 16];
const PAYLOAD: [u8; 12] = [7; 12];
const SETS: [&str; 4] = [
    "insecure-tiny-v4",
    "insecure-tiny-hybrid-v4",
    "sophomr-v5",
    "instantomr-v2",
];

static RINGS: LazyLock<Vec<Arc<ClueParams>>> = LazyLock::new(|| {
    let named = |name: &&str| ClueParams::named(name).expect("a published set");
    SETS.iter().map(named).collect()
});

pub(crate) static VECTORS: LazyLock<Vec<LweParams>> = LazyLock::new(|| {
    let sets = PaperSet::tiny().into_iter();
    let lwe = sets.filter_map(|set| set.lwe());
    lwe.map(|params| params.expect("a published set")).collect()
});

fn run(choice: usize, rest: &[u8]) {
    let (rings, vectors) = (&*RINGS, &*VECTORS);
    let ring = &rings[choice / 2 % rings.len()];
    bounded(rest.len(), 64, || match choice {
        128.. => vector(&vectors[choice % vectors.len()], rest),
        _ if choice.is_multiple_of(2) => plain(ring, rest),
        _ => bound(ring, rest),
    });
}

fn plain(params: &ClueParams, bytes: &[u8]) {
    if let Ok(clue) = Clue::from_bytes(params, bytes) {
        assert_eq!(clue.to_bytes(params), bytes);
        let _ = clue.check_norm(params);
    }
}

fn bound(params: &ClueParams, bytes: &[u8]) {
    let taken = post_key(params, &BOARD, bytes, &PAYLOAD);
    let Ok(clue) = BoundClue::from_bytes(params, bytes) else {
        assert!(taken.is_err());
        return;
    };
    assert_eq!(clue.to_bytes(params), bytes);
    let to = Binding::new(&BOARD, &PAYLOAD);
    let hashed = Hashed::new(params, to, bytes);
    let mut rows = clue.rows(params, to);
    let expected = rows.clone();
    hashed.rows_into(params, &mut rows);
    assert_eq!(rows, expected);
    let _ = hashed.fingerprint(&FingerprintKey::new(&[1; 32]));
    assert!(taken.is_err() || clue.verify(params, to).is_ok());
}

fn vector(params: &LweParams, bytes: &[u8]) {
    if let Ok(clue) = params.clue_from_bytes(bytes) {
        assert_eq!(params.clue_to_bytes(&clue), bytes);
        let _ = params.check_clue(&clue);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut seeds = Vec::new();
    for (i, params) in RINGS.iter().enumerate() {
        let (_, key) = identity(params, ClueKind::Plain, &mut rng);
        let clue = Sender::new(params, &key).gen_clue(&mut rng);
        seeds.push(choose(2 * i, &clue.to_bytes(params)));
        let (_, key) = identity(params, ClueKind::Bound, &mut rng);
        let sender = BoundSender::new(params, &key, BOARD);
        let clue = sender.clue(&ClueSeed::generate(&mut rng), &PAYLOAD);
        seeds.push(choose(2 * i + 1, &clue.to_bytes(params)));
    }
    for (i, params) in VECTORS.iter().enumerate() {
        let choice = (128..).find(|choice| choice % VECTORS.len() == i);
        let (_, key) = papers::identity(params, &mut rng);
        let clue = papers::LweSender::new(params, &key).gen_clue(&mut rng);
        seeds.push(choose(
            choice.expect("a number"),
            &params.clue_to_bytes(&clue),
        ));
    }
    seeds
}
