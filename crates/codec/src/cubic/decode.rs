//! From sums to the pertinent messages and their payload symbols.

use super::code::CubicCode;
use super::element::{CubicElement, P};
use super::field::Cubic;
use super::nodes::CubicLocated;
use crate::error::{CodecError, DecodeError, Inconsistency};
use crate::finite::FiniteField;
use crate::solver::Solver;
use crate::support::find_nodes;

impl CubicCode {
    /// Finds the pertinent messages whose index weights add up to `sums`, ordered by index.
    ///
    /// The counter gives their number `w`, the first `w` power sums determine them by Newton's
    /// identities, and a random locator polynomial splits with probability about `1 / w!`. Each of
    /// the other `k - w` sums then lets wrong ones through with probability about `97^-3`. With
    /// `w = k` nothing but the splitting tells.
    ///
    /// The counter wraps: `97 m + w` messages look like `w` whose sums contradict each other, or
    /// like an overflow by a smaller number.
    ///
    /// Shape:  [`CubicCode::index_weights`] sums.   Range: `[0, 97)`.
    /// Time:   vartime.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]; [`DecodeError::Overflow`]
    /// where the counter exceeds the bound; [`DecodeError::Inconsistent`] where no set of messages
    /// has these sums: damage, or more than 96 messages.
    pub fn find_support(&self, sums: &[u8]) -> Result<Vec<CubicLocated>, DecodeError> {
        check_count(self.index_weights(), sums.len())?;
        let mut elements = Vec::with_capacity(self.bound() + 1);
        elements.push(parse(0, [sums[0], 0, 0])?);
        for (t, &coefficients) in sums[1..].as_chunks::<3>().0.iter().enumerate() {
            elements.push(parse(t + 1, coefficients)?);
        }
        let found = find_nodes(&Cubic, &elements, self.bound())?;
        // No root is zero, so every one is located.
        let locate = |node| {
            Some(CubicLocated {
                index: self.nodes().locate(node)?,
                node,
            })
        };
        let mut support: Vec<_> = found.into_iter().filter_map(locate).collect();
        support.sort_unstable();
        Ok(support)
    }

    /// Prepares to solve the payload sums of the messages of `support`.
    ///
    /// Errors: [`CodecError::Node`] for a node that is zero or repeated.
    pub fn solver(&self, support: &[CubicLocated]) -> Result<CubicSolver<'_>, CodecError> {
        let nodes: Vec<_> = support.iter().map(|place| place.node).collect();
        let solver = Solver::new(&Cubic, &nodes)?;
        let inverse = |place: &CubicLocated| Some((place.index, Cubic.inv(place.node)?));
        // The solver took the nodes, so none is zero.
        let messages = support.iter().filter_map(inverse).collect();
        Ok(CubicSolver {
            code: self,
            solver,
            messages,
        })
    }
}

/// The payload symbols of known messages from their sums.
#[derive(Debug, Clone)]
pub struct CubicSolver<'a> {
    code: &'a CubicCode,
    solver: Solver<Cubic>,
    /// Each message's index and the inverse of its node.
    messages: Vec<(u64, CubicElement)>,
}

impl CubicSolver<'_> {
    /// The payload symbols, one row of `symbols` for every message in the order of the support,
    /// whose payload weights add up to `sums`, without their blinding.
    ///
    /// For `w` messages the first `w` sums of a symbol determine it and the other `k - w` are
    /// checked. With `w = k` any sums have a solution.
    ///
    /// Shape:  [`CubicCode::payload_weights`] sums.   Range: `[0, 97)`.
    /// Time:   vartime; `O(w k)` for each symbol.
    /// Errors: [`DecodeError::SumCount`]; [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`]
    /// where the support exceeds the bound; [`DecodeError::Inconsistent`] names the exponent of
    /// the first redundant sum that the others contradict.
    pub fn solve(
        &self,
        symbols: usize,
        sums: &[u8],
    ) -> Result<Vec<Vec<CubicElement>>, DecodeError> {
        check_count(self.code.payload_weights(symbols), sums.len())?;
        let mut payloads = vec![Vec::with_capacity(symbols); self.messages.len()];
        let mut rhs = Vec::with_capacity(self.code.bound());
        for j in 0..symbols {
            self.gather(sums, symbols, j, &mut rhs)?;
            // The sums start with the first power, the solver's with the zeroth: it finds x v.
            let products = self.solver.solve(&rhs).map_err(next_exponent)?;
            for ((payload, product), (_, inverse)) in
                payloads.iter_mut().zip(products).zip(&self.messages)
            {
                payload.push(Cubic.mul(product, *inverse));
            }
        }
        for (payload, &(index, _)) in payloads.iter_mut().zip(&self.messages) {
            self.code.unblind(index, payload);
        }
        Ok(payloads)
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
        return Err(DecodeError::SumCount { expected, found });
    }
    Ok(())
}

