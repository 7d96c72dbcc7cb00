//! Fuzz target: files under a passphrase.

use crate::Target;
use crate::input::{choose, closed, header};
use crate::memory::bounded;
use omr_client::locked::{Passphrase, is_locked, unlock};
use omr_protocol::frame::Kind;
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// The fuzz target.
pub const TARGET: Target = Target::new("locked", run, seeds);

/// The kinds of files that may be locked with a passphrase.
const KINDS: [Kind; 3] = [Kind::SecretKey, Kind::Identity, Kind::PdqSecretKey];
/// The position, in a body, of the KiB that its key derivation uses.
const KIB: usize = 2;
/// The KiB that a file may require. A test run uses at most [`BEARABLE`] more than the least.
const ALLOWED: std::ops::RangeInclusive<u32> = 8..=1 << 20;
const BEARABLE: u32 = 16;

static PASSPHRASE: LazyLock<Passphrase> = LazyLock::new(|| {
    let text = Zeroizing::new("correct horse".to_owned());
    Passphrase::new(text).expect("a passphrase")
});

fn run(choice: usize, rest: &[u8]) {
    let kind = KINDS[choice % KINDS.len()];
    let mut body = rest.to_vec();
    if let Some(place) = body.get_mut(KIB..).and_then(<[u8]>::first_chunk_mut) {
        let asked = u32::from_le_bytes(*place);
        if ALLOWED.contains(&asked) {
            *place = (ALLOWED.start() + asked % BEARABLE).to_le_bytes();
        }
    }
    let file = closed(&header(Kind::Locked, "hybrid-v4"), &body);
    assert!(is_locked(&file));
    bounded(file.len(), 8, || {
        // No file was encrypted to these bytes under that passphrase.
        assert!(unlock(kind, &file, &PASSPHRASE).is_err());
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let body = |kind: Kind, cost: [u32; 3], rest: usize| {
        let mut body = (kind as u16).to_le_bytes().to_vec();
        body.extend(cost.into_iter().flat_map(u32::to_le_bytes));
        body.extend(vec![7; 16 + rest + 16]);
        body
    };
    let each = KINDS.into_iter().enumerate();
    let mut seeds: Vec<_> = each
        .map(|(i, kind)| choose(i, &body(kind, [8, 1, 1], 40)))
        .collect();
    for cost in [[7, 1, 1], [8, 17, 1], [8, 1, 2], [1 << 21, 1, 1]] {
        seeds.push(choose(0, &body(Kind::SecretKey, cost, 0)));
    }
    seeds
}
