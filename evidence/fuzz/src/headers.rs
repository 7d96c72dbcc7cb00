//! Fuzz target: headers of letters.

use crate::Target;
use crate::input::choose;
use crate::memory::bounded;
use chacha20::ChaCha20Rng;
use omr_client::header::{Addressee, Author, Header, Signer, read};
use omr_client::identity;
use omr_protocol::{ClueKind, ParamSet};
use rand_core::SeedableRng;
use std::sync::LazyLock;

/// The fuzz target.
pub const TARGET: Target = Target::new("headers", run, seeds);

/// The first choice for texts to be sent.
const SUBJECT: usize = 192;

static SIGNER: LazyLock<Signer> = LazyLock::new(|| {
    let set = ParamSet::named("insecure-tiny-v4").expect("a published set");
    let rng = &mut ChaCha20Rng::seed_from_u64(9);
    let (secret, _) = identity(set.clue(), ClueKind::Bound, rng);
    Signer::new(&secret, [7; 16], Some("https://mail.example:7600")).expect("a short URL")
});

fn to() -> Addressee {
    Addressee::new(&[1; 16], "insecure-tiny-v4", &[2; 9])
}

fn run(choice: usize, rest: &[u8]) {
    let signer = &*SIGNER;
    bounded(rest.len(), 64, || match choice {
        SUBJECT.. => subject(rest),
        _ => header(signer, rest),
    });
}

/// Checks that a header without a sender is written to the bytes that were read, and that none is by the signer but the
/// signed seed.
fn header(signer: &Signer, bytes: &[u8]) {
    let Ok(stated) = read(bytes, &to(), None, b"hello") else {
        return;
    };
    match stated.author {
        Author::Unnamed => {
            if let Ok(again) = stated.header.to_bytes() {
                assert_eq!(again, bytes);
            }
        }
        Author::Verified(sender) if sender.verifying_key == signer.sender().verifying_key => {
            let again = stated.header.signed(signer, &to(), None, b"hello");
            assert_eq!(again.expect("it was signed so"), bytes);
        }
        Author::Verified(_) | Author::Forged(_) => {}
    }
}

/// Checks that a subject that can be sent arrives.
fn subject(bytes: &[u8]) {
    let header = Header {
        subject: Some(String::from_utf8_lossy(bytes).into_owned()),
        ..Header::default()
    };
    if let Ok(sent) = header.to_bytes() {
        let stated = read(&sent, &to(), None, b"");
        assert_eq!(stated.expect("it was sent").header, header);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let full = Header {
        time: Some(1_800_000_000),
        thread: Some([9; 16]),
        subject: Some("Grüße".into()),
        media_type: Some("text/plain".into()),
    };
    let signed = full.signed(&SIGNER, &to(), None, b"hello");
    let mut seeds = vec![
        choose(0, &signed.expect("short texts")),
        choose(0, &full.to_bytes().expect("short texts")),
        choose(0, &[1]),
    ];
    for text in ["Dinner", "pay\u{202e}lap", "a\nb", ""] {
        seeds.push(choose(SUBJECT, text.as_bytes()));
    }
    seeds
}
