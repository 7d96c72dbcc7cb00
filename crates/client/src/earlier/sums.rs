//! Digests of PerfOMR1: their sums.

use crate::recipient::expect;
use crate::{DecodeError, Recipient};
use omr_protocol::PackedCiphertext;

impl Recipient<'_> {
    /// The first `positions` sums of a digest of PerfOMR1, one part after another.
    ///
    /// Errors: `Inconsistent` when the digest has another shape.
    pub fn bundle_sums(
        &self,
        digest: &[PackedCiphertext],
        positions: usize,
    ) -> Result<Vec<u32>, DecodeError> {
        let params = self.params();
        let (n, together) = (params.small.n(), params.final_shape.parts);
        let parts = positions.div_ceil(n);
        expect("ciphertexts", parts.div_ceil(together), digest.len())?;
        let mut out = Vec::with_capacity(positions);
        for (i, ct) in digest.iter().enumerate() {
            let dimension = params.final_ring.n();
            expect("mask coefficients", dimension, ct.mask.len())?;
            let here = together.min(parts - i * together);
            expect("parts of a ciphertext", here, ct.parts.len())?;
            let mask = self.mask(ct);
            for (j, body) in ct.parts.iter().enumerate() {
                let kept = n.min(positions - out.len());
                expect("body coefficients", kept, body.len())?;
                let phases = self.phase(&mask, j, body, 0..kept);
                out.extend(phases.into_iter().map(|x| self.symbol(x)));
            }
        }
        Ok(out)
    }
}
