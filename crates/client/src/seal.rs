//! Encrypting payloads to a recipient.
//!
//! Sealing is HPKE base mode (RFC 9180) with HKDF-SHA256, ChaCha20-Poly1305, `info` = "omr seal v1", one message per
//! encapsulation, and one of these KEMs:
//!
//! * `HpkeX25519`: DHKEM(X25519, HKDF-SHA256), KEM id 0x0020;
//! * `XWing`: ML-KEM-768 with X25519, KEM id 0x647a, as in draft-ietf-hpke-pq.
//!
//! A sealed payload is the encapsulated key, the ciphertext and the 16-byte tag. The output of neither KEM reveals its
//! recipient. The sender is not authenticated: anyone can seal.

mod error;
mod keys;

#[cfg(test)]
mod tests;

use getrandom::SysRng;
use hpke::aead::{AeadTag, ChaCha20Poly1305};
use hpke::kdf::HkdfSha256;
use hpke::kem::{X25519HkdfSha256, XWing};
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use omr_protocol::Mismatch;
use omr_protocol::sealing::Sealing;
use rand_core::{CryptoRng, UnwrapErr};
use zeroize::Zeroizing;

pub use error::SealError;
use keys::Key;
pub use keys::{SEAL_PUBLIC_BYTES, SEAL_SECRET_BYTES, SealKey, SealPublic, SealSecret};

const INFO: &[u8] = b"omr seal v1";

/// Returns the public keys for senders, as a clue key contains them.
pub(crate) fn public_bytes(secret: &SealSecret) -> [u8; SEAL_PUBLIC_BYTES] {
    let bytes = secret.public().to_bytes();
    bytes.try_into().expect("public keys of fixed length")
}

/// Appends the sealed `plaintext` to `out`, with randomness of the operating system.
///
/// The associated data `aad` is bound to the payload but not part of it: `open` needs the same data.
///
/// Shape:  `n` bytes to `n + sealing.overhead()` bytes for the sealing of the key; the key of `Sealing::None` copies and
/// binds nothing.
/// Errors: `PublicKey`, `TooLong`; `out` is then unchanged.
/// Panics: if the operating system has no randomness.
pub fn seal(
    key: &SealKey,
    aad: &[u8],
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SealError> {
    seal_with_rng(&mut UnwrapErr(SysRng), key, aad, plaintext, out)
}

/// Seals as [`seal`] does, with the caller's randomness.
pub fn seal_with_rng(
    rng: &mut impl CryptoRng,
    key: &SealKey,
    aad: &[u8],
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SealError> {
    match &key.0 {
        Key::None => {
            out.extend_from_slice(plaintext);
            Ok(())
        }
        Key::X25519(key) => seal_hpke::<X25519HkdfSha256>(rng, key, aad, plaintext, out),
        Key::XWing(key) => seal_hpke::<XWing>(rng, key, aad, plaintext, out),
    }
}

/// Opens a payload that [`seal`] made for the owner of `secret` with the same `aad`.
///
/// Shape:  `n + sealing.overhead()` bytes to `n` bytes; `Sealing::None` copies and checks nothing.
/// Errors: `Truncated` if shorter than the overhead, `Rejected` if anything else is wrong.
pub fn open(
    secret: &SealSecret,
    sealing: Sealing,
    aad: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    match sealing {
        Sealing::None => Ok(Zeroizing::new(sealed.to_vec())),
        Sealing::HpkeX25519 => open_hpke::<X25519HkdfSha256>(secret.x25519(), aad, sealed),
        Sealing::XWing => open_hpke::<XWing>(secret.x_wing(), aad, sealed),
    }
}

fn seal_hpke<K: Kem>(
    rng: &mut impl CryptoRng,
    public: &K::PublicKey,
    aad: &[u8],
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SealError> {
    let (key, mut context) = hpke::setup_sender_with_rng::<ChaCha20Poly1305, HkdfSha256, K>(
        &OpModeS::Base,
        public,
        INFO,
        rng,
    )
    .map_err(|_| SealError::PublicKey)?;

    let start = out.len();
    out.reserve(K::EncappedKey::size() + plaintext.len() + AeadTag::<ChaCha20Poly1305>::size());
    out.extend_from_slice(&key.to_bytes());
    let body = out.len();
    out.extend_from_slice(plaintext);
    match context.seal_inout_detached((&mut out[body..]).into(), aad) {
        Ok(tag) => {
            out.extend_from_slice(&tag.to_bytes());
            Ok(())
        }
        Err(_) => {
            out.truncate(start);
            Err(SealError::TooLong(plaintext.len()))
        }
    }
}

fn open_hpke<K: Kem>(
    secret: &K::PrivateKey,
    aad: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let tag_len = AeadTag::<ChaCha20Poly1305>::size();
    let expected = K::EncappedKey::size() + tag_len;
    let truncated = || SealError::Truncated(Mismatch::new(expected, sealed.len()));
    let (key, rest) = sealed
        .split_at_checked(K::EncappedKey::size())
        .ok_or_else(truncated)?;
    let body_len = rest.len().checked_sub(tag_len).ok_or_else(truncated)?;
    let (body, tag) = rest.split_at(body_len);

    let rejected = |_| SealError::Rejected;
    let encapped = K::EncappedKey::from_bytes(key).map_err(rejected)?;
    let aead_tag = AeadTag::<ChaCha20Poly1305>::from_bytes(tag).map_err(rejected)?;
    let mut context = hpke::setup_receiver::<ChaCha20Poly1305, HkdfSha256, K>(
        &OpModeR::Base,
        secret,
        &encapped,
        INFO,
    )
    .map_err(rejected)?;
    let mut plaintext = Zeroizing::new(body.to_vec());
    let buffer = plaintext.as_mut_slice().into();
    context
        .open_inout_detached(buffer, aad, &aead_tag)
        .map_err(rejected)?;
    Ok(plaintext)
}
