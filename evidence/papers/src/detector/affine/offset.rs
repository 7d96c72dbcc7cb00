//! The offset `<h, w>` of bound clues, which is added while the sums of giant steps are rotated.
//!
//! Column z of the encrypted w contains residue `z / baby mod 8`, so that a giant step moves to the next
//! residue: the sum of giant step g uses, for every clue, the residue of h that is then aligned with w. This
//! needs no additional rotation.

use crate::clear::{DetectionKey, Params};
use omr_bgv::{Ciphertext, Evaluator};
use omr_detector::DetectorError;
use omr_protocol::clue::OFFSET_LEN;
use omr_ring::{Eval, Poly};

/// The encrypted w and the rows h of a batch.
pub(super) struct Offset<'a> {
    ev: &'a Evaluator<'a>,
    params: &'a Params,
    /// `None` if clues are plain.
    w: Option<&'a Ciphertext>,
    rows: &'a [Vec<[u32; OFFSET_LEN]>],
}

impl<'a> Offset<'a> {
    pub(super) fn new(
        ev: &'a Evaluator,
        params: &'a Params,
        key: &'a DetectionKey,
        rows: &'a [Vec<[u32; OFFSET_LEN]>],
    ) -> Self {
        Self {
            ev,
            params,
            w: key.offset.as_ref(),
            rows,
        }
    }

    /// Adds the terms of the offset that belong to giant step `giant` to its sums, one for each coordinate.
    pub(super) fn add(&self, giant: usize, sums: &mut [Ciphertext]) -> Result<(), DetectorError> {
        let Some(w) = self.w.filter(|_| giant < OFFSET_LEN) else {
            return Ok(());
        };
        for (sum, rows) in sums.iter_mut().zip(self.rows) {
            self.ev
                .mul_plain_add(sum, w, &self.plaintext(giant, rows))?;
        }
        Ok(())
    }

    /// Returns the plaintext that contains, at column z, residue `z / baby mod 8` of the clue at column
    /// `z - giant * baby`.
    fn plaintext(&self, giant: usize, rows: &[[u32; OFFSET_LEN]]) -> Poly<Eval> {
        let (params, n) = (self.params, self.params.slots());
        let (half, baby) = (n / 2, params.spec().baby);
        let value = |slot: usize| {
            let (row, column) = (slot / half, slot % half);
            let from = (column + half - giant * baby % half) % half;
            rows[row * half + from][column / baby % OFFSET_LEN]
        };
        let slots: Vec<u32> = (0..n).map(value).collect();
        let p = params.p().value() as u32;
        let basis = params.chain.basis(0);
        params
            .ring
            .lift_plain(&params.plain.encode(&slots), p, basis)
    }
}
