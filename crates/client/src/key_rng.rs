//! The random generator from which a detection key is made.

use crate::digest_secret::DigestSecret;
use chacha20::ChaCha20Rng;
use omr_protocol::clue::OFFSET_LEN;
use omr_ring::Ring;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

/// The data that determines the content of a detection key and its public masks.
pub(crate) struct KeyContent<'a> {
    /// The name of the key's file in a recipient's folder, which differs between kinds of keys.
    pub(crate) file: &'a str,
    /// The name of the parameter set.
    pub(crate) set: &'a str,
    /// The primes that masks are drawn modulo.
    pub(crate) primes: Vec<u64>,
    /// The seed of the masks of an epoch; `None` if the generator draws the masks as well.
    pub(crate) masks: Option<&'a [u8; 32]>,
    /// The clue secrets that the key encrypts.
    pub(crate) clue: &'a [&'a [i64]],
    /// The offset of an address with bound clues.
    pub(crate) offset: Option<[u32; OFFSET_LEN]>,
    /// The secrets of digests.
    pub(crate) digest: &'a DigestSecret,
}

/// Returns the primes of rings, in order.
pub(crate) fn primes_of(rings: &[&Ring]) -> Vec<u64> {
    let of_ring = |ring: &&Ring| -> Vec<u64> {
        let ids = 0..ring.everything().len();
        ids.map(|id| ring.modulus(id).value()).collect()
    };
    rings.iter().flat_map(of_ring).collect()
}

impl KeyContent<'_> {
    /// Returns the generator of the secrets and errors of this key, from 32 bytes of `rng`.
    ///
    /// Two keys with the same secrets and errors but different masks A would reveal the secrets: their bodies differ by
    /// exactly (A - A') s. Callers keep seeds, and machines are reset to earlier states, so the generator depends on
    /// the content as well: a stream that is used twice leads to the same key, or to one that is independent of the
    /// first.
    pub(crate) fn generator(&self, rng: &mut impl CryptoRng) -> ChaCha20Rng {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut hasher = blake3::Hasher::new_derive_key("omr detection key v1");
        hasher.update(&*seed);
        hasher.update(self.masks.unwrap_or(&[0; 32]));
        hasher.update(self.digest.seed());
        let primes: Vec<u8> = self.primes.iter().flat_map(|q| q.to_le_bytes()).collect();
        let residues = self.offset.iter().flatten();
        let offset: Vec<u8> = residues.flat_map(|w| w.to_le_bytes()).collect();
        // Parts of any length, each preceded by its length.
        for part in [self.file.as_bytes(), self.set.as_bytes(), &primes, &offset] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        for secret in self.clue {
            let bytes = secret.iter().flat_map(|c| c.to_le_bytes());
            let words = Zeroizing::new(bytes.collect::<Vec<u8>>());
            hasher.update(&(words.len() as u64).to_le_bytes());
            hasher.update(&words);
        }
        let mut key = Zeroizing::new([0; 32]);
        hasher.finalize_xof().fill(&mut *key);
        hasher.zeroize();
        ChaCha20Rng::from_seed(*key)
    }
}
