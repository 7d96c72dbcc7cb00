//! Keys that servers take from strangers: for detection by both engines, and for private queries.

use crate::Target;
use crate::input::{Opened, choose, chosen, closed, opened, patched};
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::{detection_key, identity, instantomr};
use omr_pdq::{EvaluationKey, Params as PdqParams, SecretKey};
use omr_protocol::frame::Kind;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{ClueKind, DetectionKey, ParamSet};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// This target.
pub const TARGET: Target = Target {
    name: "keys",
    run,
    seeds,
    catches: false,
};

struct World {
    set: ParamSet,
    queries: Arc<PdqParams>,
    files: [Opened; 3],
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let set = ParamSet::named("insecure-tiny-hybrid-v2").expect("a published set");
    let queries = PdqParams::named("insecure-tiny-pdq-v1").expect("a published set");
    let (bulk, instant) = (
        set.bulk().expect("SophOMR"),
        set.instant().expect("InstantOMR"),
    );
    let (secret, _) = identity(set.clue(), ClueKind::Bound, &mut rng);
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    let key = detection_key(bulk, &secret, &mut rng);
    key.write(bulk, &mut files[0]).expect("written");
    let key = instantomr::detection_key(instant, &secret, &mut rng).expect("a key");
    key.write(instant, &mut files[1]).expect("written");
    let (_, key) = SecretKey::generate(&queries, &mut rng);
    key.write(&queries, &mut files[2]).expect("written");
    let kinds = [Kind::DetectionKey, Kind::InstantKey, Kind::PdqKey];
    let mut kinds = kinds.into_iter();
    let files = files.map(|file| opened(kinds.next().expect("three kinds"), &file));
    World {
        set,
        queries,
        files,
    }
});

/// Any body, from here on; else a right one with changes.
const ANY: usize = 128;

fn run(bytes: &[u8]) {
    let Some((choice, rest)) = chosen(bytes) else {
        return;
    };
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
                let params = world.set.bulk().expect("SophOMR");
                let Ok(key) = DetectionKey::read(params, &file[..]) else {
                    return;
                };
                key.write(params, &mut again).expect("written");
            }
            1 => {
                let params = world.set.instant().expect("InstantOMR");
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
