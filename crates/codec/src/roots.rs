//! The roots of a polynomial that splits over the field.

use crate::field::Field;
use crate::poly::Arithmetic;

/// The roots of a monic `f`, in no order.
///
/// Shape:  `deg f + 1` coefficients from the constant term up, the last one 1.
/// Errors: where `f` is not a product of distinct `x - r` with `r` non-zero: how many distinct
/// non-zero roots it has.
/// Source: Cantor and Zassenhaus, with the shifts 0, 1, 2, ... in place of random ones.
///
/// Squares are balanced: of any two elements, `(p - 1) / 2` shifts make one a square and the other
/// not, so every factor splits at some shift below `p`, and at half of them on average.
pub(crate) fn distinct_roots(field: &Field, f: &[u32]) -> Result<Vec<u32>, usize> {
    let mut arithmetic = Arithmetic::new(*field);
    let mut roots = Vec::with_capacity(f.len() - 1);
    let mut open = Vec::new();
    match f {
        [_] => {}
        [0, _] => return Err(0),
        [constant, _] => roots.push(field.neg(*constant)),
        _ => {
            let character = arithmetic.linear_power(0, field.modulus() / 2, f);
            check_splits(field, &mut arithmetic, f, &character)?;
            open.extend(split(field, &mut arithmetic, f, character).map(|part| (part, 1)));
        }
    }
    while let Some((f, shift)) = open.pop() {
        match &f[..] {
            [_] => {}
            [constant, _] => roots.push(field.neg(*constant)),
            _ => {
                let character = arithmetic.linear_power(shift, field.modulus() / 2, &f);
                let parts = split(field, &mut arithmetic, &f, character);
                open.extend(parts.map(|part| (part, shift + 1)));
            }
        }
    }
    Ok(roots)
}

/// Checks that `f` divides `x^(p-1) - 1`, given `character = x^((p-1)/2) mod f`.
fn check_splits(
    field: &Field,
    arithmetic: &mut Arithmetic,
    f: &[u32],
    character: &[u32],
) -> Result<(), usize> {
    let mut rest = character.to_vec();
    arithmetic.square(&mut rest, f);
    rest[0] = field.sub(rest[0], 1);
    if rest.iter().any(|&c| c != 0) {
        return Err(arithmetic.gcd(f, &rest).len() - 1);
    }
    Ok(())
}

/// The factor of `f` whose roots have the quadratic character 1, and the other factor.
fn split(
    field: &Field,
    arithmetic: &mut Arithmetic,
    f: &[u32],
    mut character: Vec<u32>,
) -> [Vec<u32>; 2] {
    character[0] = field.sub(character[0], 1);
    let squares = arithmetic.gcd(f, &character);
    let others = arithmetic.quotient(f, &squares);
    [squares, others]
}
