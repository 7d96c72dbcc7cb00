//! Domain-separated streams of random bytes from a seed.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

/// A domain-separated expandable stream: BLAKE3's key derivation hashes the domain string, the
/// 32-byte seed and a list of indices into the key of a ChaCha20 stream.
///
/// Two parties with the same seed, domain and indices read the same bytes.
pub struct Xof;

impl Xof {
    /// The stream of `domain` (a fixed string, unique for each use), `seed` and `index`.
    pub fn stream(domain: &str, seed: &[u8; 32], index: &[u64]) -> ChaCha20Rng {
        ChaCha20Rng::from_seed(Self::key(domain, seed, index))
    }

    /// Returns the key of the stream, for devices that make its blocks themselves.
    pub(crate) fn key(domain: &str, seed: &[u8; 32], index: &[u64]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(domain);
        hasher.update(seed);
        for word in index {
            hasher.update(&word.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}
