//! The clues of one batch, by slot, and the diagonals of their matrix.

use omr_protocol::{ClueParser, Params, Placement};
use rayon::prelude::*;

/// Sides of the squares in which diagonals are cut out of clues: whole cache lines on both.
const TILE: usize = 16;

/// The clues of one batch. A slot without a usable clue holds `a = 0, b = p/2`: impertinent.
pub struct ClueBatch {
    width: usize,
    /// For each slot: a, then b.
    rows: Vec<u32>,
    b: Vec<Vec<u32>>,
    unusable: usize,
}

impl ClueBatch {
    /// Parses up to `slots` clues laid one after another and puts each into its slot; those that
    /// do not parse count as impertinent.
    pub fn new(params: &Params, placement: &Placement, bytes: &[u8], clue_bytes: usize) -> Self {
        let parser = ClueParser::new(params);
        let (width, residues) = (params.spec().clue.n, parser.residues());
        let far = (params.p().value() / 2) as u32;
        let mut rows = vec![0; params.slots() * residues];
        let impertinent = |row: &mut [u32]| {
            row[..width].fill(0);
            row[width..].fill(far);
        };
        let unusable = rows
            .par_chunks_mut(residues)
            .zip(placement.messages())
            .map(|(row, &message)| {
                let start = message as usize * clue_bytes;
                let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) else {
                    impertinent(row);
                    return 0;
                };
                match parser.parse_into(&rest[..clue_bytes.min(rest.len())], row) {
                    Ok(()) => 0,
                    Err(_) => {
                        impertinent(row);
                        1
                    }
                }
            })
            .sum();
        let coordinate = |i: usize| rows.chunks(residues).map(|row| row[width + i]).collect();
        Self {
            width,
            b: (0..params.spec().clue.coordinates)
                .map(coordinate)
                .collect(),
            rows,
            unusable,
        }
    }

    /// Clues that did not parse.
    pub fn unusable(&self) -> usize {
        self.unusable
    }

    /// For each coordinate: b, by slot.
    pub(crate) fn b(&self) -> &[Vec<u32>] {
        &self.b
    }

    /// Diagonals `giant * baby + j` for all j, turned back by the giant step, in slots:
    /// at column z of the clue in slot w (its column z - giant * baby) stands `Neg^0(a_w)[z + j]`.
    pub(crate) fn diagonals(&self, params: &Params, giant: usize) -> Vec<Vec<u32>> {
        let (n, baby) = (params.slots(), params.spec().baby);
        let back = giant * baby % (n / 2);
        let mut out = vec![vec![0u32; n]; baby];
        out.par_chunks_mut(TILE).enumerate().for_each(|(i, rows)| {
            for start in (0..n).step_by(TILE) {
                let tile = self.tile(params, back, i * TILE, start);
                for (row, values) in rows.iter_mut().zip(&tile) {
                    row[start..start + TILE].copy_from_slice(values);
                }
            }
        });
        out
    }

    /// Diagonals from `first` on, in the slots from `start` on.
    fn tile(
        &self,
        params: &Params,
        back: usize,
        first: usize,
        start: usize,
    ) -> [[u32; TILE]; TILE] {
        let half = params.slots() / 2;
        let p = params.p().value() as u32;
        let (width, mask) = (self.width, 2 * self.width - 1);
        let stride = width + self.b.len();
        let mut tile = [[0; TILE]; TILE];
        for s in 0..TILE {
            let (row, column) = ((start + s) / half, (start + s) % half);
            let from = row * half + (column + half - back) % half;
            let a = &self.rows[from * stride..][..width];
            for (j, values) in tile.iter_mut().enumerate() {
                // Neg^0(a) extended antiperiodically is a read backwards.
                let at = (2 * width - ((column + first + j) & mask)) & mask;
                let value = a[at & (width - 1)];
                let negative = at >= width && value != 0;
                values[s] = if negative { p - value } else { value };
            }
        }
        tile
    }
}
