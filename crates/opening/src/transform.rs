//! From the values of every phase to its coefficients: the inverse transform of `points`, in slots.

use crate::inner::{lists, parts_of, rows_by_limb, sums_of_whole_products};
use crate::products::{Start, all_sums, encoded};
use crate::{Opening, OpeningKeys};
use omr_bgv::{EvalError, Evaluator};
use omr_ring::parallel::*;
use omr_ring::{Eval, Poly};
use omr_rlwe::{Bodies, SharedRlwe};

/// Giant steps whose products are made together: each baby step is read once for them.
pub(crate) const TOGETHER: usize = 4;

/// The constant that slot `point` of every column meets in the turn by `turn` points: coefficient `point` takes value i,
/// `turn` points further on, times `omega^(-(2 i + 1) point) / points`.
fn constant(opening: &Opening, point: usize, turn: usize) -> u64 {
    let (p, points) = (opening.p(), opening.spec().points);
    let i = (point + turn) % points;
    let exponent = (2 * i + 1) * point % (2 * points);
    let omega = opening.table.psi();
    let power = p.pow(omega, (2 * points - exponent) as u64);
    p.mul(power, p.inv(points as u64))
}

/// The diagonal of baby step `baby` in giant step `giant`, as a polynomial modulo p. It is turned with the sum. Values
/// come turned by a point already.
fn diagonal(ev: &Evaluator, opening: &Opening, giant: usize, baby: usize) -> Vec<u32> {
    let (points, columns) = (opening.spec().points, opening.columns());
    let turned = giant * opening.spec().baby;
    let constants: Vec<u32> = (0..points)
        .map(|point| {
            let before = (point + points - turned) % points;
            constant(opening, before, turned + baby + 1) as u32
        })
        .collect();
    let slots: Vec<u32> = (0..opening.slots())
        .map(|slot| constants[slot / columns % points])
        .collect();
    ev.plain.encode(&slots)
}

/// The coefficients of all phases, from their values. Bodies are raised ([`Bodies::Raised`]).
///
/// Errors: `Stopped`.
pub(crate) fn coefficients(
    ev: &Evaluator,
    opening: &Opening,
    keys: &OpeningKeys<'_>,
    values: Vec<SharedRlwe<Eval>>,
) -> Result<Vec<SharedRlwe<Eval>>, EvalError> {
    let (baby, coordinates) = (opening.spec().baby, values.len());
    let turn = keys.baby();
    // Step by step, and in each coordinate by coordinate.
    let mut turned = values;
    for i in 1..baby {
        ev.go_on()?;
        let last = &turned[(i - 1) * coordinates..];
        let next = turn.apply(ev.ring, last, Bodies::Divided, ev.plain.p());
        turned.extend(next);
    }
    let mut babies: Vec<Vec<SharedRlwe<Eval>>> = (0..coordinates).map(|_| Vec::new()).collect();
    for (i, ct) in turned.into_iter().enumerate() {
        babies[i % coordinates].push(ct);
    }
    let turn = keys.giant();
    let mut sums: Vec<SharedRlwe<Eval>> = Vec::new();
    let giants: Vec<usize> = (0..opening.spec().giants()).rev().collect();
    for giants in giants.chunks(TOGETHER) {
        for products in products(ev, opening, giants, &babies)? {
            ev.go_on()?;
            if sums.is_empty() {
                let zero = |product: &SharedRlwe<Eval>| keys.zero(ev, product.bodies.len());
                sums = products.iter().map(zero).collect();
            } else {
                sums = turn.apply(ev.ring, &sums, Bodies::Raised, ev.plain.p());
            }
            for (sum, product) in sums.iter_mut().zip(products) {
                add_raised(ev, keys, sum, &product);
            }
        }
    }
    Ok(sums)
}

/// Adds a ciphertext to one with raised bodies.
fn add_raised(
    ev: &Evaluator,
    keys: &OpeningKeys<'_>,
    sum: &mut SharedRlwe<Eval>,
    product: &SharedRlwe<Eval>,
) {
    let (ring, giant) = (ev.ring, keys.giant[0].switching_key());
    ring.add_assign(&mut sum.mask, &product.mask);
    for (sum, product) in sum.bodies.iter_mut().zip(&product.bodies) {
        // Modulo special primes their product times it is nothing.
        ring.scale_add_common_assign(sum, product, |m| giant.special_mod(ring, m));
    }
}

/// The products of some giant steps with the baby steps: for each giant step, each coordinate's.
///
/// Errors: `Stopped`.
fn products(
    ev: &Evaluator,
    opening: &Opening,
    giants: &[usize],
    babies: &[Vec<SharedRlwe<Eval>>],
) -> Result<Vec<Vec<SharedRlwe<Eval>>>, EvalError> {
    let (ring, basis, baby) = (ev.ring, ev.chain.basis(0), opening.spec().baby);
    let parts = 1 + babies[0][0].bodies.len();
    let diagonals: Vec<Vec<u32>> = giants
        .par_iter()
        .flat_map_iter(|&giant| (0..baby).map(move |baby| (giant, baby)))
        .map(|(giant, baby)| diagonal(ev, opening, giant, baby))
        .collect();
    if ring.backend().is_some() {
        let of_giants: Vec<&[Vec<u32>]> = diagonals.chunks(baby).collect();
        let babies: Vec<&[SharedRlwe<Eval>]> = babies.iter().map(Vec::as_slice).collect();
        return sums_of_whole_products(ev, &babies, &of_giants);
    }
    let zero = |_| {
        let polys = 0..babies.len() * parts;
        polys.map(|_| Poly::scratch(ring, basis)).collect()
    };
    let mut sums: Vec<Vec<Poly<Eval>>> = giants.iter().map(zero).collect();
    let limbs = rows_by_limb(&mut sums);
    let of_limb = |(mut out, &id): (Vec<Vec<&mut [u64]>>, &usize)| {
        ev.go_on()?;
        let encoded = encoded(ev, id, diagonals.iter().map(Vec::as_slice));
        let a = lists(&encoded, ring.n(), baby);
        let b: Vec<Vec<&[u64]>> = babies.iter().flat_map(|cts| parts_of(cts, id)).collect();
        let m = ring.modulus(id);
        all_sums(ring.kernels(), m, &mut out, &a, &b, Start::Zero);
        Ok(())
    };
    let limbs = limbs.into_par_iter().zip(basis.ids());
    limbs.with_max_len(1).try_for_each(of_limb)?;
    let coordinates = |polys: Vec<Poly<Eval>>| {
        let mut polys = polys.into_iter();
        let ct = |_| SharedRlwe {
            mask: polys.next().expect("a mask for each coordinate"),
            bodies: polys.by_ref().take(parts - 1).collect(),
        };
        (0..babies.len()).map(ct).collect()
    };
    Ok(sums.into_iter().map(coordinates).collect())
}
