//! Fuzz target: keys that servers accept from strangers, for detection by both engines and for private queries.

use crate::Target;
use crate::input::{Opened, choose, closed, opened, patched};
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::sophomr::detection_key;
use omr_client::{identity, instantomr};
use omr_pdq::{EvaluationKey, Params as PdqParams, SecretKey, Spec};
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_protocol::params::{ClueSpec, SecondSecret, SecretSpec, SetSpec};
use omr_protocol::sophomr::{DetectionKey, FinalRingSpec, Params, ParamsSpec};
use omr_protocol::{ClueKind, ClueParams};
use omr_ring::Kernels;
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("keys", run, seeds);

struct World {
    bulk: Params,
    instant: InstantParams,
    queries: Arc<PdqParams>,
    files: [Opened; 3],
}

/// Returns the smallest set of both engines, whose keys are read in well under a millisecond.
fn smallest() -> (ParamsSpec, SetSpec) {
    let set = SetSpec::named("insecure-tiny-hybrid-v4").expect("a published set");
    let bulk = set.sophomr.clone().expect("SophOMR");
    let mut opening = bulk.opening;
    (opening.n, opening.points, opening.baby) = (8, 4, 2);
    (opening.rank, opening.weight) = (1, 4);
    let clue = ClueSpec {
        n: 8,
        secret: SecretSpec::Ternary { weight: 4 },
        second: set.clue.second.clone().map(|second| SecondSecret {
            secret: SecretSpec::Blocks {
                block: 4,
                weight: 1..=2,
            },
            ..second
        }),
        weight: 4,
        ..set.clue.clone()
    };
    let small = ParamsSpec {
        n: 64,
        small_n: 64,
        final_ring: FinalRingSpec {
            n: 32,
            ..bulk.final_ring
        },
        weight: 16,
        clue: clue.clone(),
        opening,
        ..bulk
    };
    (small, SetSpec { clue, ..set })
}

fn smallest_queries() -> PdqParams {
    let spec = Spec {
        n: 256,
        small_n: 64,
        final_n: 32,
        ..Spec::named("insecure-tiny-pdq-v1").expect("a published set")
    };
    PdqParams::new(spec, Kernels::detect()).expect("a set")
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let (bulk_spec, set) = smallest();
    let clue = ClueParams::new(set.name, set.clue.clone(), Kernels::detect()).expect("clues");
    let bulk = Params::new(bulk_spec, Kernels::detect()).expect("a set");
    let instant = InstantParams::new(set, Kernels::detect()).expect("a set");
    let queries = Arc::new(smallest_queries());
    let (secret, _) = identity(&clue, ClueKind::Bound, &mut rng);
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    let bulk_key = detection_key(&bulk, &secret, None, &mut rng);
    bulk_key.write(&bulk, &mut files[0]).expect("written");
    let instant_key = instantomr::detection_key(&instant, &secret, &mut rng).expect("a key");
    instant_key.write(&instant, &mut files[1]).expect("written");
    let (_, queries_key) = SecretKey::generate(&queries, &mut rng);
    queries_key.write(&queries, &mut files[2]).expect("written");
    let [bulk_file, instant_file, queries_file] = files;
    let files = [
        opened(Kind::DetectionKey, &bulk_file),
        opened(Kind::InstantKey, &instant_file),
        opened(Kind::PdqKey, &queries_file),
    ];
    World {
        bulk,
        instant,
        queries,
        files,
    }
});

/// The first choice for any body; lower choices change a valid one.
const ANY: usize = 128;

fn run(choice: usize, rest: &[u8]) {
    let world = &*WORLD;
    let (header, right) = &world.files[choice % 3];
    let body = match choice {
        ANY.. => rest.to_vec(),
        _ => patched(right, rest),
    };
    let file = closed(header, &body);
    bounded(file.len(), 64, || {
        let mut again = Vec::new();
        match choice % 3 {
            0 => {
                let params = &world.bulk;
                let Ok(key) = DetectionKey::read(params, &file[..]) else {
                    return;
                };
                key.write(params, &mut again).expect("written");
            }
            1 => {
                let params = &world.instant;
                let Ok(key) = InstantKey::read(params, &file[..]) else {
                    return;
                };
                key.write(params, &mut again).expect("written");
            }
            _ => {
                let Ok(key) = EvaluationKey::read(&world.queries, &file[..]) else {
                    return;
                };
                key.write(&world.queries, &mut again).expect("written");
            }
        }
        assert!(again == file, "a key is written as it was read");
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let change = |i| choose(i, &[0, 9, 0, 1]);
    let any = (ANY..ANY + 3).map(|i| choose(i, &[1; 64]));
    (0..3).map(change).chain(any).collect()
}
