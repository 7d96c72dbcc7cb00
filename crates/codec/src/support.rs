//! From power sums to the set of nodes they add up.

use crate::error::{DecodeError, Inconsistency};
use crate::finite::FiniteField;
use crate::nodes::{Located, Nodes};
use crate::roots::distinct_roots;

/// The sums of `x^e` over `nodes`, for `e` in `0..m`.
///
/// Range: nodes and sums elements of the field.
pub fn power_sums<F: FiniteField>(field: &F, nodes: &[F::Element], m: usize) -> Vec<F::Element> {
    let mut powers = vec![field.scalar(1); nodes.len()];
    let mut sums = Vec::with_capacity(m);
    for _ in 0..m {
        sums.push(field.sum(&powers));
        for (power, &node) in powers.iter_mut().zip(nodes) {
            *power = field.mul(*power, node);
        }
    }
    sums
}

/// Finds the set of nodes whose power sums are given, ordered by (batch, slot).
///
/// The first sum is the size `t` of the set, the next `t` determine it, and any further ones are
/// redundant: each lets a wrong sum through with probability about `1 / p`. Without them, wrong
/// sums that determine another set go unnoticed (`t` random ones do with probability below
/// `1 / t!`).
///
/// Shape:  `sums[e]` is the sum of `x^e`; more than `bound` of them.   Range: `[0, p)`.
/// Time:   vartime; `O(t^2 log p + t * sums)`.
/// Errors: [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`]; [`DecodeError::Overflow`] where
/// `t` exceeds `bound`; [`DecodeError::Inconsistent`] where no set of nodes has these sums.
pub fn find_support(
    nodes: &Nodes,
    sums: &[u32],
    bound: usize,
) -> Result<Vec<Located>, DecodeError> {
    let roots = find_nodes(nodes.field(), sums, bound)?;
    let mut support = locate_all(nodes, &roots)?;
    support.sort_unstable();
    Ok(support)
}

/// Finds the distinct non-zero elements whose power sums are given, in no order.
///
/// Shape, time and errors: as of [`find_support`], with the size of the set read from the first
/// sum. Range: `bound` below the field's characteristic, so that it is not wrapped.
pub(crate) fn find_nodes<F: FiniteField>(
    field: &F,
    sums: &[F::Element],
    bound: usize,
) -> Result<Vec<F::Element>, DecodeError> {
    if let Some((exponent, found)) = field.first_out_of_range(sums) {
        return Err(DecodeError::SumRange {
            exponent,
            modulus: field.size(),
            found,
        });
    }
    if sums.len() <= bound {
        let expected = bound.saturating_add(1);
        return Err(DecodeError::TooFewSums {
            expected,
            found: sums.len(),
        });
    }
    let count = field.number(sums[0]) as usize;
    if count > bound {
        return Err(DecodeError::Overflow { count, bound });
    }
    let roots = distinct_roots(field, &locator(field, &sums[..=count])).map_err(|found| {
        Inconsistency::Roots {
            expected: count,
            found,
        }
    })?;
    check_sums(field, &roots, sums)?;
    Ok(roots)
}

/// The monic polynomial whose roots have the given power sums, by Newton's identities.
///
/// Shape: `t + 1` sums to `t + 1` coefficients, constant term first; needs `t` below the
/// characteristic.
fn locator<F: FiniteField>(field: &F, sums: &[F::Element]) -> Vec<F::Element> {
    let count = sums.len() - 1;
    let inverses = small_inverses(field, count);
    let mut down = vec![field.scalar(1)]; // coefficients from x^t down: c_0 = 1, c_1, ...
    for k in 1..=count {
        // k c_k = -(c_0 s_k + c_1 s_(k-1) + ... + c_(k-1) s_1)
        let mut newest_first = sums[1..=k].to_vec();
        newest_first.reverse();
        let sum = field.dot(&down, &newest_first);
        down.push(field.mul(field.neg(sum), inverses[k]));
    }
    down.reverse();
    down
}

/// `1 / k` for `k` in `1..=count`, at index `k`. Shape: `count` below the characteristic.
fn small_inverses<F: FiniteField>(field: &F, count: usize) -> Vec<F::Element> {
    let mut inverses = vec![F::Element::default(), field.scalar(1)];
    let p = field.characteristic();
    for k in 2..=count as u32 {
        // p = (p / k) k + p % k, so 1/k = -(p / k) / (p % k)
        let minus = field.neg(field.scalar(p / k));
        inverses.push(field.mul(minus, inverses[(p % k) as usize]));
    }
    inverses
}

