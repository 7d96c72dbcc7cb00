//! Tests of headers: signatures, sizes, texts, and bytes that are no header.

use super::fields::{SIGNATURE_FIELD, parse, push_signature, write};
use super::*;
use crate::fragment::Reassembler;
use crate::letter::{LetterError, Place, Writer};
use crate::{SecretKey, identity};
use chacha20::ChaCha20Rng;
use omr_protocol::{ClueKey, ClueKind, ParamSet, Sealing};
use proptest::prelude::*;
use rand_core::SeedableRng;

const BOARD: [u8; 16] = [1; 16];
const PARAMS: &str = "insecure-tiny-v4";
const SERVER: &str = "https://mail.example.org:7600";

fn somebody(seed: u64) -> (SecretKey, ClueKey) {
    let set = ParamSet::named(PARAMS).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    identity(set.clue(), ClueKind::Bound, &mut rng)
}

fn signer(seed: u64) -> Signer {
    Signer::new(&somebody(seed).0, [7; 16], Some(SERVER)).unwrap()
}

fn to(seed: u64, board_id: &[u8; 16]) -> Addressee {
    Addressee::of(&somebody(seed).0, board_id, PARAMS)
}

fn full() -> Header {
    Header {
        time: Some(1_800_000_000),
        thread: Some([9; 16]),
        subject: Some("Grüße".into()),
        media_type: Some("text/plain".into()),
    }
}

#[test]
fn a_signature_is_for_one_letter_to_one_recipient_on_one_board() {
    let (ann, bob) = (signer(1), to(2, &BOARD));
    // Sender and recipient compute the addressee from different keys.
    assert_eq!(bob, Addressee::new(&BOARD, PARAMS, &somebody(2).1.seal));
    let bytes = full()
        .signed(&ann, &bob, Some("a.txt"), b"hello Bob")
        .unwrap();
    let author = |to: &Addressee, name, content: &[u8]| {
        let stated = read(&bytes, to, name, content).unwrap();
        assert_eq!(stated.header, full());
        stated.author
    };
    let sender = ann.sender().clone();
    assert_eq!(sender.verifying_key, somebody(1).0.verifying_key());
    let forged = Author::Forged(sender.clone());
    let name = Some("a.txt");
    assert_eq!(author(&bob, name, b"hello Bob"), Author::Verified(sender));
    assert_eq!(author(&to(3, &BOARD), name, b"hello Bob"), forged);
    assert_eq!(author(&to(2, &[2; 16]), name, b"hello Bob"), forged);
    assert_eq!(author(&bob, None, b"hello Bob"), forged);
    assert_eq!(author(&bob, Some("b.txt"), b"hello Bob"), forged);
    assert_eq!(author(&bob, name, b"hello bob"), forged);
}

#[test]
fn no_bit_of_a_header_can_be_changed() {
    let (ann, bob) = (signer(1), to(2, &BOARD));
    let bytes = full().signed(&ann, &bob, None, b"hello").unwrap();
    for at in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        if let Ok(stated) = read(&changed, &bob, None, b"hello") {
            assert!(matches!(stated.author, Author::Forged(_)), "{at}");
        }
    }
    // Somebody else's signature, and the key of small order that verifies any signature of zeros.
    let fields = write(&full(), Some(ann.sender()));
    let mut others = fields.clone();
    push_signature(&signer(3).sign(&bob, &fields, None, b"hello"), &mut others);
    let stated = read(&others, &bob, None, b"hello").unwrap();
    assert!(matches!(stated.author, Author::Forged(_)));
    let mut small = [0; 32];
    small[0] = 1;
    let sender = Sender {
        verifying_key: small,
        ..ann.sender().clone()
    };
    let mut weak = write(&Header::default(), Some(&sender));
    let mut zeros = [0; 64];
    zeros[0] = 1;
    push_signature(&zeros, &mut weak);
    let stated = read(&weak, &bob, None, b"hello").unwrap();
    assert_eq!(stated.author, Author::Forged(sender));
}

#[test]
fn a_signing_key_belongs_to_its_secret_alone() {
    let key = |seed| somebody(seed).0.verifying_key();
    assert_eq!(key(1), key(1));
    assert_ne!(key(1), key(2));
    let shown = format!("{:?}", signer(1));
    assert!(
        shown.contains(SERVER) && !shown.contains("key: SigningKey"),
        "{shown}"
    );
}

