//! A batch's clues as the matrix of the affine transform: diagonals, kept or to be encoded.

use super::{GIANTS_TOGETHER, groups, tile_words};
use crate::sophomr::ClueBatch;
use crate::sophomr::cache::{PartKey, Room, SharedBatch};
use crate::sophomr::clues::Coordinates;
use omr_protocol::sophomr::Params;
use omr_ring::Buffer;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What a cache has of a batch's clues. It stays there while this lives.
#[derive(Default)]
pub(crate) struct Kept {
    coordinates: Option<Arc<Coordinates>>,
    /// By first giant step and limb.
    diagonals: HashMap<(usize, usize), Arc<Buffer>>,
    complete: bool,
}

impl Kept {
    pub(crate) fn new(params: &Params, shared: &SharedBatch) -> Self {
        let limbs = params.chain.basis(0).len();
        let places = groups(params).flat_map(|giants| (0..limbs).map(move |i| (giants.start, i)));
        let known = |(giant, limb)| Some(((giant, limb), shared.diagonals(giant, limb)?));
        let diagonals: HashMap<_, _> = places.clone().filter_map(known).collect();
        Self {
            coordinates: shared.coordinates(),
            complete: diagonals.len() == places.count(),
            diagonals,
        }
    }

    /// Whether all diagonals are kept.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The coordinates, if the clues themselves are of no use any more.
    pub(crate) fn instead_of_clues(&self) -> Option<Arc<Coordinates>> {
        self.coordinates.clone().filter(|_| self.complete)
    }
}

/// The clues of a batch as the transform takes them.
pub(crate) struct Matrix<'a> {
    pub(crate) coordinates: &'a Coordinates,
    /// None: all diagonals are kept.
    pub(crate) clues: Option<&'a ClueBatch>,
    pub(crate) kept: &'a Kept,
    /// Where to keep diagonals.
    pub(crate) shared: Option<&'a SharedBatch<'a>>,
}

/// The diagonals of some giant steps.
pub(super) struct Diagonals<'a> {
    matrix: &'a Matrix<'a>,
    giants: Range<usize>,
    /// Those of each giant step, as coefficients modulo p in halves of words; none if all limbs are
    /// kept.
    coefficients: Vec<Buffer>,
}

/// One limb of them.
pub(super) enum Limb<'a> {
    /// Encoded, tile by tile.
    Kept(&'a Buffer),
    /// To be encoded, and kept if there is room.
    Coefficients(&'a [Buffer], Option<Room<'a>>),
}

impl<'a> Diagonals<'a> {
    pub(super) fn new(params: &Params, matrix: &'a Matrix, giants: Range<usize>) -> Self {
        let limbs = params.chain.basis(0).len();
        let kept = |limb| matrix.kept.diagonals.contains_key(&(giants.start, limb));
        let clues = matrix.clues.filter(|_| !(0..limbs).all(kept));
        let of_giant = |giant| {
            let mut rows = Buffer::any(coefficient_words(params));
            if let Some(clues) = clues {
                clues.diagonals(params, giant, rows.halves_mut());
            }
            rows
        };
        let needed = giants.clone().filter(|_| clues.is_some());
        Self {
            matrix,
            coefficients: needed.map(of_giant).collect(),
            giants,
        }
    }

    pub(super) fn limb(&self, params: &Params, limb: usize) -> Limb<'_> {
        let giant = self.giants.start;
        if let Some(kept) = self.matrix.kept.diagonals.get(&(giant, limb)) {
            return Limb::Kept(kept);
        }
        let bytes = kept_words(params, self.giants.len()) * size_of::<u64>();
        let key = PartKey::Diagonals { giant, limb };
        let room = self
            .matrix
            .shared
            .and_then(|shared| shared.room(key, bytes));
        Limb::Coefficients(&self.coefficients, room)
    }
}

/// Words of the coefficients of the diagonals of a giant step.
pub(super) fn coefficient_words(params: &Params) -> usize {
    params.spec().baby * params.slots() / 2
}

/// Words of one limb of the encoded diagonals of some giant steps.
pub(super) fn kept_words(params: &Params, giants: usize) -> usize {
    debug_assert!(giants <= GIANTS_TOGETHER);
    params.ring.n() / super::piece(params) * tile_words(params, giants)
}
