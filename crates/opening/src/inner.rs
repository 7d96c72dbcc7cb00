//! Masks times secrets in the values of `points`: from encrypted parts of a secret to the values of every phase.

use crate::products::products;
use crate::{Narrowed, Opening, Place, Turned};
use omr_bgv::{Ciphertext, Evaluator};
use rayon::prelude::*;

/// The values of a coordinate's masks and bodies, block by block.
struct Values {
    /// For each polynomial of the module and each residue of degrees, then times omega^(2 i + 1).
    masks: Vec<[Vec<u64>; 2]>,
    bodies: Vec<Vec<u64>>,
}

impl Values {
    fn new(opening: &Opening, Narrowed(ct): &Narrowed) -> Self {
        let p = opening.p();
        let parts = opening.of_block();
        let part = |row: &[u64], residue: usize| {
            let mut own: Vec<u64> = row.iter().skip(residue).step_by(parts).copied().collect();
            opening.values(&mut own)
        };
        let omega = opening.table.psi();
        let points: Vec<u64> = (0..opening.spec().points as u64)
            .map(|i| p.pow(omega, 2 * i + 1))
            .collect();
        let twisted = |values: Vec<u64>| {
            let times = values.iter().zip(&points).map(|(&x, &w)| p.mul(x, w));
            [times.collect(), values]
        };
        let masks = ct
            .masks
            .iter()
            .flat_map(|mask| (0..parts).map(move |r| (mask, r)));
        Self {
            masks: masks.map(|(mask, r)| twisted(part(mask, r))).collect(),
            bodies: (0..parts).map(|r| part(&ct.body, r)).collect(),
        }
    }
}

/// One coordinate of all blocks.
struct Coordinate {
    blocks: Vec<Values>,
}

impl Coordinate {
    /// What turn `turn` of the secret meets in a slot: zero where another turn brings its part.
    fn factor(&self, opening: &Opening, slot: usize, turn: usize) -> u64 {
        let (columns, window, parts) = (opening.columns(), opening.window(), opening.of_block());
        let column = slot % (opening.slots() / 2);
        let (point, u) = (column / columns, column % columns);
        // The column of the secret that is met lies `turn + 1 - window` further on.
        let met = (u + turn + 1)
            .checked_sub(window)
            .filter(|met| *met < columns);
        // A turn back serves where the one a window further on would leave the row.
        let wanted = turn + 1 >= window || u + turn + 1 >= columns;
        let Some(met) = met.filter(|_| wanted) else {
            return 0;
        };
        let part = met % window;
        let (polynomial, residue) = (part / parts, part % parts);
        let Place { block, coefficient } = opening.place(slot);
        let own = coefficient % parts;
        let masks = &self.blocks[block].masks[polynomial * parts..][..parts];
        match own >= residue {
            true => masks[own - residue][1][point],
            false => masks[parts + own - residue][0][point],
        }
    }

    fn body(&self, opening: &Opening, slot: usize) -> u32 {
        let Place { block, coefficient } = opening.place(slot);
        let (parts, point) = (opening.of_block(), coefficient / opening.of_block());
        self.blocks[block].bodies[coefficient % parts][point] as u32
    }

    /// The factors of a turn as a polynomial modulo p.
    fn diagonal(&self, ev: &Evaluator, opening: &Opening, turn: usize) -> Vec<u32> {
        let mut words = vec![0; opening.slots()];
        let positions = ev.plain.order().positions();
        for (slot, &position) in positions.iter().enumerate() {
            words[position as usize] = self.factor(opening, slot, turn);
        }
        let mut coeffs = vec![0; words.len()];
        ev.plain.interpolate_into(&mut words, &mut coeffs);
        coeffs
    }
}

/// The values of the phases of all blocks, one ciphertext for each coordinate.
///
/// Shape: `packed` holds the blocks in their order, coordinate by coordinate.
pub(crate) fn values_of_phases(
    ev: &Evaluator,
    opening: &Opening,
    turned: &Turned,
    packed: &[Vec<Narrowed>],
) -> Vec<Ciphertext> {
    let coordinate = |blocks: &Vec<Narrowed>| {
        let coordinate = Coordinate {
            blocks: blocks
                .par_iter()
                .map(|ct| Values::new(opening, ct))
                .collect(),
        };
        let diagonals: Vec<Vec<u32>> = (0..opening.turns())
            .into_par_iter()
            .map(|turn| coordinate.diagonal(ev, opening, turn))
            .collect();
        let mut sum = products(ev, &diagonals, &[turned.steps()]).remove(0);
        let bodies: Vec<u32> = (0..opening.slots())
            .map(|slot| coordinate.body(opening, slot))
            .collect();
        ev.add_plain_assign(&mut sum, &ev.plain.encode(&bodies));
        sum
    };
    packed.iter().map(coordinate).collect()
}
