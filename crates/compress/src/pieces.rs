//! Cuts rows in slot order into pieces for the sums of products.

use crate::Setting;

/// Slots of a piece.
const PIECE: usize = 256;

/// Rows of the small ring in slot order, cut into pieces; piece by piece means by limb, slot row
/// and part of the row.
#[derive(Clone, Copy)]
pub(crate) struct Pieces {
    half: usize,
    len: usize,
    limbs: usize,
}

impl Pieces {
    pub(crate) fn new(setting: Setting) -> Self {
        let half = setting.small().n() / 2;
        Self {
            half,
            len: PIECE.min(half),
            limbs: setting.sum_primes,
        }
    }

    /// Slots of one.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of pieces.
    pub(crate) fn count(&self) -> usize {
        self.limbs * 2 * self.half / self.len
    }

    /// Limb, slot row and first column.
    pub(crate) fn locate(&self, index: usize) -> (usize, usize, usize) {
        let per_row = self.half / self.len;
        let (row, part) = (index / per_row, index % per_row);
        (row / 2, row % 2, part * self.len)
    }

    /// Limb and first slot.
    pub(crate) fn slot(&self, index: usize) -> (usize, usize) {
        let (limb, row, column) = self.locate(index);
        (limb, row * self.half + column)
    }
}
