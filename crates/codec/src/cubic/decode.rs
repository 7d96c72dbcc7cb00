//! From sums to the pertinent messages and their payload symbols.

use super::code::{CUBIC_NEWTON_BOUND, CubicCode};
use super::element::{CubicElement, P};
use super::field::Cubic;
use super::nodes::CUBIC_MESSAGES;
use super::vanish::{BATCH, vanishes};
use crate::error::{DecodeError, Inconsistency};
use crate::finite::FiniteField;
use crate::solver::{Solver, Unexplained};
use crate::support::{Search, Support};
use omr_errors::Mismatch;

impl CubicCode {
    /// Finds the pertinent messages among messages 0 to `messages`. Their number by the exact
    /// [`CubicCounters`](crate::CubicCounters) is `total`, and their index weights add up to `sums`. Labels are their
    /// indices.
    ///
    /// The power sums determine up to `k` nodes by Newton's identities. Random sums have `w` roots with probability
    /// about `1 / w!`, and each of the remaining `k - w` sums then lets wrong ones through with probability about
    /// `97^-3`. With `w = k` only the splitting into roots reveals an error. More messages than the bound are an
    /// overflow by `total`, and sums that contradict themselves are damaged.
    ///
    /// Shape:  [`CubicCode::index_weights`] sums.   Range: `[0, 97)`; at most [`CUBIC_MESSAGES`].
    /// Time:   that of `k` steps a message, whatever the sums.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]. [`Support::count`] reports an overflow, and sums
    /// that contradict each other.
    /// Panics: when there are more messages than nodes.
    pub fn find_counted(
        &self,
        sums: &[u8],
        total: usize,
        messages: u64,
    ) -> Result<Support<Cubic>, DecodeError> {
        assert!(messages <= CUBIC_MESSAGES, "{messages} messages");
        check_count(self.index_weights(), sums.len())?;
        let mut elements = Vec::with_capacity(self.powers() + 1);
        elements.push(parse(0, [sums[0], 0, 0])?);
        for (t, &coefficients) in sums[1..].as_chunks::<3>().0.iter().enumerate() {
            elements.push(parse(t + 1, coefficients)?);
        }
        let mut search = Search::new(Cubic, elements, self.bound())?;
        search.counted(total);
        let locator = if self.bound() <= CUBIC_NEWTON_BOUND {
            search.locator()
        } else {
            search.recurrence()
        };
        for first in (0..messages).step_by(BATCH) {
            let count = (messages - first).min(BATCH as u64) as usize;
            let mut nodes = [CubicElement::default(); BATCH];
            for (node, index) in nodes[..count].iter_mut().zip(first..) {
                *node = self.nodes().node(index);
            }
            let roots = vanishes(&locator, &nodes);
            for (&root, &node) in roots.iter().zip(&nodes[..count]) {
                search.candidate(root, node);
            }
        }
        Ok(search.finish())
    }

    /// Prepares to solve the payload sums of the messages of `support`.
    pub fn solver(&self, support: &Support<Cubic>) -> CubicSolver<'_> {
        let nodes = support.nodes();
        let messages = support.labels().iter().zip(nodes);
        CubicSolver {
            code: self,
            solver: Solver::new(&Cubic, nodes, self.bound()),
            messages: messages
                .map(|(&index, &node)| (u64::from(index), Cubic.inv_or_zero(node)))
                .collect(),
        }
    }
}

/// The payload symbols that sums of payloads decode to.
#[derive(Debug, Clone)]
pub struct CubicRows {
    /// One row of symbols for every place of the support, whatever the outcome; zeros in places without
    /// a message.
    pub rows: Vec<Vec<CubicElement>>,
    outcome: Unexplained,
}

impl CubicRows {
    /// Looks whether payloads explain all sums. Time: depends on it.
    ///
    /// Errors: [`DecodeError::Inconsistent`] contains the exponent of the first sum that none explain.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.outcome.check().map_err(next_exponent)
    }
}

/// The payload symbols of known messages from their sums.
#[derive(Debug, Clone)]
pub struct CubicSolver<'a> {
    code: &'a CubicCode,
    solver: Solver<Cubic>,
    /// Each message's index and the inverse of its node; 0 for none.
    messages: Vec<(u64, CubicElement)>,
}

