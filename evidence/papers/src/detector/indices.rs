//! OMD1p's digest (Liu, Tromer 2021): pertinency vectors, those of several batches as the bits of one.

use super::{Pertinency, pack};
use crate::clear::Params;
use omr_compress::finish;
use omr_protocol::PackedCiphertext;
use omr_rlwe::{Rlwe, SharedKey};

/// Adds up `2^t PV_t` in the small ring, as many batches as p has bits less one in a vector
/// ([`crate::codec::IndexBitmap`]). Nothing is unpacked: all coefficients are sent, and the recipient makes slots of them.
pub struct Indices<'a> {
    params: &'a Params,
    last: &'a SharedKey,
    batches: usize,
    /// The parts of one vector after another.
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
            finish::gathered_scale(params.compression(), 1),
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

    /// The digest's ciphertexts: all coefficients, in the ring of digests and rounded as SophOMR's.
    pub fn finish(self) -> Vec<PackedCiphertext> {
        let positions = self.sums.len() * self.params.small.n();
        pack::pack(self.params, self.last, &self.sums, positions)
    }
}
