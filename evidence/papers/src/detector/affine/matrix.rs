//! Diagonals of the matrix of clues, as coefficients modulo p.

use super::{piece, tile_words};
use crate::clear::Params;
use crate::detector::ClueBatch;
use omr_ring::Buffer;
use std::ops::Range;

/// Returns the diagonals of some giant steps: for each giant step a buffer of coefficients modulo p, two to a
/// word.
pub(super) fn diagonals(params: &Params, clues: &ClueBatch, giants: Range<usize>) -> Vec<Buffer> {
    let of_giant = |giant| {
        let mut rows = Buffer::any(coefficient_words(params));
        clues.diagonals(params, giant, rows.halves_mut());
        rows
    };
    giants.map(of_giant).collect()
}

/// Returns the number of words of the coefficients of a giant step's diagonals.
pub(super) fn coefficient_words(params: &Params) -> usize {
    params.spec().baby * params.slots() / 2
}

/// Returns the number of words in one limb of the encoded diagonals of `giants` giant steps.
pub(super) fn tile_words_of_ring(params: &Params, giants: usize) -> usize {
    params.ring.n() / piece(params) * tile_words(params, giants)
}
