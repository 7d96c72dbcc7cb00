//! Keys that are derived from a seed.

use zeroize::{Zeroize, Zeroizing};

/// Returns the key that BLAKE3-derive-key makes of a seed for a purpose, with every copy on the way wiped.
pub(crate) fn derived(context: &str, seed: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(seed);
    let mut key = Zeroizing::new([0; 32]);
    let mut reader = hasher.finalize_xof();
    reader.fill(key.as_mut());
    reader.zeroize();
    hasher.zeroize();
    key
}
