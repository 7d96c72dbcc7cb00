//! Diagonals of the clue matrix as polynomials modulo p.

use omr_protocol::Params;
use omr_ring::Buffer;
use rayon::prelude::*;

/// Evaluation points whose slots are read together: a cache line of each diagonal.
const TOGETHER: usize = 16;

/// Where the clues of a batch lie.
pub(crate) struct ClueMatrix<'a> {
    /// One row of `width` residues modulo p for each slot.
    pub(crate) rows: &'a [u32],
    /// Residues of a row.
    pub(crate) width: usize,
}

impl ClueMatrix<'_> {
    /// Diagonals `giant * baby + j` for all j, turned back by the giant step, as coefficients modulo
    /// p: at column z of message w (its column z - giant * baby) stands `Neg^0(a_w)[z + j]`.
    pub(crate) fn diagonals(&self, params: &Params, giant: usize) -> Vec<Vec<u32>> {
        let baby = params.spec().baby;
        let mut out = vec![vec![0u32; params.slots()]; baby];
        let mut pieces: Vec<Vec<&mut [u32]>> = Vec::new();
        pieces.resize_with(params.slots() / TOGETHER, || Vec::with_capacity(baby));
        for diagonal in &mut out {
            for (piece, part) in pieces.iter_mut().zip(diagonal.chunks_mut(TOGETHER)) {
                piece.push(part);
            }
        }
        // By evaluation point: rows are read anywhere, diagonals are written in order.
        pieces
            .into_par_iter()
            .enumerate()
            .with_min_len(64)
            .for_each_init(
                || vec![[0u32; TOGETHER]; baby],
                |block, (index, mut parts)| {
                    for i in 0..TOGETHER {
                        self.read(params, giant, index * TOGETHER + i, i, block);
                    }
                    for (part, values) in parts.iter_mut().zip(block.iter()) {
                        part.copy_from_slice(values);
                    }
                },
            );
        out.par_iter_mut().for_each_init(
            || Buffer::any(params.slots()),
            |scratch, diagonal| params.plain.interpolate(diagonal, scratch),
        );
        out
    }

    /// The values of all diagonals at one evaluation point, as column `i` of `block`.
    fn read(
        &self,
        params: &Params,
        giant: usize,
        point: usize,
        i: usize,
        block: &mut [[u32; TOGETHER]],
    ) {
        let half = params.slots() / 2;
        let slot = params.plain.order().slot(point);
        let (row, column) = (slot / half, slot % half);
        let turned = row * half + (column + half - giant * block.len() % half) % half;
        let a = &self.rows[turned * self.width..(turned + 1) * self.width];
        let p = params.p().value() as u32;
        // Neg^0(a), extended antiperiodically, is a read backwards: runs of one sign each.
        let mut j = 0;
        while j < block.len() {
            let back = (2 * self.width - (column + j) % (2 * self.width)) % (2 * self.width);
            let (index, negative) = (back % self.width, back >= self.width);
            let run = (index + 1).min(block.len() - j);
            let values = a[index + 1 - run..=index].iter().rev();
            for (out, &value) in block[j..j + run].iter_mut().zip(values) {
                // 0 is its own negative.
                let negated = if value == 0 { 0 } else { p - value };
                out[i] = if negative { negated } else { value };
            }
            j += run;
        }
    }
}