impl CubicSolver<'_> {
    /// The payload symbols, `symbols` a message, whose payload weights add up to `sums`, without their
    /// blinding.
    ///
    /// For `w` messages `w` sums of a symbol determine it and the other `k - w` are
    /// checked. With `w = k` any sums have a solution.
    ///
    /// Shape:  [`CubicCode::payload_weights`] sums.   Range: `[0, 97)`.
    /// Time:   `O(k^2)` for each symbol, whatever the sums.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`].
    pub fn solve(&self, symbols: usize, sums: &[u8]) -> Result<CubicRows, DecodeError> {
        check_count(self.code.payload_weights(symbols), sums.len())?;
        let mut payloads = vec![Vec::with_capacity(symbols.min(sums.len())); self.messages.len()];
        let mut rhs = Vec::with_capacity(self.code.bound());
        let mut products = vec![CubicElement::default(); self.messages.len()];
        let mut outcome = Unexplained::default();
        for j in 0..symbols {
            self.gather(sums, symbols, j, &mut rhs)?;
            // The sums start with the first power, the solver's with the zeroth: it finds x v.
            outcome = outcome.or(self.solver.solve_into(&rhs, &mut products)?);
            let places = payloads.iter_mut().zip(&products).zip(&self.messages);
            for ((payload, &product), &(_, inverse)) in places {
                payload.push(Cubic.mul(product, inverse));
            }
        }
        for (payload, &(index, _)) in payloads.iter_mut().zip(&self.messages) {
            self.code.unblind(index, payload);
        }
        Ok(CubicRows {
            rows: payloads,
            outcome,
        })
    }

    /// Reads the sums of symbol `j` for all `t` into `rhs`.
    fn gather(
        &self,
        sums: &[u8],
        symbols: usize,
        j: usize,
        rhs: &mut Vec<CubicElement>,
    ) -> Result<(), DecodeError> {
        rhs.clear();
        for (t, rows) in sums.chunks_exact(3 * symbols).enumerate() {
            let coefficients = [0, 1, 2].map(|c| rows[c * symbols + j]);
            rhs.push(parse(t + 1, coefficients)?);
        }
        Ok(())
    }
}

fn check_count(expected: usize, found: usize) -> Result<(), DecodeError> {
    if expected != found {
        return Err(DecodeError::SumCount(Mismatch::new(expected, found)));
    }
    Ok(())
}

fn parse(exponent: usize, coefficients: [u8; 3]) -> Result<CubicElement, DecodeError> {
    let largest = coefficients.into_iter().fold(0, u8::max);
    CubicElement::from_coefficients(coefficients).ok_or(DecodeError::SumRange(
        exponent,
        Mismatch::new(P, u32::from(largest)),
    ))
}

/// The error with the exponent of the cubic code's sum in place of the solver's.
fn next_exponent(error: DecodeError) -> DecodeError {
    match error {
        DecodeError::Inconsistent(Inconsistency::Sum(exponent, sum)) => {
            DecodeError::Inconsistent(Inconsistency::Sum(exponent + 1, sum))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> CubicCode {
        CubicCode::new(&[9; 32], 2).unwrap()
    }

    #[test]
    fn bad_sums_are_named() {
        let code = code();
        let (expected, found) = (7, 6);
        let error = DecodeError::SumCount(Mismatch::new(expected, found));
        assert_eq!(code.find_counted(&[0; 6], 0, 9).unwrap_err(), error);
        let range = |exponent, found| DecodeError::SumRange(exponent, Mismatch::new(97, found));
        for (at, wrong, error) in [(0, 97, range(0, 97)), (5, 255, range(2, 255))] {
            let mut sums = [1, 0, 0, 0, 0, 0, 0];
            sums[at] = wrong;
            assert_eq!(
                code.find_counted(&sums, usize::from(sums[0]), 9)
                    .unwrap_err(),
                error
            );
        }
        let support = code.find_counted(&[0; 7], 0, 9).unwrap();
        assert_eq!(support.count(), Ok(0));
        let solver = code.solver(&support);
        let wrong = solver.solve(1, &[0, 0, 0, 0, 98, 0]);
        assert_eq!(wrong.unwrap_err(), range(2, 98));
        let error = DecodeError::SumCount(Mismatch::new(6, 7));
        assert_eq!(solver.solve(1, &[0; 7]).unwrap_err(), error);
        assert_eq!(solver.solve(0, &[]).unwrap().rows, vec![vec![]; 2]);
    }

    #[test]
    fn the_first_sum_that_nothing_explains_is_named() {
        let code = code();
        let cause = |exponent, found| Inconsistency::Sum(exponent, Mismatch::new(0, found));
        let support = code.find_counted(&[0; 7], 0, 9).unwrap();
        let solved = code.solver(&support).solve(1, &[0, 0, 0, 0, 2, 0]);
        assert_eq!(solved.unwrap().check(), Err(cause(2, 194).into()));
        let mut sums = [0; 7];
        code.index_weights_into(code.nodes().node(4), &mut sums);
        let support = code.find_counted(&sums, 1, 9).unwrap();
        assert_eq!((support.count(), support.labels()), (Ok(1), &[4, 0][..]));
        let solved = code.solver(&support).solve(1, &[1, 0, 0, 0, 0, 0]);
        assert_eq!(solved.unwrap().check(), Err(cause(1, 1).into()));
    }

    #[test]
    fn a_message_past_the_end_is_not_found() {
        let code = code();
        let mut sums = [0; 7];
        code.index_weights_into(code.nodes().node(64), &mut sums);
        assert_eq!(code.find_counted(&sums, 1, 65).unwrap().count(), Ok(1));
        let (expected, found) = (1, 0);
        let cause = Inconsistency::Roots(Mismatch::new(expected, found));
        assert_eq!(
            code.find_counted(&sums, 1, 64).unwrap().count(),
            Err(cause.into())
        );
    }
}
