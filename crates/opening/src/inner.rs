//! Masks times secrets in the values of `points`: from encrypted parts of secrets to the values of every phase.

use crate::products::{Start, all_sums, encoded, lifted, to_be_lifted};
use crate::{Narrowed, Opening, Turned};
use omr_bgv::{EvalError, Evaluator};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Eval, Poly};
use omr_rlwe::{Bodies, SharedRlwe, SharedTurn};

/// Turns whose factors are transformed together: modulo one prime they stay in the third-level cache.
pub(crate) const TOGETHER: usize = 4;

/// Plaintexts that are held encoded at a time where polynomials are worked on whole.
const ENCODED: usize = 16;

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

/// The values of a polynomial's parts, by residue of degrees, each times the transform's inner factor.
fn values(opening: &Opening, row: &AlignedVec) -> impl Iterator<Item = Vec<u64>> {
    let (parts, p) = (opening.of_block(), opening.p());
    (0..parts).map(move |residue| {
        let mut own: Vec<u64> = row.iter().skip(residue).step_by(parts).copied().collect();
        let values = opening
            .values(&mut own)
            .into_iter()
            .zip(&opening.inner_factors);
        values.map(|(x, &factor)| p.mul(x, factor)).collect()
    })
}

/// Returns the plaintext whose slot at (point, column) is that of the column's source `ahead` points on, or 0 where it
/// has none.
fn plaintext(
    ev: &Evaluator,
    opening: &Opening,
    sources: &[Option<&[u64]>],
    ahead: usize,
) -> Vec<u32> {
    let (half, columns) = (opening.slots() / 2, opening.columns());
    let mut slots = vec![0; opening.slots()];
    for (slots, sources) in slots.chunks_mut(half).zip(sources.chunks(columns)) {
        for (point, slots) in slots.chunks_mut(columns).enumerate() {
            let from = (point + ahead) % opening.spec().points;
            for (slot, source) in slots.iter_mut().zip(sources) {
                *slot = source.map_or(0, |values| values[from] as u32);
            }
        }
    }
    to_be_lifted(ev, slots)
}

/// Where a part of the secret is met in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// In the row of its point.
    Here,
    /// Past the last column, where columns of the next point follow.
    Beyond,
}

/// Returns the plaintext factors of turn `turn` of the secrets: for each column of both rows the values of a part of a
/// mask, and `None` where an earlier turn already covers the column's part.
fn factors<'a>(
    opening: &Opening,
    layout: &[Option<usize>],
    blocks: &'a [Masks],
    turn: usize,
    where_met: Met,
) -> Vec<Option<&'a [u64]>> {
    let (columns, parts) = (opening.columns(), opening.of_block());
    let factor = |number: usize| {
        let u = number % columns;
        let beyond = u + turn >= columns;
        let met = layout[(u + turn) % columns].filter(|_| beyond == (where_met == Met::Beyond))?;
        if (u..u + turn).any(|earlier| layout[earlier % columns] == Some(met)) {
            return None;
        }
        let (polynomial, residue) = (met / parts, met % parts);
        let (block, own) = (number / parts, number % parts);
        let masks = &blocks[block].0[polynomial * parts..][..parts];
        Some(if own >= residue {
            &masks[own - residue][1][..]
        } else {
            &masks[parts + own - residue][0][..]
        })
    };
    (0..2 * columns).map(factor).collect()
}

