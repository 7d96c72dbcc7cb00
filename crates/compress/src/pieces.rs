//! Cuts rows in slot order into pieces for the sums of products.

use crate::Setting;
use omr_ring::Buffer;

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
        let half = setting.small.n() / 2;
        Self {
            half,
            len: PIECE.min(half),
            limbs: setting.limbs,
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

/// The words of all pieces, piece by piece, in buffers of the pool.
pub(crate) struct PieceWords {
    /// Some pieces each, so that they take the places of others that the pool has.
    buffers: Vec<Buffer>,
    together: usize,
    /// Words of a piece.
    words: usize,
}

impl PieceWords {
    /// `words` words for each piece, `together` pieces in a buffer that `buffer` makes.
    pub(crate) fn new(
        cut: &Pieces,
        words: usize,
        together: usize,
        buffer: impl Fn(usize) -> Buffer,
    ) -> Self {
        let count = cut.count();
        let buffers = (0..count)
            .step_by(together)
            .map(|from| buffer(together.min(count - from) * words));
        Self {
            buffers: buffers.collect(),
            together,
            words,
        }
    }

    pub(crate) fn piece(&self, index: usize) -> &[u64] {
        let (buffer, place) = (index / self.together, index % self.together);
        &self.buffers[buffer][place * self.words..][..self.words]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.buffers.iter().flat_map(|b| b.chunks(self.words))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.buffers
            .iter_mut()
            .flat_map(|b| b.chunks_mut(self.words))
    }
}
