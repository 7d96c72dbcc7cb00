//! From power sums to the polynomial of their nodes where Newton's identities would divide by the
//! characteristic.

use crate::finite::FiniteField;
use crate::fixed::{equal, select};

/// The monic polynomial of degree `k` whose roots are at most `k` nodes with the given power sums, those of
/// `x^t` for `t` in `1..=2k`; 0 as its other roots.
///
/// Source: Massey, *Shift-register synthesis and BCH decoding*. The sums obey the recurrence whose
/// coefficients are the polynomial's, and `2k` of them determine one of length up to `k`. It divides by
/// discrepancies alone.
///
/// Shape: `2k` sums to `k + 1` coefficients, constant term first.   Time: `O(k^2)`, whatever the sums.
pub(crate) fn shortest<F: FiniteField>(field: &F, sums: &[F::Element]) -> Vec<F::Element> {
    let degree = sums.len() / 2;
    let zero = F::Element::default();
    let newest_first: Vec<_> = sums.iter().rev().copied().collect();
    // Both from the constant term up: the recurrence, and x times the one before its length changed.
    let mut current = vec![zero; degree + 1];
    current[0] = field.scalar(1);
    let mut before = vec![zero; degree + 1];
    if degree > 0 {
        before[1] = field.scalar(1);
    }
    let (mut inverse, mut length) = (field.scalar(1), 0u32);
    for (n, step) in (0..sums.len()).zip(0u32..) {
        let terms = (n + 1).min(degree + 1);
        let discrepancy = field.dot(&current[..terms], &newest_first[sums.len() - 1 - n..]);
        let factor = field.neg(field.mul(discrepancy, inverse));
        let longer = !equal(field.number(discrepancy), 0) & at_most(2 * length, step);
        let keep = field.scalar(1 & !longer);
        let take = field.scalar(1 & longer);
        let mut below = zero;
        for (now, old) in current.iter_mut().zip(&mut before) {
            let kept = field.add(field.mul(*now, take), field.mul(*old, keep));
            *now = field.add(*now, field.mul(factor, *old));
            *old = std::mem::replace(&mut below, kept);
        }
        let inverted = field.inv_or_zero(discrepancy);
        inverse = field.add(field.mul(inverted, take), field.mul(inverse, keep));
        length = select(longer, (step + 1).wrapping_sub(length), length);
    }
    current.reverse();
    current
}

/// Whether `a <= b`. Range: both below `2^31`.
fn at_most(a: u32, b: u32) -> u32 {
    (b.wrapping_sub(a) >> 31).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cubic::Cubic;
    use crate::field::Field;
    use crate::support::power_sums;

    fn product<F: FiniteField>(field: &F, nodes: &[F::Element], degree: usize) -> Vec<F::Element> {
        let mut out = vec![field.scalar(1)];
        let zeros = std::iter::repeat_n(F::Element::default(), degree - nodes.len());
        for node in nodes.iter().copied().chain(zeros) {
            let mut below = F::Element::default();
            for coefficient in &mut out {
                let next = field.sub(below, field.mul(*coefficient, node));
                below = std::mem::replace(coefficient, next);
            }
            out.push(below);
        }
        out
    }

    fn check<F: FiniteField>(field: &F, nodes: &[F::Element], degree: usize) {
        let sums = power_sums(field, nodes, 2 * degree + 1);
        let found = shortest(field, &sums[1..]);
        assert_eq!(found, product(field, nodes, degree));
    }

    #[test]
    fn polynomials_are_the_products() {
        for (count, degree) in [(0, 0), (0, 3), (1, 1), (5, 5), (5, 9), (97, 97), (130, 200)] {
            let node = |i: u32| Cubic.element(1 + i * 6_911);
            check(&Cubic, &(0..count).map(node).collect::<Vec<_>>(), degree);
            let field = Field::new(786_433).unwrap();
            check(&field, &(7..7 + count).collect::<Vec<_>>(), degree);
        }
    }

    /// Nodes whose sums of small powers vanish: all of a subgroup, and one more.
    #[test]
    fn discrepancies_of_zero_for_a_long_time() {
        let generator = Cubic.pow(Cubic.generator(), 912_672 / 96);
        let mut nodes: Vec<_> = (0..96).map(|i| Cubic.pow(generator, i)).collect();
        check(&Cubic, &nodes, 100);
        nodes.push(Cubic.generator());
        check(&Cubic, &nodes, 100);
    }

    #[test]
    fn comparisons() {
        for (a, b) in [(0, 0), (1, 0), (0, 1), (7, 7), (8, 7), (1 << 30, 5)] {
            assert_eq!(at_most(a, b), if a <= b { u32::MAX } else { 0 });
        }
    }
}
