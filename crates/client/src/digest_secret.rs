//! The secrets under which digests come, from a seed.

use omr_marks::published;
use omr_ring::{Ring, Xof};
use omr_rlwe::{Secret, SecretPoly};
use rand_core::Rng;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of the seed of a digest's secrets in a secret key file.
pub const DIGEST_SEED_BYTES: usize = 32;

/// The secrets under which digests come, as their seed. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct DigestSecret([u8; DIGEST_SEED_BYTES]);

impl DigestSecret {
    /// The secrets that follow from a random seed.
    pub fn new(seed: [u8; DIGEST_SEED_BYTES]) -> Self {
        Self(seed)
    }

    pub(crate) fn seed(&self) -> &[u8; DIGEST_SEED_BYTES] {
        &self.0
    }

    /// One uniform ternary secret of the ring of digests for each body that shares a mask.
    pub fn polys(&self, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        self.draw("omr digest secret v1", ring, bodies)
    }

    /// The same for InstantOMR's digests.
    pub(crate) fn instant_polys(&self, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        self.draw("omr instant digest secret v1", ring, bodies)
    }

    fn draw(&self, domain: &'static str, ring: &Ring, bodies: usize) -> Vec<SecretPoly> {
        let secret = |i| {
            let mut stream = Xof::stream(domain, &self.0, &[i as u64]);
            let secret = Secret::uniform_ternary(&mut stream, ring.n());
            secret.poly(ring, &ring.everything())
        };
        (0..bodies).map(secret).collect()
    }

    /// The name of the detector's key for InstantOMR.
    pub(crate) fn instant_id(&self) -> [u8; 16] {
        self.name("omr instant key id v1")
    }

    /// A name for a detection key that nobody without the seed links to another of hers. `domain`: what the key is
    /// for, by a string that nothing else uses.
    pub fn name(&self, domain: &'static str) -> [u8; 16] {
        let mut id = [0; 16];
        Xof::stream(domain, &self.0, &[]).fill_bytes(&mut id);
        // Public: detectors are given it.
        published(id)
    }
}
