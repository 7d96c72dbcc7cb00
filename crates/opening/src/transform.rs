//! From the values of every phase to its coefficients: the inverse transform of `points`, in slots.
//!
//! The transform is a chirp (Bluestein 1970): `2 i k = i^2 + k^2 - (i - k)^2`, so with N points and `t = i - k`
//!
//! `c_k = 1/N sum_i omega^(-(2 i + 1) k) v_i = 1/N omega^(-k^2 - k) sum_t omega^(t^2) [omega^(-i^2) v_i]`.
//!
//! [`inner_factors`] are in the plaintexts that values are made with, a turn by t points takes a [`scalar`], and only
//! [`outer_factor`] is a plaintext, one a giant step.

use crate::inner::{parts_of, rows_by_limb};
use crate::products::{PIECE, encoded, lifted, to_be_lifted};
use crate::{Opening, OpeningKeys};
use omr_bgv::{EvalError, Evaluator};
use omr_ring::parallel::*;
use omr_ring::{AlignedVec, Eval, Modulus, NttTable, Poly, Ring, RingError};
use omr_rlwe::{Bodies, SharedRlwe};

/// Giant steps whose products are made together: each baby step is read once for them.
pub(crate) const TOGETHER: usize = 4;

/// Returns the table of the transform of `points` modulo p.
///
/// Errors: `Ring` where p is no prime that has such a transform.
pub(crate) fn table(p: u64, points: usize) -> Result<NttTable, RingError> {
    Ok(NttTable::new(Modulus::new(p)?, points)?)
}

/// Returns `omega^(number^2)`, which depends on the number modulo N alone, as N is even.
fn power_of_square(table: &NttTable, number: usize) -> u64 {
    let order = 2 * table.n();
    let exponent = number * number % order;
    table.modulus().pow(table.psi(), exponent as u64)
}

/// Returns the factor `omega^(-i^2)` of each value i.
pub(crate) fn inner_factors(table: &NttTable) -> Vec<u64> {
    (0..table.n())
        .map(|i| table.modulus().inv(power_of_square(table, i)))
        .collect()
}

/// The scalar `omega^(t^2)` of a turn by t points, centred.
pub(crate) fn scalar(table: &NttTable, turn: usize) -> i64 {
    table.modulus().to_centered(power_of_square(table, turn))
}

/// The factor `omega^(-k^2 - k) / N` of coefficient k.
fn outer_factor(table: &NttTable, k: usize) -> u64 {
    let p = table.modulus();
    let power = p.mul(power_of_square(table, k), p.pow(table.psi(), k as u64));
    p.inv(p.mul(power, table.n() as u64))
}

/// The scalars of the baby steps in giant step `giant`. Values come turned by a point already.
fn scalars(opening: &Opening, giant: usize) -> Vec<i64> {
    let baby = opening.spec().baby;
    (1..=baby)
        .map(|step| scalar(&opening.table, giant * baby + step))
        .collect()
}