#[test]
fn each_field_has_its_size() {
    let ann = signer(1);
    let of = |header: Header| header.to_bytes().unwrap().len() - 1;
    let time = Header {
        time: Some(1),
        ..Header::default()
    };
    let thread = Header {
        thread: Some([1; 16]),
        ..Header::default()
    };
    let subject = Header {
        subject: Some("Dinner".into()),
        ..Header::default()
    };
    let media_type = Header {
        media_type: Some("text/plain".into()),
        ..Header::default()
    };
    let sizes = [of(time), of(thread), of(subject), of(media_type)];
    assert_eq!(sizes, [10, 18, 2 + 6, 2 + 10]);
    let signed = Header::default()
        .signed(&ann, &to(2, &BOARD), None, b"")
        .unwrap();
    assert_eq!(signed.len(), 1 + 2 + 48 + SERVER.len() + SIGNATURE_FIELD);
    // The mark of a part, the length of all fields, and tag and length of the header come to this, as docs/wire.md
    // states: the signed letter of a conversation without subject and media type takes 152 bytes and its URL.
    let header = Header {
        time: Some(1),
        thread: Some([1; 16]),
        ..Header::default()
    };
    let set = ParamSet::named(PARAMS).unwrap();
    let writer = writer(&set, 612);
    let most = |signer| {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut parts = |length| {
            let content = vec![7; length];
            let parts = writer.letter_parts(None, &header, signer, &content, &mut rng);
            parts.unwrap().len()
        };
        (0..600).take_while(|length| parts(*length) == 1).count() - 1
    };
    let capacity = 612 - 48 - 32;
    // Two bytes are the length of the part.
    assert_eq!(most(Some(&ann)), capacity - 2 - (152 + SERVER.len()));
    assert_eq!(most(None), capacity - 2 - 34);
}

fn writer(set: &ParamSet, payload_bytes: usize) -> Writer {
    let place = Place {
        board_id: BOARD,
        params: PARAMS.into(),
        sealing: Sealing::HpkeX25519,
        payload_bytes,
    };
    Writer::new(set.clue(), &somebody(2).1, place).unwrap()
}

#[test]
fn letters_carry_headers_in_every_number_of_parts() {
    let set = ParamSet::named(PARAMS).unwrap();
    let writer = writer(&set, 612);
    let (ann, bob) = (signer(1), to(2, &BOARD));
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    for len in [0, 200, 320, 400, 5000] {
        let content = vec![7; len];
        let parts = writer.letter_parts(
            Some("dir/letter.txt"),
            &full(),
            Some(&ann),
            &content,
            &mut rng,
        );
        let parts = parts.unwrap();
        assert!(parts.iter().all(|part| part.len() == parts[0].len()));
        let mut all = Reassembler::new();
        for part in parts.iter().rev() {
            all.push(part).unwrap();
        }
        let whole = all.finish().0.remove(0);
        // The name is left out where it alone would cost a second message.
        let named = if len == 320 { None } else { Some("letter.txt") };
        assert_eq!(whole.name.as_deref(), named, "{len}");
        assert!(whole.bytes == content, "{len}");
        let stated = read(&whole.header.unwrap(), &bob, named, &content).unwrap();
        assert_eq!(stated.author, Author::Verified(ann.sender().clone()));
        assert_eq!(stated.header, full());
    }
    // A letter that states nothing has the bytes that it had without headers.
    let rng = || ChaCha20Rng::seed_from_u64(7);
    for name in [None, Some("letter.txt")] {
        for len in [5, 5000] {
            let content = vec![7; len];
            assert_eq!(
                writer
                    .letter_parts(name, &Header::default(), None, &content, &mut rng())
                    .unwrap(),
                writer.named_parts(name, &content, &mut rng()).unwrap()
            );
        }
    }
}

#[test]
fn nothing_is_stated_where_everybody_reads() {
    let set = ParamSet::named(PARAMS).unwrap();
    let place = Place {
        board_id: BOARD,
        params: PARAMS.into(),
        sealing: Sealing::None,
        payload_bytes: 612,
    };
    let writer = Writer::new(set.clue(), &somebody(2).1, place).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let refused = writer.letter_parts(None, &full(), None, b"x", &mut rng);
    assert!(matches!(
        refused,
        Err(LetterError::Header(HeaderError::Unsealed))
    ));
}

#[test]
fn texts_that_cannot_be_sent_are_refused() {
    let with = |subject: &str| Header {
        subject: Some(subject.into()),
        ..Header::default()
    };
    for hidden in ["a\nb", "\x1b[2J", "pay\u{202e}lap", "a\u{200b}b", "\0"] {
        assert_eq!(
            with(hidden).to_bytes(),
            Err(HeaderError::Hidden("the subject")),
            "{hidden:?}"
        );
    }
    for length in [0, SUBJECT_BYTES + 1] {
        assert!(matches!(
            with(&"x".repeat(length)).to_bytes(),
            Err(HeaderError::Length { .. })
        ));
    }
    assert!(with(&"x".repeat(SUBJECT_BYTES)).to_bytes().is_ok());
    let media_type = Header {
        media_type: Some("x".repeat(MEDIA_TYPE_BYTES + 1)),
        ..Header::default()
    };
    assert!(media_type.to_bytes().is_err());
    let long = format!("https://{}", "x".repeat(SERVER_BYTES));
    for server in ["", &long] {
        let refused = Signer::new(&somebody(1).0, [7; 16], Some(server));
        assert!(matches!(refused, Err(HeaderError::Length { .. })));
    }
}

