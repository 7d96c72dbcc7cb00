//! Fuzz target: files of secret keys.

use crate::Target;
use crate::clues::VECTORS;
use crate::input::{choose, closed, header, opened};
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::{SecretKey, identity};
use omr_papers::client::{self as papers, LweSecret};
use omr_pdq::Params as PdqParams;
use omr_protocol::frame::Kind;
use omr_protocol::{ClueKind, ClueParams};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("secrets", run, seeds);

const SETS: [&str; 2] = ["insecure-tiny-v4", "insecure-tiny-hybrid-v4"];
/// The first choice for secrets of LWE clues.
const LWE: usize = 64;
/// The first choice for secrets of private queries.
const PDQ: usize = 128;

static RINGS: LazyLock<Vec<Arc<ClueParams>>> = LazyLock::new(|| {
    let named = |name: &&str| ClueParams::named(name).expect("a published set");
    SETS.iter().map(named).collect()
});
static QUERIES: LazyLock<Arc<PdqParams>> =
    LazyLock::new(|| PdqParams::named("insecure-tiny-pdq-v1").expect("a published set"));

fn run(choice: usize, body: &[u8]) {
    let (rings, vectors, queries) = (&*RINGS, &*VECTORS, &*QUERIES);
    bounded(body.len(), 64, || match choice {
        PDQ.. => {
            let file = closed(&header(Kind::PdqSecretKey, queries.name()), body);
            if let Ok(key) = omr_pdq::SecretKey::from_bytes(queries, &file) {
                assert_eq!(*key.to_bytes(queries).expect("written"), file);
            }
        }
        LWE.. => {
            let params = &vectors[choice % vectors.len()];
            let file = named(params.name(), body);
            if let Ok(key) = LweSecret::from_bytes(params, &file) {
                assert_eq!(*key.to_bytes(params).expect("written"), file);
            }
        }
        _ => {
            let params = &rings[choice % rings.len()];
            let file = named(params.name(), body);
            if let Ok(key) = SecretKey::from_bytes(params, &file) {
                assert_eq!(*key.to_bytes(params).expect("written"), file);
            }
        }
    });
}

/// Returns a file whose name is the one that its body begins with.
fn named(params: &str, body: &[u8]) -> Vec<u8> {
    let mut header = header(Kind::SecretKey, params);
    header.key_id = *body.first_chunk().unwrap_or(&header.key_id);
    closed(&header, body)
}

fn seeds() -> Vec<Vec<u8>> {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut seeds = vec![choose(PDQ, &[3; 32])];
    for (i, params) in RINGS.iter().enumerate() {
        for kind in [ClueKind::Plain, ClueKind::Bound] {
            let (key, _) = identity(params, kind, &mut rng);
            let file = key.to_bytes(params).expect("written");
            seeds.push(choose(i, &opened(Kind::SecretKey, &file).1));
        }
    }
    for (i, params) in VECTORS.iter().enumerate() {
        let choice = (LWE..).find(|choice| choice % VECTORS.len() == i);
        let (key, _) = papers::identity(params, &mut rng);
        let file = key.to_bytes(params).expect("written");
        let body = opened(Kind::SecretKey, &file).1;
        seeds.push(choose(choice.expect("a number"), &body));
    }
    seeds
}