/// The factors of all turns as plaintexts ([`to_be_lifted`]): where parts are met here, then beyond.
///
/// Errors: `Stopped`.
fn diagonals(
    ev: &Evaluator,
    opening: &Opening,
    blocks: &[Narrowed],
) -> Result<[Vec<Vec<u32>>; 2], EvalError> {
    let (p, omega) = (opening.p(), opening.table.psi());
    let points: Vec<u64> = (0..opening.spec().points as u64)
        .map(|i| p.pow(omega, 2 * i + 1))
        .collect();
    let masks: Vec<Masks> = blocks
        .par_iter()
        .map(|block| Masks::new(opening, block, &points))
        .collect();
    let layout = opening.layout();
    let of = |met, ahead| {
        let diagonal = |turn| {
            ev.go_on()?;
            let factors = factors(opening, &layout, &masks, turn, met);
            Ok(plaintext(ev, opening, &factors, ahead))
        };
        let turns = (0..opening.turns()).into_par_iter();
        turns.map(diagonal).collect::<Result<_, _>>()
    };
    Ok([of(Met::Here, 0)?, of(Met::Beyond, 1)?])
}

/// The bodies of a recipient's blocks as a plaintext ([`to_be_lifted`]).
fn bodies(ev: &Evaluator, opening: &Opening, blocks: &[Narrowed], recipient: usize) -> Vec<u32> {
    let of_block = |Narrowed(ct): &Narrowed| values(opening, &ct.bodies[recipient]).collect();
    let values: Vec<Vec<Vec<u64>>> = blocks.par_iter().map(of_block).collect();
    let columns = values.iter().flatten();
    let sources: Vec<Option<&[u64]>> = columns.map(|values| Some(&values[..])).collect();
    plaintext(ev, opening, &sources, 0)
}

/// The values of the phases of all blocks, coordinate by coordinate, each turned by one point: slot (i, u) holds that at
/// `omega^(2 i + 3)`.
///
/// Turned secrets meet the parts that lie in a column's row, and beyond its end those of the next point. The former sums
/// are turned by a point; the latter lie there already.
///
/// Shape: `packed` holds the blocks in their order, coordinate by coordinate. Errors: `Stopped`.
pub(crate) fn values_of_phases(
    ev: &Evaluator,
    opening: &Opening,
    turned: &Turned,
    by_a_point: &SharedTurn<'_>,
    packed: &[Vec<Narrowed>],
) -> Result<Vec<SharedRlwe<Eval>>, EvalError> {
    let ring = ev.ring;
    let mut of_all: Vec<Vec<Vec<u32>>> = Vec::new();
    for blocks in packed {
        of_all.extend(diagonals(ev, opening, blocks)?);
    }
    let sums = sums_of_products(ev, turned, &of_all)?;
    drop(of_all);
    let (mut here, mut beyond) = (Vec::new(), Vec::new());
    for (i, sum) in sums.into_iter().enumerate() {
        match i % 2 {
            0 => here.push(sum),
            _ => beyond.push(sum),
        }
    }
    for (blocks, sum) in packed.iter().zip(&mut here) {
        for (recipient, sum) in sum.bodies.iter_mut().enumerate() {
            ev.go_on()?;
            let bodies = bodies(ev, opening, blocks, recipient);
            ring.add_assign(sum, &lifted(ev, &[&bodies])[0]);
        }
    }
    let mut values = by_a_point.apply(ring, &here, Bodies::Divided, ev.plain.p());
    for (value, beyond) in values.iter_mut().zip(&beyond) {
        ring.add_assign(&mut value.mask, &beyond.mask);
        for (value, beyond) in value.bodies.iter_mut().zip(&beyond.bodies) {
            ring.add_assign(value, beyond);
        }
    }
    Ok(values)
}

