//! The secrets under which digests are encrypted, derived from a seed.

use omr_marks::published;
use omr_ring::{Ring, Xof};
use omr_rlwe::{Secret, SecretPoly};
use rand_core::Rng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Length in bytes of the seed of a digest's secrets in a secret key file.
pub const DIGEST_SEED_BYTES: usize = 32;

/// The seed of the secrets under which digests are encrypted. It is wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct DigestSecret([u8; DIGEST_SEED_BYTES]);

impl DigestSecret {
    /// Makes the secrets of a random seed.
    pub fn new(seed: [u8; DIGEST_SEED_BYTES]) -> Self {
        Self(seed)
    }

    pub(crate) fn seed(&self) -> &[u8; DIGEST_SEED_BYTES] {
        &self.0
    }

    /// Returns one uniform ternary secret of the ring of digests for each body that shares a mask.
    pub fn polys(&self, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        self.draw("omr digest secret v1", ring, bodies)
    }

    /// Returns the secrets of InstantOMR's digests, in the same number.
    pub(crate) fn instant_polys(&self, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        self.draw("omr instant digest secret v1", ring, bodies)
    }

    /// Returns the secrets of scans, one for each group of a section.
    pub(crate) fn scan_polys(&self, ring: &Ring, groups: usize) -> Vec<SecretPoly> {
        self.draw("omr scan secret v1", ring, groups)
    }

    /// Returns the secrets of answers to queries, one for each body that shares a mask.
    pub(crate) fn answer_polys(&self, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        self.draw("omr answer secret v1", ring, bodies)
    }

    /// Returns the secret of queries, in the dimension of their ring.
    pub(crate) fn query_secret(&self, ring: &Ring) -> Secret {
        let mut stream = Xof::stream("omr query secret v1", &self.0, &[]);
        Secret::uniform_ternary(&mut stream, ring.n())
    }

    /// Returns the name of the detector's key for two rounds.
    pub(crate) fn rounds_id(&self) -> [u8; 16] {
        self.name("omr rounds key id v1")
    }

    /// Returns the key of the recipient's stored letters.
    pub(crate) fn storage_key(&self) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        Xof::stream("omr storage key v1", &self.0, &[]).fill_bytes(&mut *key);
        key
    }

    fn draw(&self, domain: &'static str, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        let secret = |i| {
            let mut stream = Xof::stream(domain, &self.0, &[i as u64]);
            let secret = Secret::uniform_ternary(&mut stream, ring.n());
            secret.poly(ring, &ring.everything())
        };
        (0..bodies).map(secret).collect()
    }

    /// Returns the name of the detector's key for InstantOMR.
    pub(crate) fn instant_id(&self) -> [u8; 16] {
        self.name("omr instant key id v1")
    }

    /// Returns a name for a detection key. Nobody without the seed can link it to another name. `domain` is a string
    /// that no other purpose has.
    pub fn name(&self, domain: &'static str) -> [u8; 16] {
        let mut id = [0; 16];
        Xof::stream(domain, &self.0, &[]).fill_bytes(&mut id);
        // Names are public: detectors receive them.
        published(id)
    }
}
