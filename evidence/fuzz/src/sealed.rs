//! Fuzz target: payloads that a recipient opens: any bytes, and any bytes sealed for the recipient.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::fragment::{Reassembler, split};
use omr_client::letter::{Piece, Place, Reader, Writer};
use omr_client::{Fingerprint, Retrieved, SecretKey, identity};
use omr_protocol::clue::{Binding, FingerprintKey, Hashed};
use omr_protocol::{ClueKey, ClueKind, ClueParams, Sealing};
use rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

/// The fuzz target.
pub const TARGET: Target = Target::new("sealed", run, seeds);

const BOARD: [u8; 16] = [1; 16];
const SEALINGS: [Sealing; 3] = [Sealing::None, Sealing::HpkeX25519, Sealing::XWing];
const KINDS: [ClueKind; 2] = [ClueKind::Plain, ClueKind::Bound];
/// The first choice for bytes that are sealed first.
const SEALED: usize = 128;

static PARAMS: LazyLock<Arc<ClueParams>> =
    LazyLock::new(|| ClueParams::named("insecure-tiny-v4").expect("a published set"));
static PEOPLE: LazyLock<[(SecretKey, ClueKey); 2]> = LazyLock::new(|| {
    let mut rng = rng();
    KINDS.map(|kind| identity(&PARAMS, kind, &mut rng))
});

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(5)
}

fn run(choice: usize, rest: &[u8]) {
    let kind = KINDS[choice % 2];
    let sealing = SEALINGS[choice / 2 % 3];
    let (secret, address) = &PEOPLE[choice % 2];
    let place = Place {
        board_id: BOARD,
        params: PARAMS.name().to_owned(),
        sealing,
        payload_bytes: 200,
    };
    bounded(rest.len(), 64, || {
        let reader = Reader::new(&PARAMS, secret, &place);
        match choice {
            SEALED.. => sealed(&reader, place.clone(), address, kind, rest),
            _ => any(&reader, sealing, kind, rest),
        }
    });
}

fn fingerprint(kind: ClueKind, value: u32) -> Option<Fingerprint> {
    let key = FingerprintKey::new(&[9; 32]);
    (kind == ClueKind::Bound).then_some(Fingerprint { key, value })
}

/// Checks that a payload that was not sealed does not open.
fn any(reader: &Reader, sealing: Sealing, kind: ClueKind, payload: &[u8]) {
    let found = [Retrieved::new(
        5,
        Some(payload.to_vec()),
        fingerprint(kind, 7),
    )];
    let opened = reader.open(&found, 1);
    assert!(sealing == Sealing::None || opened.iter().all(|(_, one)| one.is_err()));
}

/// Checks that a sealed payload opens, and yields the part that was sealed.
fn sealed(reader: &Reader, place: Place, address: &ClueKey, kind: ClueKind, part: &[u8]) {
    let unsealed = place.sealing == Sealing::None;
    let writer = Writer::new(&PARAMS, address, place).expect("an address");
    let message = writer.message(&mut rng(), part).expect("a message");
    let binding = Binding::new(&BOARD, &message.payload);
    let value = match kind {
        ClueKind::Plain => 0,
        ClueKind::Bound => {
            let key = FingerprintKey::new(&[9; 32]);
            Hashed::new(&PARAMS, binding, &message.clue).fingerprint(&key)
        }
    };
    let found = [Retrieved::new(
        5,
        Some(message.payload.clone()),
        fingerprint(kind, value),
    )];
    let opened = reader.open(&found, 1);
    assert!(opened.len() == 1 || unsealed);
    let is_part = Reassembler::new().push(part).is_ok();
    for (_, one) in opened {
        assert_eq!(one.is_ok(), is_part);
        if let Ok(Piece::PartOf(_, found)) = one {
            assert_eq!(*found, part);
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for choice in 0..6 {
        seeds.push(choose(choice, &[3; 200]));
        seeds.push(choose(choice, &[3; 1300]));
        for len in [10, 300] {
            let parts = split(&vec![7; len], 120, &mut rng()).expect("room for a part");
            // The choice must be equal modulo 2 and 3.
            let choice =
                (SEALED..).find(|large| large % 2 == choice % 2 && large / 2 % 3 == choice / 2);
            seeds.push(choose(choice.expect("a number"), &parts[0]));
        }
    }
    seeds
}
