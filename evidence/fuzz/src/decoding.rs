//! Fuzz target: hostile digests that a recipient decodes.

use crate::Target;
use crate::input::{Opened, choose, closed, opened, patched};
use crate::memory::bounded;
use omr_client::{SecretKey, decode};
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response};
use std::sync::LazyLock;

/// The fuzz target.
pub const TARGET: Target = Target::new("decoding", run, seeds);

/// A frozen digest with the secret that decodes it.
pub(crate) struct Frozen {
    /// The number of the parameter set.
    pub(crate) set: usize,
    secret: &'static [u8],
    pub(crate) digest: &'static [u8],
}

macro_rules! frozen {
    ($set:expr, $folder:literal, $digest:literal) => {
        Frozen {
            set: $set,
            secret: include_bytes!(concat!("../../../testdata/wire/v1/", $folder, "secret.key")),
            digest: include_bytes!(concat!("../../../testdata/wire/v1/", $folder, $digest)),
        }
    };
}

pub(crate) const FILES: [Frozen; 3] = [
    frozen!(0, "opened-v4/", "digest.bin"),
    frozen!(1, "instant-v4/", "digest.bin"),
    frozen!(1, "instant-v4/", "digest-97.bin"),
];

/// The parameter sets, by number.
pub(crate) static SETS: LazyLock<Vec<ParamSet>> = LazyLock::new(|| {
    let names = ["insecure-tiny-v4", "insecure-tiny-hybrid-v4"];
    let named = |name| ParamSet::named(name).expect("a published set");
    names.map(named).into()
});

struct Known {
    set: &'static ParamSet,
    secret: SecretKey,
    digest: Opened,
    posted: Vec<Vec<u8>>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| FILES.iter().map(known).collect());

fn known(file: &Frozen) -> Known {
    let set = &SETS[file.set];
    // Digests may need the tables of both engines.
    let _ = (set.sophomr(), set.instantomr());
    let secret = SecretKey::from_bytes(set.clue(), file.secret).expect("a frozen key");
    let response = Response::from_bytes(set, file.digest).expect("a frozen digest");
    let found = decode(set, &secret, &response).expect("it decodes");
    let posted: Vec<Vec<u8>> = found.into_iter().filter_map(|one| one.payload).collect();
    assert!(!posted.is_empty());
    Known {
        set,
        secret,
        digest: opened(Kind::Digest, file.digest),
        posted,
    }
}

/// The first choice for any body; lower choices change a valid one.
const ANY: usize = 128;

fn run(choice: usize, rest: &[u8]) {
    let known = &KNOWN[choice % KNOWN.len()];
    let (header, right) = &known.digest;
    let body = match choice {
        ANY.. => rest.to_vec(),
        _ => patched(right, rest),
    };
    bounded(body.len(), 1024, || {
        let file = closed(header, &body);
        let Ok(response) = Response::from_bytes(known.set, &file) else {
            return;
        };
        let found = decode(known.set, &known.secret, &response).unwrap_or_default();
        assert!(found.len() <= response.places());
        for payload in found.into_iter().filter_map(|one| one.payload) {
            assert!(known.posted.contains(&payload), "a payload nobody posted");
        }
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let all = KNOWN.iter().enumerate();
    all.flat_map(|(i, known)| {
        let any = (ANY..).find(|choice| choice % KNOWN.len() == i);
        let body = known.digest.1.len() as u32 - 1;
        let [a, b, ..] = body.to_le_bytes();
        [
            choose(i, &[]),
            choose(i, &[a, b, 0, 4, 200, 0, 0, 1]),
            choose(any.expect("a number"), &known.digest.1),
        ]
    })
    .collect()
}