fn parse(exponent: usize, coefficients: [u8; 3]) -> Result<CubicElement, DecodeError> {
    let largest = coefficients.into_iter().fold(0, u8::max);
    CubicElement::from_coefficients(coefficients).ok_or(DecodeError::SumRange {
        exponent,
        modulus: P,
        found: u32::from(largest),
    })
}

/// The error with the exponent of the cubic code's sum in place of the solver's.
fn next_exponent(error: DecodeError) -> DecodeError {
    match error {
        DecodeError::Inconsistent(Inconsistency::Sum {
            exponent,
            expected,
            found,
        }) => DecodeError::Inconsistent(Inconsistency::Sum {
            exponent: exponent + 1,
            expected,
            found,
        }),
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
        let error = DecodeError::SumCount { expected, found };
        assert_eq!(code.find_support(&[0; 6]), Err(error));
        let range = |exponent, found| DecodeError::SumRange {
            exponent,
            modulus: 97,
            found,
        };
        assert_eq!(
            code.find_support(&[97, 0, 0, 0, 0, 0, 0]),
            Err(range(0, 97))
        );
        assert_eq!(
            code.find_support(&[1, 0, 0, 0, 0, 255, 0]),
            Err(range(2, 255))
        );
        assert_eq!(code.find_support(&[0; 7]), Ok(vec![]));
        let solver = code.solver(&[]).unwrap();
        assert_eq!(solver.solve(1, &[0, 0, 0, 0, 98, 0]), Err(range(2, 98)));
        let error = DecodeError::SumCount {
            expected: 6,
            found: 7,
        };
        assert_eq!(solver.solve(1, &[0; 7]), Err(error));
        assert_eq!(solver.solve(0, &[]), Ok(vec![]));
    }

    #[test]
    fn the_first_contradicting_exponent_is_named() {
        let code = code();
        let place = |index| CubicLocated {
            index,
            node: code.nodes().node(index),
        };
        let cause = |exponent, found| Inconsistency::Sum {
            exponent,
            expected: 0,
            found,
        };
        let solver = code.solver(&[]).unwrap();
        let error = solver.solve(1, &[0, 0, 0, 0, 2, 0]).unwrap_err();
        assert_eq!(error, cause(2, 194).into());
        let solver = code.solver(&[place(4)]).unwrap();
        let error = solver.solve(1, &[0, 0, 0, 1, 0, 0]).unwrap_err();
        assert_eq!(error, cause(2, 1).into());
        let error = DecodeError::TooFewSums {
            expected: 3,
            found: 2,
        };
        let solver = code.solver(&[place(4), place(5), place(6)]).unwrap();
        assert_eq!(solver.solve(1, &[0; 6]), Err(error));
    }

    #[test]
    fn bad_supports_are_named() {
        let code = code();
        let node = code.nodes().node(3);
        let zero = CubicElement::default();
        for (second, found) in [(node, Cubic.number(node)), (zero, 0)] {
            let support = [node, second].map(|node| CubicLocated { index: 3, node });
            let modulus = Cubic.size();
            let error = CodecError::Node {
                index: 1,
                modulus,
                found,
            };
            assert_eq!(code.solver(&support).unwrap_err(), error);
        }
    }
}
