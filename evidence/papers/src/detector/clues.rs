//! Conversion of LWE clues to ring LWE clues.
//!
//! A clue (a, b) becomes a clue of the ring with `a* = a_0 - sum_k a_k X^(n-k)`, padded with zeros (from 960 to
//! 1,024, for PVW). The first coefficient of `a* s` is the inner product of a and s, so SophOMR's affine
//! transform serves. Secrets share diagonals.

use crate::clear::Params;
use crate::clear::{LweParams, PaperParams};
use crate::detector::ClueBatch;
use omr_protocol::{Clue, Placement};
use rayon::prelude::*;

impl PaperParams {
    /// Builds a batch of up to `slots` concatenated plain clues as they were posted, each in its slot. Clues
    /// that do not parse, or that are pertinent to every recipient, count as impertinent.
    ///
    /// Panics: if clues have 0 bytes.
    pub fn batch(&self, placement: &Placement, bytes: Vec<u8>, clue_bytes: usize) -> ClueBatch {
        let params = &self.params;
        let (bytes, clue_bytes) = match &self.lwe {
            None => (bytes, clue_bytes),
            Some(lwe) => in_ring(params, lwe, &bytes, clue_bytes),
        };
        ClueBatch::new(params, placement, bytes, clue_bytes)
    }
}

/// Returns LWE clues converted to clues of the ring, and the bytes of one. Clues that do not parse, or that are
/// pertinent to every recipient, become zeros, which are no valid clue.
fn in_ring(params: &Params, lwe: &LweParams, bytes: &[u8], clue_bytes: usize) -> (Vec<u8>, usize) {
    let len = Clue::bytes(&params.clue);
    let (p, n) = (params.p(), params.spec().clue.n);
    let mut out = vec![0; bytes.len().div_ceil(clue_bytes) * len];
    let clues = out.par_chunks_mut(len).zip(bytes.par_chunks(clue_bytes));
    clues.for_each(|(out, bytes)| {
        let parsed = lwe.clue_from_bytes(bytes);
        if let Ok(clue) = parsed.and_then(|clue| lwe.check_clue(&clue).map(|()| clue)) {
            out.copy_from_slice(&lwe.in_ring(p, n, &clue).to_bytes(&params.clue));
        }
    });
    (out, len)
}
