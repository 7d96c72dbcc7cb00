//! LWE clues as clues of the ring.
//!
//! A clue (a, b) becomes one of the ring, `a* = a_0 - sum_k a_k X^(n-k)`, with zeros from n = 960 to 1,024. The first
//! coefficient of `a* s` is the inner product of a and s, so SophOMR's affine transform serves; secrets share
//! diagonals.

use crate::clear::Params;
use crate::clear::{EarlierParams, LweParams};
use crate::detector::ClueBatch;
use omr_protocol::{Clue, Placement};
use rayon::prelude::*;

impl EarlierParams {
    /// Up to `slots` plain clues, laid one after another as they were posted, each in its slot; those that do not parse
    /// or reach everybody count as impertinent.
    ///
    /// Panics: when clues have 0 bytes.
    pub fn batch(&self, placement: &Placement, bytes: Vec<u8>, clue_bytes: usize) -> ClueBatch {
        let params = &self.params;
        let (bytes, clue_bytes) = match &self.lwe {
            None => (bytes, clue_bytes),
            Some(lwe) => in_ring(params, lwe, &bytes, clue_bytes),
        };
        ClueBatch::new(params, placement, bytes, clue_bytes)
    }
}

/// LWE clues as clues of the ring, and the bytes of one; zeros, which are none, for those that do not parse or reach
/// everybody.
fn in_ring(params: &Params, lwe: &LweParams, bytes: &[u8], clue_bytes: usize) -> (Vec<u8>, usize) {
    let len = Clue::bytes(&params.clue);
    let (p, n) = (params.p(), params.spec().clue.n);
    let mut out = vec![0; bytes.len().div_ceil(clue_bytes) * len];
    let clues = out.par_chunks_mut(len).zip(bytes.par_chunks(clue_bytes));
    clues.for_each(|(out, bytes)| {
        let clue = lwe.clue_from_bytes(bytes);
        if let Ok(clue) = clue.and_then(|clue| lwe.check_clue(&clue).map(|()| clue)) {
            out.copy_from_slice(&lwe.in_ring(p, n, &clue).to_bytes(&params.clue));
        }
    });
    (out, len)
}
