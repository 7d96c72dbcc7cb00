//! From the values of every phase to its coefficients: the inverse transform of `points`, in slots.

use crate::products::products;
use crate::{Opening, OpeningKeys};
use omr_bgv::{Ciphertext, EvalError, Evaluator};

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

/// The diagonal of baby step `baby` in giant step `giant`, as a polynomial modulo p. It is turned with the sum.
fn diagonal(ev: &Evaluator, opening: &Opening, giant: usize, baby: usize) -> Vec<u32> {
    let (points, columns) = (opening.spec().points, opening.columns());
    let turned = giant * opening.spec().baby;
    let constants: Vec<u32> = (0..points)
        .map(|point| {
            let point = (point + points - turned) % points;
            constant(opening, point, turned + baby) as u32
        })
        .collect();
    let slot = |slot: usize| constants[slot / columns % points];
    let slots: Vec<u32> = (0..opening.slots()).map(slot).collect();
    ev.plain.encode(&slots)
}

/// The coefficients of all phases, from their values.
pub(crate) fn coefficients(
    ev: &Evaluator,
    opening: &Opening,
    keys: &OpeningKeys<'_>,
    values: Vec<Ciphertext>,
) -> Result<Vec<Ciphertext>, EvalError> {
    let baby = opening.spec().baby;
    let mut turned = vec![values];
    for i in 1..baby {
        let next = ev.automorphism_all(&turned[i - 1].iter().collect::<Vec<_>>(), keys.baby)?;
        turned.push(next);
    }
    let coordinates = turned[0].len();
    let mut lists: Vec<Vec<Ciphertext>> = (0..coordinates).map(|_| Vec::new()).collect();
    for step in turned {
        for (list, ct) in lists.iter_mut().zip(step) {
            list.push(ct);
        }
    }
    let lists: Vec<&[Ciphertext]> = lists.iter().map(Vec::as_slice).collect();
    let mut sums: Vec<Ciphertext> = Vec::new();
    for giant in (0..opening.spec().giants()).rev() {
        let diagonals: Vec<Vec<u32>> = (0..baby).map(|b| diagonal(ev, opening, giant, b)).collect();
        let mut products = products(ev, &diagonals, &lists);
        if !sums.is_empty() {
            let turned = ev.automorphism_all(&sums.iter().collect::<Vec<_>>(), keys.giant)?;
            for (product, sum) in products.iter_mut().zip(&turned) {
                ev.add_assign(product, sum)?;
            }
        }
        sums = products;
    }
    Ok(sums)
}
