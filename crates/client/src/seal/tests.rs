//! Tests that sealed payloads open for their recipient at their place only.

use chacha20::ChaCha20Rng;
use omr_protocol::Mismatch;
use proptest::prelude::*;
use rand_core::SeedableRng;

use super::*;

const SEALED: [Sealing; 2] = [Sealing::HpkeX25519, Sealing::XWing];

fn secret(seed: u8) -> SealSecret {
    SealSecret::from_bytes(&[seed; SEAL_SECRET_BYTES]).unwrap()
}

fn sealed(sealing: Sealing, aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    seal(&secret(1).public().key(sealing), aad, plaintext, &mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sealing_round_trips(
        seed: [u8; 32],
        aad in prop::collection::vec(any::<u8>(), 0..100),
        plaintext in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let secret = SealSecret::generate(&mut rng);
        let public = SealPublic::from_bytes(&secret.public().to_bytes()).unwrap();
        let secret = SealSecret::from_bytes(secret.to_bytes().as_ref()).unwrap();
        for sealing in Sealing::ALL {
            let mut out = vec![7];
            seal_with_rng(&mut rng, &public.key(sealing), &aad, &plaintext, &mut out).unwrap();
            prop_assert_eq!(out.len(), 1 + plaintext.len() + sealing.overhead());
            prop_assert_eq!(public.key_bytes(sealing).len(), sealing.public_key_bytes());
            let back = open(&secret, sealing, &aad, &out[1..]).unwrap();
            prop_assert_eq!(&*back, &plaintext);
        }
    }
}

#[test]
fn every_flipped_bit_is_rejected() {
    for sealing in SEALED {
        let good = sealed(sealing, b"clue", b"hi");
        // All bits of the X25519 point and the tag, and a sample of the long ML-KEM ciphertext.
        let skipped =
            |bit: &usize| sealing == Sealing::XWing && *bit < 1088 * 8 && !bit.is_multiple_of(13);
        for bit in (0..good.len() * 8).filter(|bit| !skipped(bit)) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = open(&secret(1), sealing, b"clue", &bad);
            assert_eq!(found, Err(SealError::Rejected), "{sealing}, bit {bit}");
        }
    }
}

#[test]
fn other_recipients_and_places_are_rejected() {
    for sealing in SEALED {
        let good = sealed(sealing, b"clue", b"hi");
        assert_eq!(
            open(&secret(2), sealing, b"clue", &good),
            Err(SealError::Rejected)
        );
        assert_eq!(
            open(&secret(1), sealing, b"other", &good),
            Err(SealError::Rejected)
        );
        assert_ne!(
            good,
            sealed(sealing, b"clue", b"hi"),
            "sealing must be randomised"
        );
    }
    let other = sealed(Sealing::HpkeX25519, b"", &[0; 2000]);
    assert_eq!(
        open(&secret(1), Sealing::XWing, b"", &other),
        Err(SealError::Rejected)
    );
}

#[test]
fn every_truncation_is_refused() {
    for sealing in SEALED {
        let good = sealed(sealing, b"", b"hi");
        let expected = sealing.overhead();
        for found in 0..good.len() {
            let error = if found < expected {
                SealError::Truncated(Mismatch::new(expected, found))
            } else {
                SealError::Rejected
            };
            assert_eq!(open(&secret(1), sealing, b"", &good[..found]), Err(error));
        }
    }
}

#[test]
fn bad_keys_are_refused() {
    let error = SealSecret::from_bytes(&[0; 31]).unwrap_err();
    assert_eq!(error, SealError::KeyLength(Mismatch::new(32, 31)));
    let mut bytes = secret(1).public().to_bytes();
    let error = SealPublic::from_bytes(&bytes[1..]).unwrap_err();
    assert_eq!(error, SealError::KeyLength(Mismatch::new(1248, 1247)));

    // The zero point makes every shared secret zero.
    bytes[..32].fill(0);
    let (public, mut out) = (SealPublic::from_bytes(&bytes).unwrap(), vec![7]);
    let found = seal(&public.key(Sealing::HpkeX25519), b"", b"hi", &mut out);
    assert_eq!((found, out), (Err(SealError::PublicKey), vec![7]));

    // A coefficient of 4095 is over ML-KEM's modulus.
    bytes[32..34].fill(0xff);
    assert_eq!(SealPublic::from_bytes(&bytes), Err(SealError::PublicKey));
}

#[test]
fn secrets_are_not_printed() {
    assert_eq!(format!("{:?}", secret(1)), "SealSecret { .. }");
}

/// Key derivation and key schedule are fixed: files sealed today must open tomorrow.
#[test]
fn keys_and_sealing_are_frozen() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let public = secret(1).public();
    let mut all = public.to_bytes();
    for sealing in SEALED {
        seal_with_rng(&mut rng, &public.key(sealing), b"clue", b"hi", &mut all).unwrap();
    }
    assert_eq!(
        blake3::hash(&all).to_hex().as_str(),
        "2ce28a334c09a287f311303e4d2dec7ffef140213286ae35ae5938c4c7e4c757"
    );
}
