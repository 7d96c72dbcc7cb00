//! Packing of clues in the memory of the backend of the ring of packing. Residues equal those of the processor.

use crate::module::{KeyRows, ModuleCipher};
use crate::packing::ciphers;
use crate::{BlockOfClues, Opening};
use omr_ring::{
    AlignedVec, At, AwayBytes, AwayRows, Backend, PackedRows, Ring, RowLift, RowProducts,
    RowTransform,
};

/// The number of the only prime of the ring of packing.
const PRIME: usize = 0;

/// The rows of a packing key in a backend's memory.
pub(crate) struct AwayKey {
    ring: Ring,
    /// Row by row, the masks, then the body.
    rows: AwayRows,
    /// The number of masks of a row.
    rank: usize,
}

impl AwayKey {
    pub(crate) fn new(ring: &Ring, rows: &KeyRows) -> Self {
        Self {
            rows: AwayRows::of(ring, &rows.all()),
            rank: rows.rank(),
            ring: ring.clone(),
        }
    }

    fn backend(&self) -> &dyn Backend {
        &**self.ring.backend().expect("a ring with a backend")
    }

    /// Writes bytes to the backend's memory.
    pub(crate) fn place(&self, bytes: &[u8]) -> AwayBytes {
        AwayBytes::of(&self.ring, bytes)
    }

    fn mask(&self, row: usize, number: usize) -> At<'_> {
        self.rows.at(row * (self.rank + 1) + number)
    }

    fn body(&self, row: usize) -> At<'_> {
        self.mask(row, self.rank)
    }
}

/// Returns what [`pack_placed`](crate::pack_placed) does.
pub(crate) fn pack_away(
    opening: &Opening,
    keys: &[&AwayKey],
    extra: usize,
    bytes: &AwayBytes,
    blocks: &[BlockOfClues<PackedRows>],
) -> Vec<Vec<ModuleCipher>> {
    let first = keys[0];
    let (ring, rank, coordinates) = (&first.ring, first.rank, opening.clue().coordinates);
    let columns = columns(opening, first, extra, bytes, blocks);
    let of_columns = opening.clue().n + coordinates * extra;
    // Block by block, for each coordinate the sums of masks, then of each key's bodies.
    let parts = rank + keys.len();
    let of_block = coordinates * parts;
    let sums = AwayRows::any(ring, blocks.len() * of_block);
    let meetings = meetings(opening, extra);
    let mut products = Vec::new();
    for block in 0..blocks.len() {
        for (coordinate, met) in meetings.iter().enumerate() {
            for part in 0..parts {
                let key_row = |row| match part.checked_sub(rank) {
                    None => first.mask(row, part),
                    Some(key) => keys[key].body(row),
                };
                let column = |met: &Meeting| columns.at(block * of_columns + met.column);
                let pair = |met: &Meeting| (column(met), key_row(met.row));
                products.push(RowProducts {
                    prime: PRIME,
                    to: sums.at(block * of_block + coordinate * parts + part),
                    pairs: met.iter().map(pair).collect(),
                    adds: false,
                });
            }
        }
    }
    first.backend().multiply(&products);
    let inverse = |row| (RowTransform::in_place(PRIME, sums.at(row)), 1);
    let inverses: Vec<_> = (0..blocks.len() * of_block).map(inverse).collect();
    first.backend().inverse(&inverses);
    let words = sums.to_words();
    let mut rows = words.chunks(ring.n()).map(AlignedVec::from);
    let ciphers =
        |clues: &BlockOfClues<PackedRows>| ciphers(opening, &clues.b, keys.len(), &mut rows);
    blocks.iter().map(ciphers).collect()
}

/// A column of clues and the row of the key that it meets.
struct Meeting {
    column: usize,
    row: usize,
}

/// Returns the products of each coordinate, in the order of [`columns`].
fn meetings(opening: &Opening, extra: usize) -> Vec<Vec<Meeting>> {
    let shape = opening.clue();
    let first_extra = opening.packing_bodies(0);
    let of = |coordinate: usize| {
        let own = (0..shape.n).map(|column| Meeting {
            column,
            row: shape.coordinates - 1 - coordinate + column,
        });
        let extra = (0..extra).map(|number| Meeting {
            column: shape.n + coordinate * extra + number,
            row: first_extra + number,
        });
        own.chain(extra).collect()
    };
    (0..shape.coordinates).map(of).collect()
}

/// Returns the columns of blocks in the evaluation domain, block by block: those of a, then of each coordinate's extra
/// residues.
fn columns(
    opening: &Opening,
    key: &AwayKey,
    extra: usize,
    bytes: &AwayBytes,
    blocks: &[BlockOfClues<PackedRows>],
) -> AwayRows {
    let (shape, n, backend) = (opening.clue(), opening.spec().n, key.backend());
    let p = u32::try_from(shape.q).expect("residues of 32 bits");
    let of_extra = shape.coordinates * extra;
    let of_block = shape.n + of_extra;
    let columns = AwayRows::any(&key.ring, blocks.len() * of_block);
    // The columns of each block from number `first` on.
    let rows = |first: usize, width: usize| -> Vec<RowLift<'_>> {
        let row = |polynomial: usize| RowLift {
            polynomial,
            prime: PRIME,
            to: columns.at(polynomial / width * of_block + first + polynomial % width),
        };
        (0..blocks.len() * width).map(row).collect()
    };
    let of_blocks = blocks.iter().flat_map(|block| &block.a.rows);
    let packed = PackedRows {
        rows: of_blocks.copied().collect(),
        ..blocks[0].a
    };
    // Centred: the errors of the key grow with the residues.
    backend.unpack(p, bytes, &packed, &rows(0, shape.n));
    if extra > 0 {
        let matrices = || blocks.iter().flat_map(|block| &block.extra);
        let row = |y: usize| matrices().flat_map(move |matrix| &matrix[y * extra..][..extra]);
        let matrix: Vec<u32> = (0..n).flat_map(row).copied().collect();
        backend.lift_columns(p, &matrix, &rows(shape.n, of_extra));
    }
    let transforms: Vec<_> = (0..blocks.len() * of_block)
        .map(|row| RowTransform::in_place(PRIME, columns.at(row)))
        .collect();
    backend.forward(&transforms);
    columns
}
