//! Symbols from their sums weighted with powers of known nodes.

use crate::error::{CodecError, DecodeError, Inconsistency};
use crate::field::Field;
use crate::finite::FiniteField;

/// The inverse of the Vandermonde matrix of `t` known nodes.
#[derive(Debug, Clone)]
pub struct Solver<F: FiniteField = Field> {
    field: F,
    count: usize,
    /// Row `j`: the coefficients of the polynomial that is 1 at node `j` and 0 at the others.
    inverse: Vec<F::Element>,
    /// The negated coefficients, constant term first and the leading 1 left out, of the
    /// polynomial whose roots are the nodes: they give the next sum from the last `t`.
    recurrence: Vec<F::Element>,
}

impl<F: FiniteField> Solver<F> {
    /// Inverts the Vandermonde matrix of `nodes`.
    ///
    /// Range:  nodes distinct and not zero.   Time: `O(t^2)`.
    /// Errors: [`CodecError::Node`] names the first node out of range or seen before.
    pub fn new(field: &F, nodes: &[F::Element]) -> Result<Self, CodecError> {
        check_nodes(field, nodes)?;
        let master = master(field, nodes);
        let mut inverse = Vec::with_capacity(nodes.len() * nodes.len());
        for &node in nodes {
            inverse.extend(lagrange(field, &master, node));
        }
        let recurrence = master[..nodes.len()]
            .iter()
            .map(|&c| field.neg(c))
            .collect();
        Ok(Self {
            field: *field,
            count: nodes.len(),
            inverse,
            recurrence,
        })
    }

    /// The number `t` of unknowns.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The symbols `v_j`, in the order of the nodes, such that `rhs[e]` is the sum of
    /// `x_j^e * v_j`. Sums from the `t`-th on are redundant and are checked.
    ///
    /// Shape:  at least `t` sums to `t` symbols.   Range: in and out elements.
    /// Time:   vartime; `O(t * rhs)`.
    /// Errors: [`DecodeError::TooFewSums`]; [`DecodeError::SumRange`];
    /// [`DecodeError::Inconsistent`] names the first redundant sum that the others contradict.
    pub fn solve(&self, rhs: &[F::Element]) -> Result<Vec<F::Element>, DecodeError> {
        let field = &self.field;
        if rhs.len() < self.count {
            return Err(DecodeError::TooFewSums {
                expected: self.count,
                found: rhs.len(),
            });
        }
        if let Some((exponent, found)) = field.first_out_of_range(rhs) {
            return Err(DecodeError::SumRange {
                exponent,
                modulus: field.size(),
                found,
            });
        }
        for exponent in self.count..rhs.len() {
            let expected = field.dot(&self.recurrence, &rhs[exponent - self.count..exponent]);
            let found = rhs[exponent];
            if expected != found {
                return Err(Inconsistency::Sum {
                    exponent,
                    expected: field.number(expected),
                    found: field.number(found),
                }
                .into());
            }
        }
        let known = &rhs[..self.count];
        let rows = (0..self.count).map(|j| &self.inverse[j * self.count..(j + 1) * self.count]);
        Ok(rows.map(|row| field.dot(row, known)).collect())
    }
}

fn check_nodes<F: FiniteField>(field: &F, nodes: &[F::Element]) -> Result<(), CodecError> {
    let mut seen = std::collections::HashSet::with_capacity(nodes.len());
    for (index, &found) in nodes.iter().enumerate() {
        let element = found != F::Element::default() && field.contains(found);
        if !element || !seen.insert(found) {
            return Err(CodecError::Node {
                index,
                modulus: field.size(),
                found: field.number(found),
            });
        }
    }
    Ok(())
}

/// The monic polynomial whose roots are `nodes`, constant term first.
fn master<F: FiniteField>(field: &F, nodes: &[F::Element]) -> Vec<F::Element> {
    let mut master = Vec::with_capacity(nodes.len() + 1);
    master.push(field.scalar(1));
    for &node in nodes {
        // times (x - node): from the constant term up, each needs the old one below it
        let mut below = F::Element::default();
        for coefficient in &mut master {
            let next = field.sub(below, field.mul(*coefficient, node));
            below = std::mem::replace(coefficient, next);
        }
        master.push(below);
    }
    master
}

/// The coefficients of `m / ((x - node) m'(node))`, the master polynomial `m` given.
fn lagrange<F: FiniteField>(field: &F, master: &[F::Element], node: F::Element) -> Vec<F::Element> {
    let zero = F::Element::default();
    let degree = master.len() - 1;
    let mut row = vec![zero; degree];
    let (mut quotient, mut value) = (zero, zero);
    for i in (0..degree).rev() {
        quotient = field.add(master[i + 1], field.mul(quotient, node));
        row[i] = quotient;
        value = field.add(quotient, field.mul(value, node));
    }
    // m / (x - node) at the node is m'(node), not zero as the nodes are distinct.
    let scale = field.inv(value).unwrap_or(zero);
    for coefficient in &mut row {
        *coefficient = field.mul(*coefficient, scale);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u32 = 786_433;

    #[test]
    fn two_unknowns_by_hand() {
        // x = 2, 3; v = 5, 7: sums 12, 31, 83, 229
        let solver = Solver::new(&Field::new(P).unwrap(), &[2, 3]).unwrap();
        assert_eq!(solver.solve(&[12, 31]), Ok(vec![5, 7]));
        assert_eq!(solver.solve(&[12, 31, 83, 229]), Ok(vec![5, 7]));
        let cause = Inconsistency::Sum {
            exponent: 3,
            expected: 229,
            found: 228,
        };
        assert_eq!(solver.solve(&[12, 31, 83, 228]), Err(cause.into()));
    }

    #[test]
    fn no_unknowns() {
        let solver = Solver::new(&Field::new(P).unwrap(), &[]).unwrap();
        assert_eq!(solver.solve(&[]), Ok(vec![]));
        assert_eq!(solver.solve(&[0, 0]), Ok(vec![]));
        let cause = Inconsistency::Sum {
            exponent: 1,
            expected: 0,
            found: 4,
        };
        assert_eq!(solver.solve(&[0, 4]), Err(cause.into()));
    }

    #[test]
    fn bad_nodes_are_named() {
        let field = Field::new(P).unwrap();
        for (nodes, index) in [([1, 0, 2], 1), ([1, 2, P], 2), ([9, 4, 9], 2)] {
            let error = Solver::new(&field, &nodes).unwrap_err();
            assert_eq!(
                error,
                CodecError::Node {
                    index,
                    modulus: P,
                    found: nodes[index]
                }
            );
        }
    }

    #[test]
    fn bad_sums_are_named() {
        let solver = Solver::new(&Field::new(P).unwrap(), &[2, 3]).unwrap();
        let few = DecodeError::TooFewSums {
            expected: 2,
            found: 1,
        };
        assert_eq!(solver.solve(&[1]), Err(few));
        let range = DecodeError::SumRange {
            exponent: 1,
            modulus: P,
            found: P,
        };
        assert_eq!(solver.solve(&[1, P, 0]), Err(range));
    }
}
