//! Tests of files under a passphrase: they open with their passphrase, and damage is refused.

use super::*;
use std::fs;
use std::path::PathBuf;

const CHEAP: Cost = Cost {
    kib: 64,
    passes: 1,
    lanes: 1,
};

fn phrase(text: &str) -> Passphrase {
    Passphrase::new(Zeroizing::new(text.into())).unwrap()
}

fn file(body: &[u8]) -> Vec<u8> {
    let header = FrameHeader::new(Kind::SecretKey, "toy", [7; 16]);
    frame::write_frame_vec(&header, body).unwrap()
}

fn locked(text: &str) -> Vec<u8> {
    let file = file(b"a secret");
    lock_at(CHEAP, [1; 16], Kind::SecretKey, &file, &phrase(text)).unwrap()
}

/// Returns a frame of kind `Locked` with a right checksum.
fn framed(body: &[u8]) -> Vec<u8> {
    let header = FrameHeader::new(Kind::Locked, "toy", [7; 16]);
    frame::write_frame_vec(&header, body).unwrap()
}

fn body(locked: &[u8]) -> Vec<u8> {
    frame::read_frame(locked, Kind::Locked, u64::MAX).unwrap().1
}

#[test]
fn a_secret_opens_with_its_passphrase_only() {
    let locked = locked("correct horse");
    assert!(is_locked(&locked) && !is_locked(&file(b"a secret")) && !is_locked(b""));
    assert!(!locked.windows(8).any(|bytes| bytes == b"a secret"));
    let open = |text| unlock(Kind::SecretKey, &locked, &phrase(text));
    assert_eq!(**open("correct horse").unwrap(), file(b"a secret"));
    assert!(matches!(open("correct house"), Err(LockError::Wrong)));
    let empty = Passphrase::new(Zeroizing::default());
    assert!(matches!(empty, Err(LockError::Empty)));
    assert_eq!(format!("{:?}", phrase("correct horse")), "Passphrase(..)");
}

/// The bytes from which keys are derived, worked out by hand from Unicode's rules, must not change with the library.
#[test]
fn passphrases_are_composed_to_these_bytes() {
    for (text, bytes) in [
        ("correct horse", &b"correct horse"[..]),
        // Composed, decomposed, and the Angstrom sign, which is another character for the same letter.
        ("caf\u{e9}", b"caf\xc3\xa9"),
        ("cafe\u{301}", b"caf\xc3\xa9"),
        ("\u{212b}", b"\xc3\x85"),
        // Hangul: a syllable of two letters, one of three, and one that is followed by a third letter.
        ("\u{1100}\u{1161}", b"\xea\xb0\x80"),
        ("\u{1112}\u{1161}\u{11ab}", b"\xed\x95\x9c"),
        ("\u{d558}\u{11ab}", b"\xed\x95\x9c"),
        // Marks below and above in either order: the one below comes first.
        ("q\u{323}\u{307}", b"q\xcc\xa3\xcc\x87"),
        ("q\u{307}\u{323}", b"q\xcc\xa3\xcc\x87"),
        // Two of three marks are composed with the letter.
        ("s\u{323}\u{307}\u{327}", b"\xc5\x9f\xcc\xa3\xcc\x87"),
        ("\u{1e9b}\u{323}", b"\xe1\xba\x9b\xcc\xa3"),
        // This letter is never composed and becomes three times as long.
        ("\u{958}", b"\xe0\xa4\x95\xe0\xa4\xbc"),
        (
            "\u{1d160}",
            b"\xf0\x9d\x85\x98\xf0\x9d\x85\xa5\xf0\x9d\x85\xae",
        ),
    ] {
        let composed = phrase(text);
        assert_eq!(composed.0.as_bytes(), bytes, "{text:?}");
        assert!(bytes.len() <= 3 * text.len());
    }
}

#[test]
fn all_ways_of_entering_lead_to_one_passphrase() {
    let composed = "caf\u{e9} \u{ac00}\u{212b} bravo";
    let locked = locked(composed);
    // Text from another keyboard, and from files and variables of other systems.
    for same in [
        "cafe\u{301} \u{1100}\u{1161}A\u{30a} bravo",
        "\u{feff}caf\u{e9} \u{ac00}\u{c5} bravo",
        "caf\u{e9} \u{ac00}\u{c5} bravo\n",
        "caf\u{e9} \u{ac00}\u{c5} bravo\r\n",
    ] {
        let opened = unlock(Kind::SecretKey, &locked, &phrase(same));
        assert_eq!(**opened.unwrap(), file(b"a secret"), "{same:?}");
    }
    // Passphrases that look different are different.
    for other in [
        "cafe \u{ac00}\u{c5} bravo",
        "caf\u{e9} \u{ac00}A bravo",
        " caf\u{e9} \u{ac00}\u{c5} bravo",
        "caf\u{e9} \u{ac00}\u{c5} bravo ",
    ] {
        let opened = unlock(Kind::SecretKey, &locked, &phrase(other));
        assert!(matches!(opened, Err(LockError::Wrong)), "{other:?}");
    }
    for (text, empty) in [("\u{feff}", true), ("\r\n", true), ("one\ntwo", false)] {
        let refused = Passphrase::new(Zeroizing::new(text.into())).unwrap_err();
        if empty {
            assert!(matches!(refused, LockError::Empty), "{text:?}")
        } else {
            assert!(matches!(refused, LockError::Lines), "{text:?}")
        }
    }
}

