//! The fingerprint of an address, which short addresses contain in place of the clue key.

/// Bytes of a fingerprint. Finding a second address for a given fingerprint takes 2^128 trials. An owner can find two
/// addresses of their own with one fingerprint in 2^64 trials, which harms nobody else.
pub const FINGERPRINT_BYTES: usize = 16;

/// Bytes of the key that verifies the signatures of an address's owner.
pub const VERIFYING_KEY_BYTES: usize = 32;

/// The flag in the tag of the sealing of an address that contains keys of periods.
pub const HAS_PERIODS: u8 = 0x40;

const DOMAIN: &str = "omr address v1";
const SIGNED_DOMAIN: &str = "omr signing address v1";

/// Returns the fingerprint of an address without a verifying key: a hash of the URL of its server (empty if it has none), the tag of its
/// sealing (with [`HAS_PERIODS`] if it contains keys of periods: their list changes, and is signed), the number of messages that a digest and that a letter may have, and the file of its clue key.
#[must_use]
pub fn address_fingerprint(
    server: &str,
    sealing: u8,
    bound: u32,
    parts: u32,
    clue_key: &[u8],
) -> [u8; FINGERPRINT_BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hasher.update(&(server.len() as u64).to_le_bytes());
    hasher.update(server.as_bytes());
    hasher.update(&[sealing]);
    hasher.update(&bound.to_le_bytes());
    hasher.update(&parts.to_le_bytes());
    hasher.update(clue_key);
    let hash = hasher.finalize();
    let (fingerprint, _) = hash.as_bytes().split_at(FINGERPRINT_BYTES);
    fingerprint.try_into().expect("split so")
}

/// Returns the fingerprint of an address with a verifying key, from the key and the fingerprint `unsigned` of the same
/// address without it. So a letter proves its sender's fingerprint by these two, without the rest of the address.
#[must_use]
pub fn signed_fingerprint(
    verifying_key: &[u8; VERIFYING_KEY_BYTES],
    unsigned: &[u8; FINGERPRINT_BYTES],
) -> [u8; FINGERPRINT_BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key(SIGNED_DOMAIN);
    hasher.update(verifying_key);
    hasher.update(unsigned);
    let hash = hasher.finalize();
    let (fingerprint, _) = hash.as_bytes().split_at(FINGERPRINT_BYTES);
    fingerprint.try_into().expect("split so")
}
