//! Diagonals of the matrix of clues, as coefficients modulo p.

use super::{piece, tile_words};
use crate::clear::Params;
use crate::detector::ClueBatch;
use omr_ring::Buffer;
use std::ops::Range;

/// The diagonals of some giant steps: of each one a buffer of coefficients modulo p in halves of words.
pub(super) fn diagonals(params: &Params, clues: &ClueBatch, giants: Range<usize>) -> Vec<Buffer> {
    let of_giant = |giant| {
        let mut rows = Buffer::any(coefficient_words(params));
        clues.diagonals(params, giant, rows.halves_mut());
        rows
    };
    giants.map(of_giant).collect()
}

/// Words of the coefficients of the diagonals of a giant step.
pub(super) fn coefficient_words(params: &Params) -> usize {
    params.spec().baby * params.slots() / 2
}

/// Words of one limb of the encoded diagonals of some giant steps.
pub(super) fn tile_words_of_ring(params: &Params, giants: usize) -> usize {
    params.ring.n() / piece(params) * tile_words(params, giants)
}
