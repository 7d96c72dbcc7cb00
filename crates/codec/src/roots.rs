//! The roots of a polynomial that splits over the field.

use crate::finite::FiniteField;
use crate::poly::Arithmetic;

/// The roots of a monic `f`, in no order.
///
/// Shape:  `deg f + 1` coefficients from the constant term up, the last one 1.
/// Errors: where `f` is not a product of distinct `x - r` with `r` non-zero: how many distinct
/// non-zero roots it has.
/// Source: Cantor and Zassenhaus, with the field's elements in order in place of random shifts.
///
/// Squares are balanced: of any two elements, `(q - 1) / 2` of the field's `q` shifts make one a
/// square and the other not, so every factor splits at some shift, and at half of them on average.
pub(crate) fn distinct_roots<F: FiniteField>(
    field: &F,
    f: &[F::Element],
) -> Result<Vec<F::Element>, usize> {
    let zero = F::Element::default();
    let mut arithmetic = Arithmetic::new(*field);
    let mut roots = Vec::with_capacity(f.len() - 1);
    let mut open = Vec::new();
    match f {
        [_] => {}
        [constant, _] if *constant == zero => return Err(0),
        [constant, _] => roots.push(field.neg(*constant)),
        _ => {
            let character = arithmetic.linear_power(zero, field.size() / 2, f);
            check_splits(field, &mut arithmetic, f, &character)?;
            open.extend(split(field, &mut arithmetic, f, character).map(|part| (part, 1)));
        }
    }
    while let Some((f, shift)) = open.pop() {
        match &f[..] {
            [_] => {}
            [constant, _] => roots.push(field.neg(*constant)),
            _ => {
                let character = arithmetic.linear_power(field.element(shift), field.size() / 2, &f);
                let parts = split(field, &mut arithmetic, &f, character);
                open.extend(parts.map(|part| (part, shift + 1)));
            }
        }
    }
    Ok(roots)
}

/// Checks that `f` divides `x^(q-1) - 1`, given `character = x^((q-1)/2) mod f`.
fn check_splits<F: FiniteField>(
    field: &F,
    arithmetic: &mut Arithmetic<F>,
    f: &[F::Element],
    character: &[F::Element],
) -> Result<(), usize> {
    let mut rest = character.to_vec();
    arithmetic.square(&mut rest, f);
    rest[0] = field.sub(rest[0], field.scalar(1));
    if rest.iter().any(|&c| c != F::Element::default()) {
        return Err(arithmetic.gcd(f, &rest).len() - 1);
    }
    Ok(())
}

/// The factor of `f` whose roots have the quadratic character 1, and the other factor.
fn split<F: FiniteField>(
    field: &F,
    arithmetic: &mut Arithmetic<F>,
    f: &[F::Element],
    mut character: Vec<F::Element>,
) -> [Vec<F::Element>; 2] {
    character[0] = field.sub(character[0], field.scalar(1));
    let squares = arithmetic.gcd(f, &character);
    let others = arithmetic.quotient(f, &squares);
    [squares, others]
}
