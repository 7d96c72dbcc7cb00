//! Masks times secrets in the values of `points`: from encrypted parts of secrets to the values of every phase.

use crate::products::{Start, all_sums, encoded};
use crate::{Narrowed, Opening, Turned};
use omr_bgv::Evaluator;
use omr_ring::{AlignedVec, Eval, Poly};
use omr_rlwe::SharedRlwe;
use rayon::prelude::*;

/// Turns whose factors are transformed together: modulo one prime they stay in the third-level cache.
const TOGETHER: usize = 6;

/// The values of a block's masks: for each polynomial of the module and each residue of degrees, times omega^(2 i + 1)
/// and as they are.
struct Masks(Vec<[Vec<u64>; 2]>);

impl Masks {
    fn new(opening: &Opening, Narrowed(ct): &Narrowed, points: &[u64]) -> Self {
        let p = opening.p();
        let twisted = |values: Vec<u64>| {
            let times = values.iter().zip(points).map(|(&x, &w)| p.mul(x, w));
            [times.collect(), values]
        };
        let parts = ct.masks.iter().flat_map(|mask| values(opening, mask));
        Self(parts.map(twisted).collect())
    }
}

/// The values of a polynomial's parts, by residue of degrees.
fn values(opening: &Opening, row: &AlignedVec) -> impl Iterator<Item = Vec<u64>> {
    let parts = opening.of_block();
    (0..parts).map(move |residue| {
        let mut own: Vec<u64> = row.iter().skip(residue).step_by(parts).copied().collect();
        opening.values(&mut own)
    })
}

/// A polynomial whose slot at (point, column) is that of the column's source, or 0 where it has none.
fn interpolated(ev: &Evaluator, opening: &Opening, sources: &[Option<&[u64]>]) -> Vec<u32> {
    let (half, columns) = (opening.slots() / 2, opening.columns());
    let mut words = vec![0; opening.slots()];
    let positions = ev.plain.order().positions().chunks(half);
    for (positions, sources) in positions.zip(sources.chunks(columns)) {
        for (point, positions) in positions.chunks(columns).enumerate() {
            for (&position, source) in positions.iter().zip(sources) {
                words[position as usize] = source.map_or(0, |values| values[point]);
            }
        }
    }
    let mut coeffs = vec![0; words.len()];
    ev.plain.interpolate_into(&mut words, &mut coeffs);
    coeffs
}

/// What turn `turn` of the secrets meets: in each column of both rows the values of a part of a mask, and nothing where
/// another turn brings the column's part.
fn factors<'a>(opening: &Opening, blocks: &'a [Masks], turn: usize) -> Vec<Option<&'a [u64]>> {
    let (columns, window, parts) = (opening.columns(), opening.window(), opening.of_block());
    let factor = |number: usize| {
        let u = number % columns;
        // The column of the secret that is met lies `turn + 1 - window` further on.
        let met = (u + turn + 1)
            .checked_sub(window)
            .filter(|met| *met < columns)?;
        // A turn back serves where the one a window further on would leave the row.
        if turn + 1 < window && u + turn + 1 < columns {
            return None;
        }
        let (polynomial, residue) = (met % window / parts, met % window % parts);
        let (block, own) = (number / parts, number % parts);
        let masks = &blocks[block].0[polynomial * parts..][..parts];
        Some(match own >= residue {
            true => &masks[own - residue][1][..],
            false => &masks[parts + own - residue][0][..],
        })
    };
    (0..2 * columns).map(factor).collect()
}

/// The factors of all turns as polynomials modulo p.
fn diagonals(ev: &Evaluator, opening: &Opening, blocks: &[Narrowed]) -> Vec<Vec<u32>> {
    let (p, omega) = (opening.p(), opening.table.psi());
    let points: Vec<u64> = (0..opening.spec().points as u64)
        .map(|i| p.pow(omega, 2 * i + 1))
        .collect();
    let masks: Vec<Masks> = blocks
        .par_iter()
        .map(|block| Masks::new(opening, block, &points))
        .collect();
    (0..opening.turns())
        .into_par_iter()
        .map(|turn| interpolated(ev, opening, &factors(opening, &masks, turn)))
        .collect()
}