#[test]
fn wrong_headers_are_refused_with_their_reason() {
    let bob = to(2, &BOARD);
    let refused = |bytes: &[u8]| read(bytes, &bob, None, b"").unwrap_err();
    let truncated = HeaderError::Truncated;
    assert_eq!(refused(&[]), truncated(0));
    assert_eq!(refused(&[2]), HeaderError::Version(2));
    assert_eq!(refused(&[1, 1]), truncated(2));
    assert_eq!(refused(&[1, 3, 2, b'x']), truncated(4));
    assert_eq!(refused(&[1, 0x81, 0, 8]), HeaderError::Number);
    assert_eq!(refused(&[1, 0, 1, 1]), HeaderError::Tag(0));
    assert_eq!(refused(&[1, 7, 1, 1]), HeaderError::Tag(7));
    assert_eq!(refused(&[1, 3, 1, 0xff]), HeaderError::Text("the subject"));
    for twice in [
        &[1, 3, 1, b'x', 3, 1, b'x'][..],
        &[1, 4, 1, b'x', 3, 1, b'x'],
    ] {
        assert!(matches!(refused(twice), HeaderError::Order(_)), "{twice:?}");
    }
    let zeros = [0; 400];
    for (tag, length) in [(1, 7), (2, 17), (3, 0), (4, 0), (5, 47), (6, 63)] {
        let wrong = [&[1, tag, length][..], &zeros[..length as usize]].concat();
        assert!(
            matches!(refused(&wrong), HeaderError::Length { .. }),
            "{tag}"
        );
    }
    for (tag, length) in [(3, 257u16), (4, 129), (5, 305)] {
        let varint = [length as u8 | 0x80, (length >> 7) as u8];
        let wrong = [&[1, tag][..], &varint, &zeros[..length as usize]].concat();
        assert!(
            matches!(refused(&wrong), HeaderError::Length { .. }),
            "{tag}"
        );
    }
    // A sender without a signature, a signature without a sender, and bytes after the last field.
    let signed = full().signed(&signer(1), &bob, None, b"").unwrap();
    assert_eq!(
        refused(&signed[..signed.len() - SIGNATURE_FIELD]),
        HeaderError::Pair
    );
    let alone = [&[1], &signed[signed.len() - SIGNATURE_FIELD..]].concat();
    assert_eq!(refused(&alone), HeaderError::Pair);
    let more = [&signed[..], &[0]].concat();
    assert_eq!(refused(&more), HeaderError::Tag(0));
    for end in 1..signed.len() {
        // The bytes up to a field's end are a shorter header, of the fields before the sender.
        if let Ok(stated) = read(&signed[..end], &bob, None, b"") {
            assert_eq!(stated.author, Author::Unnamed);
        }
    }
}

/// Bytes that are often headers, or nearly so.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let field = (
        0u8..8,
        prop::collection::vec(any::<u8>(), 0..70),
        any::<bool>(),
    )
        .prop_map(|(tag, value, exact)| {
            let length = match (exact, tag) {
                (true, 1) => 8,
                (true, 2) => 16,
                (true, 6) => 64,
                _ => value.len(),
            };
            let mut value = value;
            value.resize(length, b'x');
            [&[tag, length as u8][..], &value].concat()
        });
    (0u8..3, prop::collection::vec(field, 0..7))
        .prop_map(|(version, fields)| [&[version][..], &fields.concat()].concat())
}

proptest! {
    #[test]
    fn what_is_read_is_what_would_be_written(bytes in prop_oneof![likely(), prop::collection::vec(any::<u8>(), 0..400)]) {
        if let Ok(parsed) = parse(&bytes) {
            let mut again = write(&parsed.header, parsed.sender.as_ref());
            if let Some(signature) = &parsed.signature {
                push_signature(signature, &mut again);
            }
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn every_header_comes_back(
        time in any::<Option<u64>>(),
        thread in any::<Option<[u8; 16]>>(),
        subject in prop::option::of("[a-zäß ]{1,60}"),
        media_type in prop::option::of("[a-z]{1,20}/[a-z]{1,20}"),
        content in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let header = Header { time, thread, subject, media_type };
        let bob = Addressee::new(&BOARD, PARAMS, &[5; 8]);
        let plain = read(&header.to_bytes().unwrap(), &bob, None, &content).unwrap();
        prop_assert_eq!(&plain, &Stated { header: header.clone(), author: Author::Unnamed });
    }
}