fn check_sums<F: FiniteField>(
    field: &F,
    roots: &[F::Element],
    sums: &[F::Element],
) -> Result<(), Inconsistency> {
    let expected = power_sums(field, roots, sums.len());
    match expected.iter().zip(sums).position(|(e, f)| e != f) {
        Some(exponent) => Err(Inconsistency::Sum {
            exponent,
            expected: field.number(expected[exponent]),
            found: field.number(sums[exponent]),
        }),
        None => Ok(()),
    }
}

fn locate_all(nodes: &Nodes, roots: &[u32]) -> Result<Vec<Located>, Inconsistency> {
    let place = |&node: &u32| match nodes.locate_any(node) {
        Some((batch, slot)) if batch < nodes.batches() => Ok(Located { batch, slot, node }),
        Some((found, _)) => Err(Inconsistency::Batch {
            node,
            limit: nodes.batches(),
            found,
        }),
        None => Err(Inconsistency::Roots {
            expected: roots.len(),
            found: roots.len() - 1,
        }),
    };
    roots.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums_of(nodes: &Nodes, places: &[(usize, usize)], m: usize) -> Vec<u32> {
        let chosen: Vec<u32> = places.iter().map(|&(b, s)| nodes.node(b, s)).collect();
        power_sums(nodes.field(), &chosen, m)
    }

    fn default_nodes() -> Nodes {
        Nodes::new(786_433, 65_536).unwrap()
    }

    #[test]
    fn nothing_pertinent() {
        let nodes = default_nodes();
        assert_eq!(find_support(&nodes, &[0], 0), Ok(vec![]));
        assert_eq!(find_support(&nodes, &[0; 51], 50), Ok(vec![]));
        let cause = Inconsistency::Sum {
            exponent: 2,
            expected: 0,
            found: 7,
        };
        assert_eq!(find_support(&nodes, &[0, 0, 7], 1), Err(cause.into()));
    }

    #[test]
    fn support_comes_sorted_by_place() {
        let nodes = default_nodes();
        let places = [(3, 9), (0, 65_535), (11, 0), (0, 1)];
        let support = find_support(&nodes, &sums_of(&nodes, &places, 6), 4).unwrap();
        let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
        assert_eq!(found, [(0, 1), (0, 65_535), (3, 9), (11, 0)]);
        assert!(
            support
                .iter()
                .all(|l| l.node == nodes.node(l.batch, l.slot))
        );
    }

    #[test]
    fn overflow_and_shapes() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 1), (0, 2), (0, 3)], 4);
        let overflow = DecodeError::Overflow { count: 3, bound: 2 };
        assert_eq!(find_support(&nodes, &sums, 2), Err(overflow));
        let few = DecodeError::TooFewSums {
            expected: 5,
            found: 4,
        };
        assert_eq!(find_support(&nodes, &sums, 4), Err(few));
        let few = DecodeError::TooFewSums {
            expected: 1,
            found: 0,
        };
        assert_eq!(find_support(&nodes, &[], 0), Err(few));
        let range = DecodeError::SumRange {
            exponent: 1,
            modulus: 786_433,
            found: 786_433,
        };
        assert_eq!(find_support(&nodes, &[0, 786_433], 1), Err(range));
    }

    #[test]
    fn a_repeated_node_is_inconsistent() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 5), (0, 5), (2, 5)], 6);
        let cause = Inconsistency::Roots {
            expected: 3,
            found: 2,
        };
        assert_eq!(find_support(&nodes, &sums, 3), Err(cause.into()));
    }

    #[test]
    fn zero_is_no_node() {
        let nodes = default_nodes();
        for (with_zero, found) in [(vec![0], 0), (vec![0, 17], 1), (vec![17, 0, 5], 2)] {
            let sums = power_sums(nodes.field(), &with_zero, 8);
            let expected = with_zero.len();
            let cause = Inconsistency::Roots { expected, found };
            assert_eq!(find_support(&nodes, &sums, 3), Err(cause.into()));
        }
    }

    #[test]
    fn every_set_size_of_a_tiny_field() {
        let nodes = Nodes::new(13, 4).unwrap();
        for size in 0..=12 {
            let places: Vec<_> = (0..size).map(|i| (i / 4, i % 4)).collect();
            let support = find_support(&nodes, &sums_of(&nodes, &places, 13), 12).unwrap();
            let found: Vec<_> = support.iter().map(|l| (l.batch, l.slot)).collect();
            assert_eq!(found, places);
        }
    }

    #[test]
    fn batches_not_in_use_are_inconsistent() {
        let nodes = default_nodes();
        let sums = sums_of(&nodes, &[(0, 5), (2, 5)], 4);
        let cause = Inconsistency::Batch {
            node: nodes.node(2, 5),
            limit: 2,
            found: 2,
        };
        let limited = nodes.limited_to(2).unwrap();
        assert_eq!(find_support(&limited, &sums, 2), Err(cause.into()));
    }
}