/// The bodies of a recipient's blocks as a polynomial modulo p.
fn bodies(ev: &Evaluator, opening: &Opening, blocks: &[Narrowed], recipient: usize) -> Vec<u32> {
    let of_block = |Narrowed(ct): &Narrowed| values(opening, &ct.bodies[recipient]).collect();
    let values: Vec<Vec<Vec<u64>>> = blocks.par_iter().map(of_block).collect();
    let columns = values.iter().flatten();
    let sources: Vec<Option<&[u64]>> = columns.map(|values| Some(&values[..])).collect();
    interpolated(ev, opening, &sources)
}

/// The values of the phases of all blocks, coordinate by coordinate.
///
/// Shape: `packed` holds the blocks in their order, coordinate by coordinate.
pub(crate) fn values_of_phases(
    ev: &Evaluator,
    opening: &Opening,
    turned: &Turned,
    packed: &[Vec<Narrowed>],
) -> Vec<SharedRlwe<Eval>> {
    let (ring, basis, steps) = (ev.ring, ev.chain.basis(0), turned.steps());
    let diagonals: Vec<Vec<Vec<u32>>> = packed
        .iter()
        .map(|blocks| diagonals(ev, opening, blocks))
        .collect();
    let recipients = steps[0].bodies.len();
    let mut sums: Vec<Vec<Poly<Eval>>> = packed
        .iter()
        .map(|_| {
            (0..=recipients)
                .map(|_| Poly::scratch(ring, basis))
                .collect()
        })
        .collect();
    let limbs = rows_by_limb(&mut sums);
    let limbs = limbs.into_par_iter().zip(basis.ids()).with_max_len(1);
    limbs.for_each(|(mut out, &id)| {
        for first in (0..steps.len()).step_by(TOGETHER) {
            let turns = first..(first + TOGETHER).min(steps.len());
            let of_turns = diagonals.iter().flat_map(|of| &of[turns.clone()]);
            let plaintexts: Vec<&[u32]> = of_turns.map(Vec::as_slice).collect();
            let encoded = encoded(ev, id, plaintexts.into_iter());
            let a = lists(&encoded, ring.n(), turns.len());
            let b = parts_of(&steps[turns], id);
            let start = match first {
                0 => Start::Zero,
                _ => Start::Present,
            };
            all_sums((ring.kernels(), ring.modulus(id)), &mut out, &a, &b, start);
        }
    });
    let add = |(blocks, mut sums): (&Vec<Narrowed>, Vec<Poly<Eval>>)| {
        for (recipient, sum) in sums[1..].iter_mut().enumerate() {
            let bodies = bodies(ev, opening, blocks, recipient);
            let plain = ring.lift_plain(&bodies, opening.p().value() as u32, basis);
            ring.add_assign(sum, &plain);
        }
        let bodies = sums.split_off(1);
        SharedRlwe {
            mask: sums.remove(0),
            bodies,
        }
    };
    packed.iter().zip(sums).map(add).collect()
}

/// Lists of so many rows of `n` words each.
pub(crate) fn lists(rows: &[u64], n: usize, each: usize) -> Vec<Vec<&[u64]>> {
    rows.chunks(n * each)
        .map(|list| list.chunks(n).collect())
        .collect()
}

/// The rows of a prime of the masks of ciphertexts, then of the bodies of each recipient.
pub(crate) fn parts_of(cts: &[SharedRlwe<Eval>], id: usize) -> Vec<Vec<&[u64]>> {
    let masks = cts.iter().map(|ct| ct.mask.row_of(id)).collect();
    let bodies = (0..cts[0].bodies.len()).map(|recipient| {
        cts.iter()
            .map(|ct| ct.bodies[recipient].row_of(id))
            .collect()
    });
    std::iter::once(masks).chain(bodies).collect()
}

/// The rows of lists of polynomials over one basis, prime by prime, list by list.
pub(crate) fn rows_by_limb(polys: &mut [Vec<Poly<Eval>>]) -> Vec<Vec<Vec<&mut [u64]>>> {
    let limbs = polys[0][0].basis().len();
    let mut rows: Vec<Vec<_>> = polys
        .iter_mut()
        .map(|list| list.iter_mut().map(Poly::rows_mut).collect())
        .collect();
    let mut limb = || {
        let lists = rows.iter_mut();
        lists
            .map(|list| list.iter_mut().filter_map(Iterator::next).collect())
            .collect()
    };
    (0..limbs).map(|_| limb()).collect()
}
