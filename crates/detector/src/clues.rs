//! The clues of one batch, by slot, and the diagonals of their matrix.

use omr_protocol::{ClueParser, Params, Placement};
use omr_ring::Buffer;
use rayon::prelude::*;

/// Sides of the squares in which diagonals are cut out of clues: whole cache lines on both.
const TILE: usize = 16;

/// The clues of one batch. A slot without a usable clue holds `a = 0, b = p/2`: impertinent.
pub struct ClueBatch {
    width: usize,
    /// For each slot: `Neg^0(a)`, and the first `TILE` of what follows it antiperiodically.
    rows: Buffer,
    b: Vec<Vec<u32>>,
    unusable: usize,
}

impl ClueBatch {
    /// Parses up to `slots` clues laid one after another and puts each into its slot; those that
    /// do not parse count as impertinent.
    pub fn new(params: &Params, placement: &Placement, bytes: &[u8], clue_bytes: usize) -> Self {
        let parser = ClueParser::new(params);
        let (width, p) = (params.spec().clue.n, params.p().value() as u32);
        let mut rows = Buffer::zeroed(params.slots() * (width + TILE) / 2);
        let scratch = || vec![0; parser.residues()];
        let parsed: Vec<(bool, Vec<u32>)> = rows
            .halves_mut()
            .par_chunks_mut(width + TILE)
            .zip(placement.messages())
            .map_init(scratch, |clue, (row, &message)| {
                let start = (message as usize).saturating_mul(clue_bytes);
                let there = start < bytes.len();
                let end = start.saturating_add(clue_bytes).min(bytes.len());
                if there && parser.parse_into(&bytes[start..end], clue).is_ok() {
                    extend(p, &clue[..width], row);
                    (false, clue[width..].to_vec())
                } else {
                    (there, vec![p / 2; clue.len() - width])
                }
            })
            .collect();
        let coordinate = |i: usize| parsed.iter().map(|(_, b)| b[i]).collect();
        Self {
            width,
            rows,
            b: (0..params.spec().clue.coordinates)
                .map(coordinate)
                .collect(),
            unusable: parsed.iter().filter(|(unusable, _)| *unusable).count(),
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

    /// Diagonals `giant * baby + j` for all j, turned back by the giant step, as coefficients modulo
    /// p: at column z of the clue in slot w (its column z - giant * baby) stands `Neg^0(a_w)[z + j]`.
    pub(crate) fn diagonals(&self, params: &Params, giant: usize) -> Vec<Vec<u32>> {
        let (n, baby) = (params.slots(), params.spec().baby);
        let back = giant * baby % (n / 2);
        let mut out = vec![vec![0u32; n]; baby];
        out.par_chunks_mut(TILE).enumerate().for_each(|(i, rows)| {
            let mut scratch = Buffer::any(n);
            // By evaluation point: clues are read anywhere, diagonals are written in order.
            for start in (0..n).step_by(TILE) {
                let tile = self.tile(params, back, i * TILE, start);
                for (row, values) in rows.iter_mut().zip(&tile) {
                    row[start..start + TILE].copy_from_slice(values);
                }
            }
            for row in rows {
                params.plain.interpolate(row, &mut scratch);
            }
        });
        out
    }

    /// Diagonals from `first` on, at the evaluation points from `start` on.
    fn tile(
        &self,
        params: &Params,
        back: usize,
        first: usize,
        start: usize,
    ) -> [[u32; TILE]; TILE] {
        let (half, p) = (params.slots() / 2, params.p().value() as u32);
        let (stride, rows) = (self.width + TILE, self.rows.halves());
        let order = params.plain.order();
        let mut lines = [[0; TILE]; TILE];
        for (s, line) in lines.iter_mut().enumerate() {
            let slot = order.slot(start + s);
            let (row, column) = (slot / half, slot % half);
            let from = row * half + (column + half - back) % half;
            let (turns, place) = ((column + first) / self.width, (column + first) % self.width);
            line.copy_from_slice(&rows[from * stride + place..][..TILE]);
            if turns % 2 == 1 {
                line.iter_mut().for_each(|x| *x = negated(p, *x));
            }
        }
        std::array::from_fn(|j| std::array::from_fn(|s| lines[s][j]))
    }
}

/// `Neg^0(a)`, which is `a` read backwards, `a_0, -a_(n-1), .., -a_1`, and goes on antiperiodically.
fn extend(p: u32, a: &[u32], row: &mut [u32]) {
    let (once, again) = row.split_at_mut(a.len());
    once[0] = a[0];
    for (x, &value) in once[1..].iter_mut().zip(a[1..].iter().rev()) {
        *x = negated(p, value);
    }
    for (x, &value) in again.iter_mut().zip(&*once) {
        *x = negated(p, value);
    }
}

/// `-x` modulo p.
fn negated(p: u32, x: u32) -> u32 {
    if x == 0 { 0 } else { p - x }
}