#[test]
fn nothing_is_locked_with_a_short_passphrase() {
    let file = file(b"a secret");
    // Seven characters of many bytes, which are eight before they are composed.
    for (text, found) in [
        ("x", 1),
        ("1234567", 7),
        ("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}e\u{301}", 7),
    ] {
        let refused = lock(Kind::SecretKey, &file, &phrase(text)).unwrap_err();
        assert!(
            matches!(refused, LockError::TooShort(count) if count == found),
            "{refused}"
        );
    }
    lock(Kind::SecretKey, &file, &phrase("\u{e9}2345678")).unwrap();
}

/// The header names the key before a passphrase is entered, and cannot be changed.
#[test]
fn a_locked_file_names_its_key() {
    let locked = locked("x");
    let frame = FrameReader::read_header(&locked[..], Kind::Locked, u64::MAX).unwrap();
    let FrameHeader {
        params_id, key_id, ..
    } = frame.header();
    assert_eq!((&params_id[..], key_id), ("toy", &[7; 16]));
    let other = FrameHeader::new(Kind::Locked, "toy", [8; 16]);
    let other = frame::write_frame_vec(&other, &body(&locked)).unwrap();
    let refused = unlock(Kind::SecretKey, &other, &phrase("x"));
    assert!(matches!(refused, Err(LockError::Wrong)));
    let refused = unlock(Kind::Identity, &locked, &phrase("x")).unwrap_err();
    let message = "expected an exported identity under the passphrase, found a secret key";
    assert_eq!(refused.to_string(), message);
    // Files of other kinds are not accepted as a secret either.
    assert!(matches!(
        lock(Kind::Identity, &file(b"a secret"), &phrase("long enough")),
        Err(LockError::Frame(FrameError::Kind(_)))
    ));
}

#[test]
fn damage_is_distinguished_from_a_wrong_passphrase() {
    let locked = locked("x");
    for at in 0..locked.len() {
        let mut damaged = locked.clone();
        damaged[at] ^= 0x10;
        let refused = unlock(Kind::SecretKey, &damaged, &phrase("x"));
        assert!(matches!(refused, Err(LockError::Frame(_))), "{at}");
        let refused = unlock(Kind::SecretKey, &locked[..at], &phrase("x"));
        assert!(matches!(refused, Err(LockError::Frame(_))), "{at}");
    }
    // Deliberate damage, in a frame with a right checksum.
    let body = body(&locked);
    assert!(unlock(Kind::SecretKey, &framed(&body), &phrase("x")).is_ok());
    for at in 0..body.len() {
        let mut forged = body.clone();
        // Costs are not damaged so far that they need a gigabyte.
        forged[at] ^= 1;
        let refused = unlock(Kind::SecretKey, &framed(&forged), &phrase("x"));
        assert!(refused.is_err(), "{at}");
        let refused = unlock(Kind::SecretKey, &framed(&body[..at]), &phrase("x"));
        assert!(refused.is_err(), "{at}");
    }
}

#[test]
fn no_file_asks_for_all_memory_or_time() {
    let body = body(&locked("x"));
    for (at, least, most) in [(2, 8, 1 << 20), (6, 1, 16), (10, 1, 16)] {
        for found in [0, least - 1, most + 1, u32::MAX] {
            let mut greedy = body.clone();
            greedy[at..at + 4].copy_from_slice(&found.to_le_bytes());
            let refused = unlock(Kind::SecretKey, &framed(&greedy), &phrase("x")).unwrap_err();
            let message = format!("expected {least} to {most} ");
            assert!(refused.to_string().starts_with(&message), "{refused}");
            assert!(refused.to_string().ends_with(&format!("found {found}")));
        }
    }
}

#[test]
fn the_file_states_the_usual_cost() {
    let locked = lock(Kind::SecretKey, &file(b""), &phrase("long enough")).unwrap();
    let body = body(&locked);
    assert_eq!(body.len(), HEAD_BYTES + file(b"").len() + TAG_BYTES);
    assert_eq!(body[2..14], [0, 0, 4, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
    assert!(unlock(Kind::SecretKey, &locked, &phrase("long enough")).is_ok());
    // The same secret locked twice leads to two different files.
    assert_ne!(
        locked,
        lock(Kind::SecretKey, &file(b""), &phrase("long enough")).unwrap()
    );
}

fn path(name: &str) -> PathBuf {
    let root = [
        env!("CARGO_MANIFEST_DIR"),
        "../../testdata/wire/v1/plain-v4",
    ];
    root.into_iter().chain([name]).collect()
}

const PASSPHRASE: &str = "correct horse battery staple";

/// Returns the frozen secret.key under a passphrase, as it is written today except for the cost.
fn frozen() -> Vec<u8> {
    let secret = fs::read(path("secret.key")).unwrap();
    let salt = std::array::from_fn(|i| i as u8);
    lock_at(CHEAP, salt, Kind::SecretKey, &secret, &phrase(PASSPHRASE)).unwrap()
}

#[test]
fn the_frozen_file_is_read_and_written_again() {
    let stored = fs::read(path("secret.key.locked")).unwrap();
    let opened = unlock(Kind::SecretKey, &stored, &phrase(PASSPHRASE)).unwrap();
    assert_eq!(**opened, fs::read(path("secret.key")).unwrap());
    assert!(stored == frozen(), "the format changed");
}

#[test]
#[ignore = "writes testdata/wire/v1/plain-v4/secret.key.locked"]
fn freeze() {
    fs::write(path("secret.key.locked"), frozen()).unwrap();
}
