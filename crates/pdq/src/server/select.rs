//! Selections: for each row the entry of an encrypted truth table that its digit stands at.
//!
//! A mask is the plaintext with 1 in the slots of the rows whose digit has a value, 0 in the others. It is encoded
//! once and multiplied with the entries of all tables for that digit. Values that no row of a block has are
//! skipped: the server knows its rows.

use super::constants::Constants;
use super::evaluate::Values;
use crate::plan::{Id, Op, Plan};
use crate::progress::{Progress, check_stopped};
use crate::{Params, ServerError};
use omr_bgv::Ciphertext;
use omr_ring::{AlignedVec, Eval, Poly};
use omr_rlwe::Rlwe;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Masks transformed before they are multiplied: with the entries' rows they stay in the second-level cache.
const TOGETHER: usize = 16;

/// The number of each slot's row, in the order of the evaluation domain; `None` where it has none.
pub(crate) type Numbers = Vec<Option<u64>>;

/// The operations that share masks.
pub(crate) struct Digit {
    pub(crate) source: usize,
    pub(crate) digit: usize,
    /// Operation and first entry of its table.
    pub(crate) ops: Vec<(usize, usize)>,
}

/// The digits that selections are made by.
pub(crate) fn digits(plan: &Plan, selections: &[Id]) -> Vec<Digit> {
    let mut found: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for &id in selections {
        if let Op::Select {
            source,
            digit,
            table,
        } = plan.circuit.ops[id]
        {
            let first = plan.circuit.tables[table].first;
            found.entry((source, digit)).or_default().push((id, first));
        }
    }
    let digit = |((source, digit), ops)| Digit { source, digit, ops };
    found.into_iter().map(digit).collect()
}

/// Some selections, on some blocks.
///
/// `numbers`: of each block by source. `constants`: the entries of their tables are held.
///
/// Errors: `Stopped`.
pub(super) fn select(
    params: &Params,
    constants: &Constants,
    selections: &[Id],
    numbers: &[Vec<Numbers>],
    values: &mut [Values],
    progress: &dyn Progress,
) -> Result<(), ServerError> {
    let plan = constants.plan();
    for digit in digits(plan, selections) {
        check_stopped(progress)?;
        let source = &plan.circuit.sources[digit.source];
        let of_row = |number: &Option<u64>| number.map(|number| source.digit(number, digit.digit));
        let masks: Vec<Masks> = numbers
            .par_iter()
            .map(|numbers| {
                let digits: Vec<Option<usize>> = numbers[digit.source].iter().map(of_row).collect();
                Masks::new(params, &digits, source.radix)
            })
            .collect();
        let chosen = choose(params, plan, constants, &digit, &masks);
        for (values, chosen) in values.iter_mut().zip(chosen) {
            for (ct, &(id, _)) in chosen.into_iter().zip(&digit.ops) {
                values.put(id, ct);
            }
        }
    }
    Ok(())
}

/// For each value of a digit the mask as a polynomial modulo p; `None` where no row has the value.
fn masks_that_occur(
    params: &Params,
    digits: &[Option<usize>],
    radix: usize,
) -> Vec<Option<Vec<u32>>> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); radix];
    for (position, digit) in (0..).zip(digits) {
        if let Some(value) = *digit {
            rows[value].push(position);
        }
    }
    let encode = |rows: Vec<u32>| {
        let (mut values, mut coeffs) = (AlignedVec::zeroed(digits.len()), vec![0; digits.len()]);
        rows.iter()
            .for_each(|&position| values[position as usize] = 1);
        params.plain.interpolate_into(&mut values, &mut coeffs);
        (!rows.is_empty()).then_some(coeffs)
    };
    rows.into_par_iter().map(encode).collect()
}

/// For each value of a digit the mask as a polynomial modulo p. `digits`: in the order of the evaluation domain.
pub(crate) fn masks(params: &Params, digits: &[Option<usize>], radix: usize) -> Vec<Vec<u32>> {
    let masks = masks_that_occur(params, digits, radix).into_iter();
    masks
        .map(|mask| mask.unwrap_or_else(|| vec![0; digits.len()]))
        .collect()
}

/// The masks of a block, of the values that occur, or of all with two-sided privacy.
struct Masks(Vec<(usize, Vec<u32>)>);

