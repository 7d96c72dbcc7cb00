//! Digests of the earlier schemes: their sums.

use super::LweSecret;
use omr_client::sophomr::phases;
use omr_client::{DecodeError, SecretKey};
use omr_compress::Phases;
use omr_protocol::PackedCiphertext;
use omr_protocol::sophomr::Params;

/// A recipient's secret, ready to decrypt digests of the earlier schemes.
pub struct EarlierRecipient<'a> {
    params: &'a Params,
    phases: Phases<'a>,
}

impl<'a> EarlierRecipient<'a> {
    /// Of a set with clues of ring LWE.
    pub fn new(params: &'a Params, secret: &SecretKey) -> Self {
        let phases = phases(params, secret.digest_secret());
        Self { params, phases }
    }

    /// Of a set with LWE clues.
    pub fn of_lwe(params: &'a Params, secret: &LweSecret) -> Self {
        let phases = phases(params, &secret.digest());
        Self { params, phases }
    }

    /// The first `positions` sums of a digest, one part after another.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
    pub fn sums(
        &self,
        digest: &[PackedCiphertext],
        positions: usize,
    ) -> Result<Vec<u32>, DecodeError> {
        let params = self.params;
        let (n, together) = (params.small.n(), params.final_shape.parts);
        let parts = positions.div_ceil(n);
        check_count("ciphertexts", parts.div_ceil(together), digest.len())?;
        let mut out = Vec::with_capacity(positions);
        for (i, ct) in digest.iter().enumerate() {
            let dimension = params.final_ring.n();
            check_count("mask coefficients", dimension, ct.mask.len())?;
            let here = together.min(parts - i * together);
            check_count("parts of a ciphertext", here, ct.parts.len())?;
            let mask = self.phases.mask(ct);
            for (j, body) in ct.parts.iter().enumerate() {
                let kept = n.min(positions - out.len());
                check_count("body coefficients", kept, body.len())?;
                let phases = self.phases.phase(&mask, j, body, 0..kept);
                out.extend(phases.into_iter().map(|x| self.phases.symbol(x)));
            }
        }
        Ok(out)
    }

    /// The sums in all slots of OMD1p's digest of so many pertinency vectors, one vector after another: part i
    /// of a vector has the coefficients that are i modulo the number of parts.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
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

/// Errors: `Inconsistent` unless both are the same.
fn check_count(what: &str, expected: usize, found: usize) -> Result<(), DecodeError> {
    match expected == found {
        true => Ok(()),
        false => Err(DecodeError::Inconsistent(format!(
            "expected {expected} {what}, found {found}"
        ))),
    }
}
