//! OMD1p's digest (Liu, Tromer 2021): pertinency vectors. Several batches share one as its bits.

use super::{Pertinency, pack};
use crate::clear::Params;
use omr_compress::finish;
use omr_protocol::PackedCiphertext;
use omr_rlwe::{Rlwe, SharedKey};

/// A sum of `2^t PV_t` in the small ring. One vector contains one batch fewer than p has bits
/// ([`crate::codec::IndexBitmap`]). Slots are not unpacked: all coefficients are sent, and the recipient
/// converts them to slots.
pub struct Indices<'a> {
    params: &'a Params,
    last: &'a SharedKey,
    batches: usize,
    /// The parts of all vectors, vector by vector.
    sums: Vec<Rlwe>,
}

impl<'a> Indices<'a> {
    pub(super) fn new(params: &'a Params, last: &'a SharedKey) -> Self {
        Self {
            params,
            last,
            batches: 0,
            sums: Vec::new(),
        }
    }

    /// Adds the next batch.
    pub fn add_batch(&mut self, mut pertinency: Pertinency) {
        let (params, p) = (self.params, self.params.p());
        let bit = self.batches % p.value().ilog2() as usize;
        self.batches += 1;
        let gathered = p.mul(
            pertinency.scale,
            finish::gathered_scale(params.compression().packing),
        );
        let unit = p.to_centered(p.mul(1 << bit, p.inv(gathered)));
        let ring = &params.small;
        for part in &mut pertinency.parts {
            ring.scale_assign(&mut part.c0, |m| m.from_i64(unit));
            ring.scale_assign(&mut part.c1, |m| m.from_i64(unit));
        }
        if bit == 0 {
            return self.sums.extend(pertinency.parts);
        }
        let from = self.sums.len() - pertinency.parts.len();
        for (sum, part) in self.sums[from..].iter_mut().zip(&pertinency.parts) {
            ring.add_assign(&mut sum.c0, &part.c0);
            ring.add_assign(&mut sum.c1, &part.c1);
        }
    }

    /// Returns the digest's ciphertexts: all coefficients, in the ring of digests and rounded like SophOMR's.
    pub fn finish(self) -> Vec<PackedCiphertext> {
        let positions = self.sums.len() * self.params.small.n();
        pack::pack(self.params, self.last, &self.sums, positions)
    }
}
