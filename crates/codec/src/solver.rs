//! Symbols from their sums weighted with powers of known nodes.

use crate::error::{DecodeError, Inconsistency};
use crate::field::Field;
use crate::finite::FiniteField;
use crate::fixed::FirstDifference;
use omr_errors::Mismatch;
use omr_marks::published;

/// The inverse of the Vandermonde matrix of nodes; some nodes may belong to no message.
///
/// A node 0 stands for no message: its symbols come out as 0. The time depends on the numbers of
/// nodes and sums alone, so that an observer does not learn the number of messages.
#[derive(Debug, Clone)]
pub struct Solver<F: FiniteField = Field> {
    field: F,
    count: usize,
    sums: usize,
    /// Row `j`: the coefficients of the polynomial that is 1 at node `j` and 0 at the others.
    inverse: Vec<F::Element>,
    /// Row `e`: the nodes to the power `e`, with `0^0 = 0`.
    powers: Vec<F::Element>,
}

/// The first sum that no symbols explain, if there is one.
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct Unexplained(FirstDifference);

impl Unexplained {
    /// Returns the first unexplained sum of two symbols: that of the first symbol if there is one, else that of `next`.
    pub fn or(self, next: Self) -> Self {
        Self(self.0.or(next.0))
    }

    /// Looks whether there is one. Time: depends on it.
    ///
    /// Errors: [`DecodeError::Inconsistent`] contains the sum's exponent.
    pub fn check(self) -> Result<(), DecodeError> {
        // Public: callers come here when all symbols are written, and act on the answer.
        match published(self.0).get() {
            None => Ok(()),
            Some((exponent, expected, found)) => {
                Err(Inconsistency::Sum(exponent, Mismatch::new(expected, found)).into())
            }
        }
    }
}

impl<F: FiniteField> Solver<F> {
    /// Prepares to solve `sums` sums a symbol for the symbols of `nodes`.
    ///
    /// Range:  nodes elements, distinct but for 0.   Time: `O(t (t + sums))` for `t` nodes.
    pub fn new(field: &F, nodes: &[F::Element], sums: usize) -> Self {
        debug_assert_eq!(field.first_out_of_range(nodes), None);
        let master = master(field, nodes);
        let rows = nodes.iter().map(|&node| lagrange(field, &master, node));
        Self {
            field: *field,
            count: nodes.len(),
            sums,
            inverse: rows.flatten().collect(),
            powers: powers(field, nodes, sums),
        }
    }

    /// The number of unknowns, those of no message counted.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Writes the symbols `v_j`, in the order of the nodes, such that `rhs[e]` is the sum of
    /// `x_j^e * v_j`. With `t` nodes that are not 0, all sums but `t` are redundant and are checked.
    ///
    /// Shape:  as many sums as the solver was made for, to one symbol a node.   Range: in and out
    /// elements.
    /// Time:   `O(nodes * sums)`.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::TooFewSums`] for fewer than nodes;
    /// [`DecodeError::SumRange`]. The returned [`Unexplained`] is to be looked at later; the symbols are written
    /// whatever it contains.
    /// Panics: unless `out` has one place a node.
    pub fn solve_into(
        &self,
        rhs: &[F::Element],
        out: &mut [F::Element],
    ) -> Result<Unexplained, DecodeError> {
        assert_eq!(out.len(), self.count, "one symbol a node");
        self.check(rhs)?;
        let field = &self.field;
        let known = &rhs[..self.count];
        for (out, row) in out.iter_mut().zip(rows(&self.inverse, self.count)) {
            *out = field.dot(row, known);
        }
        let mut first = FirstDifference::default();
        let found = rhs.iter().map(|&sum| field.number(sum));
        let no_rows = self.count == 0;
        let mut powers = rows(&self.powers, self.count);
        for (e, found) in (0..).zip(found) {
            let row = if no_rows { None } else { powers.next() };
            let expected = field.dot(row.unwrap_or_default(), out);
            first.compare(e, field.number(expected), found);
        }
        Ok(Unexplained(first))
    }

    /// Solves into a new row: see [`Solver::solve_into`].
    ///
    /// Errors: its errors; [`DecodeError::Inconsistent`].
    pub fn solve(&self, rhs: &[F::Element]) -> Result<Vec<F::Element>, DecodeError> {
        let mut symbols = vec![F::Element::default(); self.count];
        self.solve_into(rhs, &mut symbols)?.check()?;
        Ok(symbols)
    }