/// The plaintext of giant step `giant` ([`to_be_lifted`]). It is turned with the sum.
fn diagonal(ev: &Evaluator, opening: &Opening, giant: usize) -> Vec<u32> {
    let (points, columns) = (opening.spec().points, opening.columns());
    let turned = giant * opening.spec().baby;
    let factors: Vec<u32> = (0..points)
        .map(|point| outer_factor(&opening.table, (point + points - turned) % points) as u32)
        .collect();
    let slots: Vec<u32> = (0..opening.slots())
        .map(|slot| factors[slot / columns % points])
        .collect();
    to_be_lifted(ev, slots)
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

/// The sums of some giant steps: those of the baby steps times scalars, times one plaintext; for each giant step, each
/// coordinate's.
///
/// Errors: `Stopped`.
fn products(
    ev: &Evaluator,
    opening: &Opening,
    giants: &[usize],
    babies: &[Vec<SharedRlwe<Eval>>],
) -> Result<Vec<Vec<SharedRlwe<Eval>>>, EvalError> {
    let (ring, basis) = (ev.ring, ev.chain.basis(0));
    let parts = 1 + babies[0][0].bodies.len();
    let diagonals: Vec<Vec<u32>> = giants
        .par_iter()
        .map(|&giant| diagonal(ev, opening, giant))
        .collect();
    let scalars: Vec<Vec<i64>> = giants
        .iter()
        .map(|&giant| scalars(opening, giant))
        .collect();
    if ring.backend().is_some() {
        return products_away(ev, &scalars, &diagonals, babies);
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
        let diagonals: Vec<&[u64]> = encoded.chunks(ring.n()).collect();
        let lists: Vec<Vec<&[u64]>> = babies.iter().flat_map(|cts| parts_of(cts, id)).collect();
        for (part, list) in lists.iter().enumerate() {
            let mut of_part: Vec<&mut [u64]> = out.iter_mut().map(|row| &mut *row[part]).collect();
            scaled_products(ring, id, &mut of_part, list, &scalars, &diagonals);
        }
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

/// Writes the products of one prime and one part: for each giant step the sum of the rows of baby steps times its
/// scalars, times its diagonal, which is given as factors.
fn scaled_products(
    ring: &Ring,
    id: usize,
    out: &mut [&mut [u64]],
    rows: &[&[u64]],
    scalars: &[Vec<i64>],
    diagonals: &[&[u64]],
) {
    let (k, m) = (ring.kernels(), ring.modulus(id));
    let moduli = vec![m; out.len()];
    let residues: Vec<Vec<u64>> = scalars
        .iter()
        .map(|scalars| scalars.iter().map(|&c| m.from_i64(c)).collect())
        .collect();
    let residues: Vec<&[u64]> = residues.iter().map(Vec::as_slice).collect();
    let mut sums = vec![AlignedVec::zeroed(PIECE.min(ring.n())); out.len()];
    for first in (0..ring.n()).step_by(PIECE) {
        let range = first..(first + PIECE).min(ring.n());
        let rows: Vec<&[u64]> = rows.iter().map(|row| &row[range.clone()]).collect();
        let mut places: Vec<&mut [u64]> = sums.iter_mut().map(|sum| &mut sum[..]).collect();
        k.convert_many(&moduli, &mut places, &rows, &residues);
        for ((out, diagonal), sum) in out.iter_mut().zip(diagonals).zip(&sums) {
            let diagonal = &diagonal[range.clone()];
            k.dot(m, &mut out[range.clone()], &[diagonal], &[sum]);
        }
    }
}

/// Does the work of [`products`] with whole polynomials, in the memory of a backend.
///
/// Errors: `Stopped`.
fn products_away(
    ev: &Evaluator,
    scalars: &[Vec<i64>],
    diagonals: &[Vec<u32>],
    babies: &[Vec<SharedRlwe<Eval>>],
) -> Result<Vec<Vec<SharedRlwe<Eval>>>, EvalError> {
    let ring = ev.ring;
    let encoded = lifted(ev, &diagonals.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut sums = Vec::with_capacity(scalars.len());
    for (scalars, diagonal) in scalars.iter().zip(&encoded) {
        ev.go_on()?;
        let product = |polys: Vec<&Poly<Eval>>| {
            let terms: Vec<_> = scalars.iter().copied().zip(polys).collect();
            let mut sum = ring.linear_combination(&terms);
            ring.mul_assign(&mut sum, diagonal);
            sum
        };
        let of_coordinate = |cts: &Vec<SharedRlwe<Eval>>| SharedRlwe {
            mask: product(cts.iter().map(|ct| &ct.mask).collect()),
            bodies: (0..cts[0].bodies.len())
                .map(|i| product(cts.iter().map(|ct| &ct.bodies[i]).collect()))
                .collect(),
        };
        sums.push(babies.iter().map(of_coordinate).collect());
    }
    Ok(sums)
}
