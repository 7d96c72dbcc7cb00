use omr_protocol::Params;
use omr_ring::Xof;
use omr_rlwe::{Secret, SecretPoly};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of the seed of a digest's secrets in a secret key file.
pub const DIGEST_SEED_BYTES: usize = 32;

/// The secrets under which digests come, as their seed. Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct DigestSecret([u8; DIGEST_SEED_BYTES]);

impl DigestSecret {
    pub(crate) fn new(seed: [u8; DIGEST_SEED_BYTES]) -> Self {
        Self(seed)
    }

    pub(crate) fn seed(&self) -> &[u8; DIGEST_SEED_BYTES] {
        &self.0
    }

    /// One uniform ternary secret of the final ring for each body that shares a mask.
    pub(crate) fn polys(&self, params: &Params) -> Vec<SecretPoly> {
        let ring = &params.final_ring;
        let secret = |i| {
            let mut stream = Xof::stream("omr digest secret v1", &self.0, &[i as u64]);
            let secret = Secret::uniform_ternary(&mut stream, ring.n());
            secret.poly(ring, &ring.everything())
        };
        (0..params.final_shape.bodies()).map(secret).collect()
    }
}