    fn check(&self, rhs: &[F::Element]) -> Result<(), DecodeError> {
        let (expected, found) = (self.sums, rhs.len());
        if expected != found {
            return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
        }
        if found < self.count {
            let expected = self.count;
            return Err(DecodeError::TooFewSums(Mismatch::new(expected, found)));
        }
        match self.field.first_out_of_range(rhs) {
            None => Ok(()),
            Some((exponent, found)) => Err(DecodeError::SumRange(
                exponent,
                Mismatch::new(self.field.size(), found),
            )),
        }
    }
}

/// The rows of a matrix. Range: `columns` not 0, unless there are no values.
fn rows<E>(matrix: &[E], columns: usize) -> std::slice::ChunksExact<'_, E> {
    matrix.chunks_exact(columns.max(1))
}

/// The nodes to the power `e` for `e` below `count`, row by row; all powers of 0 are 0.
fn powers<F: FiniteField>(field: &F, nodes: &[F::Element], count: usize) -> Vec<F::Element> {
    // x^0 as x / x
    let one = |&node: &F::Element| field.mul(node, field.inv_or_zero(node));
    let mut row: Vec<_> = nodes.iter().map(one).collect();
    let mut powers = Vec::with_capacity(nodes.len() * count);
    for _ in 0..count {
        powers.extend_from_slice(&row);
        for (power, &node) in row.iter_mut().zip(nodes) {
            *power = field.mul(*power, node);
        }
    }
    powers
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

/// The coefficients of `m / ((x - node) m'(node))`, the master polynomial `m` given; zeros for a node
/// that `m` has more than once, and for 0.
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
    // m / (x - node) at the node is m'(node). The other factor is 1, or 0 for no message.
    let scale = field.inv_or_zero(field.mul(value, node));
    let scale = field.mul(scale, node);
    for coefficient in &mut row {
        *coefficient = field.mul(*coefficient, scale);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u32 = 786_433;

    fn solver(nodes: &[u32], sums: usize) -> Solver {
        Solver::new(&Field::new(P).unwrap(), nodes, sums)
    }

    #[test]
    fn two_unknowns_by_hand() {
        // x = 2, 3; v = 5, 7: sums 12, 31, 83, 229
        assert_eq!(solver(&[2, 3], 2).solve(&[12, 31]), Ok(vec![5, 7]));
        let rhs = [12, 31, 83, 229];
        assert_eq!(solver(&[2, 3], 4).solve(&rhs), Ok(vec![5, 7]));
        let cause = Inconsistency::Sum(3, Mismatch::new(229, 228));
        let mut out = [0; 2];
        let wrong = solver(&[2, 3], 4)
            .solve_into(&[12, 31, 83, 228], &mut out)
            .and_then(Unexplained::check);
        assert_eq!((wrong, out), (Err(cause.into()), [5, 7]));
    }

    #[test]
    fn places_without_a_message_have_no_symbols() {
        for nodes in [[2, 3, 0, 0], [0, 2, 0, 3], [0, 0, 2, 3]] {
            let expected = nodes.map(|x| [0, 0, 5, 7][x as usize]);
            let rhs = [12, 31, 83, 229];
            assert_eq!(solver(&nodes, 4).solve(&rhs), Ok(expected.to_vec()));
            for at in 0..4 {
                let mut rhs = rhs;
                rhs[at] += 1;
                let error = solver(&nodes, 4).solve(&rhs).unwrap_err();
                assert!(matches!(error, DecodeError::Inconsistent(_)), "{at}");
            }
        }
        assert_eq!(solver(&[0, 4], 2).solve(&[9, 36]), Ok(vec![0, 9]));
    }

    #[test]
    fn a_repeated_node_is_noticed() {
        let error = solver(&[2, 2], 2).solve(&[12, 24]).unwrap_err();
        assert!(matches!(error, DecodeError::Inconsistent(_)));
    }

    #[test]
    fn no_unknowns() {
        assert_eq!(solver(&[], 0).solve(&[]), Ok(vec![]));
        assert_eq!(solver(&[], 2).solve(&[0, 0]), Ok(vec![]));
        let cause = Inconsistency::Sum(1, Mismatch::new(0, 4));
        assert_eq!(solver(&[], 2).solve(&[0, 4]), Err(cause.into()));
    }

    #[test]
    fn bad_sums_are_named() {
        let few = DecodeError::TooFewSums(Mismatch::new(2, 1));
        assert_eq!(solver(&[2, 3], 1).solve(&[1]), Err(few));
        let (expected, found) = (3, 2);
        let count = DecodeError::SumCount(Mismatch::new(expected, found));
        assert_eq!(solver(&[2, 3], 3).solve(&[1, 2]), Err(count));
        let range = DecodeError::SumRange(1, Mismatch::new(P, P));
        assert_eq!(solver(&[2, 3], 3).solve(&[1, P, 0]), Err(range));
    }
}