impl Masks {
    fn new(params: &Params, digits: &[Option<usize>], radix: usize) -> Self {
        // The time reveals which terms are skipped, and thus something of the table.
        if params.two_sided() {
            let all = masks(params, digits, radix).into_iter().enumerate();
            return Self(all.collect());
        }
        let some = masks_that_occur(params, digits, radix)
            .into_iter()
            .enumerate()
            .filter_map(|(value, mask)| Some((value, mask?)));
        Self(some.collect())
    }
}

/// For each block the selections of a digit's operations, one level down.
fn choose(
    params: &Params,
    plan: &Plan,
    constants: &Constants,
    digit: &Digit,
    masks: &[Masks],
) -> Vec<Vec<Ciphertext>> {
    let ring = &params.ring;
    let basis = params.chain.basis(plan.start);
    let empty = || [0, 1].map(|_| Poly::zero(ring, basis));
    let of_block = |_| digit.ops.iter().map(|_| empty()).collect();
    let mut parts: Vec<Vec<[Poly<Eval>; 2]>> = masks.iter().map(of_block).collect();
    // All blocks meet the entries of a limb while these are in cache.
    by_limb(&mut parts, basis.len())
        .into_par_iter()
        .enumerate()
        .for_each(|(limb, blocks)| {
            blocks.into_par_iter().zip(masks).for_each_init(
                || vec![AlignedVec::zeroed(ring.n()); TOGETHER + 2],
                |rows, (sums, masks)| {
                    let limb = Limb {
                        place: limb,
                        id: basis.ids()[limb],
                    };
                    limb_of_block(params, limb, constants, digit, masks, sums, rows);
                },
            );
        });
    let scale = params.leaf_scale(plan.start);
    let evaluator = params.evaluator();
    parts
        .into_par_iter()
        .map(|parts| {
            let lower = |[c0, c1]: [Poly<Eval>; 2]| {
                let ct = Ciphertext::new(Rlwe::new(c0, c1), plan.start, scale);
                evaluator
                    .at_level(&ct, plan.start + 1)
                    .expect("a level below the first")
            };
            parts.into_iter().map(lower).collect()
        })
        .collect()
}

/// By limb: the rows of each block's sums.
fn by_limb(blocks: &mut [Vec<[Poly<Eval>; 2]>], limbs: usize) -> Vec<Vec<Vec<[&mut [u64]; 2]>>> {
    let of_limb = || blocks.iter().map(|_| Vec::new()).collect();
    let mut out: Vec<Vec<Vec<[&mut [u64]; 2]>>> = (0..limbs).map(|_| of_limb()).collect();
    for (block, sums) in blocks.iter_mut().enumerate() {
        for [c0, c1] in sums {
            for (limb, (c0, c1)) in c0.rows_mut().zip(c1.rows_mut()).enumerate() {
                out[limb][block].push([c0, c1]);
            }
        }
    }
    out
}

/// A limb of a level.
#[derive(Clone, Copy)]
struct Limb {
    /// The index of the prime in the level's basis.
    place: usize,
    /// The index of the prime in the ring.
    id: usize,
}

/// Adds to the sums of a block, one for each operation, in one limb. `rows` is scratch memory.
fn limb_of_block(
    params: &Params,
    limb: Limb,
    constants: &Constants,
    digit: &Digit,
    masks: &Masks,
    mut sums: Vec<[&mut [u64]; 2]>,
    rows: &mut [AlignedVec],
) {
    let (ring, p) = (&params.ring, params.p().value() as u32);
    let (kernels, m) = (ring.kernels(), ring.modulus(limb.id));
    let (rows, products) = rows.split_at_mut(TOGETHER);
    let [body, mask] = products else {
        unreachable!("two sums")
    };
    for masks in masks.0.chunks(TOGETHER) {
        for ((_, coeffs), row) in masks.iter().zip(rows.iter_mut()) {
            kernels.lift_centered(m, row, coeffs, p);
            kernels.ntt_forward(ring.table(limb.id), row);
        }
        let factors: Vec<&[u64]> = rows[..masks.len()].iter().map(|row| &row[..]).collect();
        for ([c0, c1], &(_, first)) in sums.iter_mut().zip(&digit.ops) {
            let entries = [0, 1].map(|part| -> Vec<&[u64]> {
                let entry = |(value, _): &(usize, Vec<u32>)| {
                    constants.at(first + value).parts()[part].row(limb.place)
                };
                masks.iter().map(entry).collect()
            });
            let rows = entries.each_ref().map(Vec::as_slice);
            kernels.dot_pair(m, [&mut body[..], &mut mask[..]], &factors, rows);
            kernels.add_assign(m, c0, body);
            kernels.add_assign(m, c1, mask);
        }
    }
}
