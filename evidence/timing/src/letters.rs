//! Cases for letters: bound clues, seals, digests, files under a passphrase.

use crate::cases::{BOARD, BULK, HYBRID, hide_secrets, public, recipient, set_of};
use crate::rng::SecretRng;
use crate::{Case, Expected};
use omr_client::letter::{Piece, Place, Reader, Writer};
use omr_client::locked::{Passphrase, unlock};
use omr_client::periods::PeriodSecrets;
use omr_client::seal::{SealPublic, seal_with_rng};
use omr_client::{BoundSender, ClueSeed, Fingerprint, Retrieved, SecretKey, decode};
use omr_marks::{hide, published};
use omr_protocol::clue::{Binding, FingerprintKey, Hashed};
use omr_protocol::frame::Kind;
use omr_protocol::{ParamSet, Response, Sealing};
use std::hint::black_box;
use zeroize::Zeroizing;

const TAG: &str = "whether the file is whole";
/// The public result of a library that checks whether a shared secret is 0; [`SEAL`] adds a library that checks tags.
const SHARED: &str = "whether a shared secret is 0";
const SEAL: &str = "for each sealing secret, whether a shared secret is 0 and a seal whole";

pub(crate) fn all() -> Vec<Case> {
    vec![
        Case::new("bound clues", || {
            [BULK, HYBRID].into_iter().for_each(bound_clue);
        }),
        Case::new("bound clues made again", || {
            [BULK, HYBRID].into_iter().for_each(clue_made_again);
        }),
        Case::new("sealing", sealing).expecting(Expected::Public(1, SHARED)),
        // The permanent secret and those of two periods.
        Case::new("letters read", letters).expecting(Expected::Public(6, SEAL)),
        Case::new("digests of SophOMR decoded", || {
            decoded(
                BULK,
                include_bytes!("../../../testdata/wire/v1/opened-v4/secret.key"),
                include_bytes!("../../../testdata/wire/v1/opened-v4/digest.bin"),
            );
        }),
        Case::new("digests of InstantOMR decoded", || {
            decoded(
                HYBRID,
                include_bytes!("../../../testdata/wire/v1/instant-v4/secret.key"),
                include_bytes!("../../../testdata/wire/v1/instant-v4/digest.bin"),
            );
        }),
        Case::new("files under a passphrase", unlocked).expecting(Expected::Public(1, TAG)),
    ]
}

fn seed() -> ClueSeed {
    let seed = [9; 32];
    hide(&seed);
    ClueSeed::from_bytes(black_box(seed))
}

fn bound_clue(set: &str) {
    let set = set_of(set);
    let (_, address) = recipient(&set);
    let sender = BoundSender::new(set.clue(), &address, BOARD);
    let clue = sender.clue(&seed(), b"a payload");
    black_box(clue.to_bytes(set.clue()));
}

fn clue_made_again(set: &str) {
    let set = set_of(set);
    let (_, address) = recipient(&set);
    let sender = BoundSender::new(set.clue(), &address, BOARD);
    let posted = Fingerprint {
        key: FingerprintKey::new(&[4; 32]),
        value: 5,
    };
    let agrees = sender.agrees(&seed(), b"a payload", &posted);
    assert!(!published(agrees));
}

fn sealing() {
    let set = set_of(BULK);
    let (_, address) = recipient(&set);
    let public = SealPublic::from_bytes(&address.seal).expect("a sealing key");
    let key = public.key(Sealing::HpkeX25519);
    let part = [6; 100];
    hide(&part);
    let (rng, mut out) = (&mut SecretRng::new(), Vec::new());
    seal_with_rng(rng, &key, b"board", &part, &mut out).expect("a part");
    black_box(out);
}

/// Opens an honest letter with marked secrets.
fn letters() {
    let set = set_of(BULK);
    let (secret, address) = recipient(&set);
    let place = Place {
        board_id: BOARD,
        params: BULK.into(),
        sealing: Sealing::HpkeX25519,
        payload_bytes: 200,
    };
    let writer = Writer::new(set.clue(), &address, place.clone()).expect("an address");
    let rng = &mut public();
    let parts = writer.parts(b"hello", rng).expect("a letter");
    let message = writer.message(rng, &parts[0]).expect("a message");
    let key = FingerprintKey::new(&[4; 32]);
    let to = Binding::new(&BOARD, &message.payload);
    let value = Hashed::new(set.clue(), to, &message.clue).fingerprint(&key);
    let found = Retrieved::new(5, Some(message.payload), Some(Fingerprint { key, value }));
    hide_secrets(&secret);
    // The keys of a period are tried, too.
    let periods = PeriodSecrets::generate(0, &mut SecretRng::new());
    let reader = Reader::new(set.clue(), &secret, &place).with_periods(&periods, 1);
    let opened = reader.open(&[found], 1);
    let [(5, Ok(Piece::Whole(whole)))] = &opened[..] else {
        panic!("expected one letter, found {}", opened.len());
    };
    assert_eq!(whole.bytes.len(), 5);
}

/// Decodes a digest of payloads with marked secrets.
fn decoded(name: &str, secret: &[u8], digest: &[u8]) {
    let set: ParamSet = set_of(name);
    let secret = SecretKey::from_bytes(set.clue(), secret).expect("a frozen key");
    let response = Response::from_bytes(&set, digest).expect("a frozen digest");
    let expected = decode(&set, &secret, &response).expect("it decodes").len();
    hide_secrets(&secret);
    let found = decode(&set, &secret, &response).expect("it decodes").len();
    assert!(found > 0 && found == expected);
}

/// Unlocks a file whose key is marked as soon as it is derived.
fn unlocked() {
    let file = include_bytes!("../../../testdata/wire/v1/plain-v4/secret.key.locked");
    let text = Zeroizing::new("correct horse battery staple".to_owned());
    let passphrase = Passphrase::new(text).expect("a passphrase");
    let within = unlock(Kind::SecretKey, file, &passphrase).expect("a frozen file");
    black_box(within);
}
