//! Decryption of the sums in a digest.

use super::LweSecret;
use crate::clear::Params;
use omr_client::sophomr::phases;
use omr_client::{DecodeError, SecretKey};
use omr_compress::{PackedShape, Phases};
use omr_protocol::PackedCiphertext;

/// A recipient's secret, ready to decrypt digests of the papers' schemes.
pub struct PaperRecipient<'a> {
    params: &'a Params,
    phases: Phases,
}

impl<'a> PaperRecipient<'a> {
    /// Prepares the secret of a set with ring LWE clues.
    pub fn new(params: &'a Params, secret: &SecretKey) -> Self {
        let phases = phases(params, secret.digest_secret());
        Self { params, phases }
    }

    /// Prepares the secret of a set with LWE clues.
    pub fn of_lwe(params: &'a Params, secret: &LweSecret) -> Self {
        let phases = phases(params, &secret.digest());
        Self { params, phases }
    }

    /// Returns the first `positions` sums of a digest, part by part.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    pub fn sums(
        &self,
        digest: &[PackedCiphertext],
        positions: usize,
    ) -> Result<Vec<u32>, DecodeError> {
        let params = self.params;
        let n = params.small.n();
        let kept = |part: usize| n.min(positions - part * n);
        let shape = PackedShape {
            dimension: params.final_ring.n(),
            together: params.final_shape.parts,
            parts: positions.div_ceil(n),
        };
        shape.check(digest, kept)?;
        let mut out = Vec::with_capacity(positions);
        for ct in digest {
            let mask = self.phases.mask(ct);
            for (i, body) in ct.parts.iter().enumerate() {
                let phases = self.phases.phase(&mask, i, body, 0..body.len());
                out.extend(phases.into_iter().map(|x| self.phases.symbol(x)));
            }
        }
        Ok(out)
    }

    /// Returns the sums in all slots of OMD1p's digest of `vectors` pertinency vectors, vector by vector. Part
    /// i of a vector contains the coefficients whose number is i modulo the number of parts.
    ///
    /// Errors: `Inconsistent` if the digest has another shape.
    pub fn slot_sums(
        &self,
        digest: &[PackedCiphertext],
        vectors: usize,
    ) -> Result<Vec<u32>, DecodeError> {
        let params = self.params;
        let (n, small) = (params.slots(), params.small.n());
        let coefficients = self.sums(digest, vectors * n)?;
        let slots = |vector: &[u32]| {
            let mut poly = vec![0; n];
            for (i, part) in vector.chunks(small).enumerate() {
                for (t, &x) in part.iter().enumerate() {
                    poly[n / small * t + i] = x.into();
                }
            }
            params.plain.decode(poly)
        };
        Ok(coefficients.chunks(n).flat_map(slots).collect())
    }
}