/// The sum of the products of all turns of the secrets with the plaintexts of a list, for each list.
///
/// Errors: `Stopped`.
fn sums_of_products(
    ev: &Evaluator,
    turned: &Turned,
    plaintexts: &[Vec<Vec<u32>>],
) -> Result<Vec<SharedRlwe<Eval>>, EvalError> {
    let (ring, basis, steps) = (ev.ring, ev.chain.basis(0), turned.steps());
    if ring.backend().is_some() {
        let plaintexts: Vec<&[Vec<u32>]> = plaintexts.iter().map(Vec::as_slice).collect();
        let sums = sums_of_whole_products(ev, &[steps], &plaintexts)?;
        return Ok(sums.into_iter().flatten().collect());
    }
    let zero = || Poly::scratch(ring, basis);
    let parts = 1 + steps[0].bodies.len();
    let sum = |_| (0..parts).map(|_| zero()).collect();
    let mut sums: Vec<Vec<Poly<Eval>>> = plaintexts.iter().map(sum).collect();
    let limbs = rows_by_limb(&mut sums);
    let of_limb = |(mut out, &id): (Vec<Vec<&mut [u64]>>, &usize)| {
        for first in (0..steps.len()).step_by(TOGETHER) {
            ev.go_on()?;
            let turns = first..(first + TOGETHER).min(steps.len());
            let of_turns = plaintexts.iter().flat_map(|of| &of[turns.clone()]);
            let plaintexts: Vec<&[u32]> = of_turns.map(Vec::as_slice).collect();
            let encoded = encoded(ev, id, plaintexts.into_iter());
            let a = lists(&encoded, ring.n(), turns.len());
            let b = parts_of(&steps[turns], id);
            let start = match first {
                0 => Start::Zero,
                _ => Start::Present,
            };
            all_sums(ring.kernels(), ring.modulus(id), &mut out, &a, &b, start);
        }
        Ok(())
    };
    let limbs = limbs.into_par_iter().zip(basis.ids());
    limbs.with_max_len(1).try_for_each(of_limb)?;
    let shared = |mut sums: Vec<Poly<Eval>>| {
        let bodies = sums.split_off(1);
        SharedRlwe {
            mask: sums.remove(0),
            bodies,
        }
    };
    Ok(sums.into_iter().map(shared).collect())
}

/// The sums of the products of the steps of each list with the plaintexts of each list, one polynomial after another:
/// plaintexts by plaintexts, steps by steps.
///
/// Errors: `Stopped`.
pub(crate) fn sums_of_whole_products(
    ev: &Evaluator,
    lists: &[&[SharedRlwe<Eval>]],
    plaintexts: &[&[Vec<u32>]],
) -> Result<Vec<Vec<SharedRlwe<Eval>>>, EvalError> {
    let (ring, basis) = (ev.ring, ev.chain.basis(0));
    let zero = |_: &Poly<Eval>| Poly::zero(ring, basis);
    let sum = |steps: &&[SharedRlwe<Eval>]| SharedRlwe {
        mask: zero(&steps[0].mask),
        bodies: steps[0].bodies.iter().map(zero).collect(),
    };
    let add = |sum: &mut SharedRlwe<Eval>, encoded: &[Poly<Eval>], steps: &[SharedRlwe<Eval>]| {
        let masks: Vec<_> = encoded
            .iter()
            .zip(steps.iter().map(|ct| &ct.mask))
            .collect();
        ring.add_products_assign(&mut sum.mask, &masks);
        for (i, body) in sum.bodies.iter_mut().enumerate() {
            let bodies = steps.iter().map(|ct| &ct.bodies[i]);
            ring.add_products_assign(body, &encoded.iter().zip(bodies).collect::<Vec<_>>());
        }
    };
    let of_plaintexts = |plaintexts: &&[Vec<u32>]| {
        let mut sums: Vec<SharedRlwe<Eval>> = lists.iter().map(sum).collect();
        for (i, plaintexts) in plaintexts.chunks(ENCODED).enumerate() {
            ev.go_on()?;
            let polys: Vec<&[u32]> = plaintexts.iter().map(Vec::as_slice).collect();
            let encoded = lifted(ev, &polys);
            for (sum, steps) in sums.iter_mut().zip(lists) {
                add(sum, &encoded, &steps[i * ENCODED..][..encoded.len()]);
            }
        }
        Ok(sums)
    };
    plaintexts.iter().map(of_plaintexts).collect()
}

/// Splits rows of `n` words each into lists of `each` rows.
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
