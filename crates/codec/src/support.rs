//! Recovers the set of nodes from its power sums, in a time that is independent of the set.
//!
//! Newton's identities give the polynomial of the bound's degree whose roots are the nodes, and
//! 0 for each place without a message. It is evaluated at the node of every message there is, and
//! those where it vanishes are moved, without branches, to as many places as the bound allows.

use crate::error::{DecodeError, Inconsistency};
use crate::finite::FiniteField;
use crate::fixed::{FirstDifference, equal};
use crate::recurrence::shortest;
use omr_errors::Mismatch;
use omr_marks::published;

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

/// The pertinent messages that power sums determine, in `bound` places: the messages found come first, in
/// the order of the candidates, and places without a message have node and label 0.
#[derive(Debug, Clone)]
pub struct Support<F: FiniteField> {
    field: F,
    labels: Vec<u32>,
    nodes: Vec<F::Element>,
    verdict: Verdict,
}

/// The figures that decide how many messages there are; kept secret until [`Support::count`].
#[derive(Debug, Clone, Copy)]
struct Verdict {
    /// The first sum: the number of messages modulo the characteristic.
    claimed: u32,
    /// Roots among the candidates.
    found: u32,
    /// The number of messages, where it is known apart from the first sum.
    total: Option<usize>,
    /// The first sum that the nodes found do not have.
    first: FirstDifference,
}

impl<F: FiniteField> Support<F> {
    /// Returns the number of messages. Time: depends on it.
    ///
    /// Errors: [`DecodeError::Overflow`] where they exceed the bound; [`DecodeError::Inconsistent`]
    /// where no set of candidates has these sums.
    pub fn count(&self) -> Result<usize, DecodeError> {
        // Public: callers come here when all places are filled, and act on the answer.
        let Verdict {
            claimed,
            found,
            total,
            first,
        } = published(self.verdict);
        let (claimed, found) = (claimed as usize, found as usize);
        let expected = total.unwrap_or(claimed);
        let bound = self.labels.len();
        let wraps = self.field.characteristic() as usize;
        let cause = match first.get() {
            _ if total.is_some() && expected % wraps != claimed => {
                Inconsistency::Counters(Mismatch::new(claimed, expected))
            }
            _ if expected > bound => {
                return Err(DecodeError::Overflow {
                    count: expected,
                    bound,
                });
            }
            _ if expected != found => Inconsistency::Roots(Mismatch::new(expected, found)),
            None => return Ok(found),
            Some((exponent, expected, found)) => {
                Inconsistency::Sum(exponent, Mismatch::new(expected, found))
            }
        };
        Err(cause.into())
    }

    /// The numbers of the messages among the candidates. Shape: `bound`.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The nodes of the messages found, then zeros. Shape: `bound`.
    pub fn nodes(&self) -> &[F::Element] {
        &self.nodes
    }

    /// The field of the nodes.
    pub fn field(&self) -> &F {
        &self.field
    }
}

/// Goes through the candidates and keeps those whose nodes are roots.
#[derive(Debug)]
pub(crate) struct Search<F: FiniteField> {
    field: F,
    sums: Vec<F::Element>,
    labels: Vec<u32>,
    /// Numbers of nodes.
    nodes: Vec<u32>,
    candidates: u32,
    found: u32,
    /// The number of messages, where it is known apart from the first sum.
    total: Option<usize>,
}

impl<F: FiniteField> Search<F> {
    /// Starts from the sums of `x^e`, at least those of `e` up to `bound`.
    ///
    /// Errors: [`DecodeError::SumRange`]; [`DecodeError::TooFewSums`].
    pub(crate) fn new(field: F, sums: Vec<F::Element>, bound: usize) -> Result<Self, DecodeError> {
        if let Some((exponent, found)) = field.first_out_of_range(&sums) {
            return Err(DecodeError::SumRange(
                exponent,
                Mismatch::new(field.size(), found),
            ));
        }
        let (expected, found) = (bound.saturating_add(1), sums.len());
        if found < expected {
            return Err(DecodeError::TooFewSums(Mismatch::new(expected, found)));
        }
        Ok(Self {
            field,
            sums,
            labels: vec![0; bound],
            nodes: vec![0; bound],
            candidates: 0,
            found: 0,
            total: None,
        })
    }

    /// Sets the number of messages from exact counters; the first power sum gives it only modulo
    /// the characteristic.
    pub(crate) fn counted(&mut self, total: usize) {
        self.total = Some(total);
    }

    /// The polynomial that vanishes at the pertinent nodes.
    ///
    /// Range: a bound below the field's characteristic.
    pub(crate) fn locator(&self) -> Vec<F::Element> {
        locator(&self.field, &self.sums[..=self.labels.len()])
    }

    /// The polynomial that vanishes at the pertinent nodes, by a recurrence from twice as many
    /// sums, for a bound not below the field's characteristic.
    ///
    /// Shape: `2 bound + 1` sums at least.
    pub(crate) fn recurrence(&self) -> Vec<F::Element> {
        shortest(&self.field, &self.sums[1..=2 * self.labels.len()])
    }

    /// Looks at the next candidate: `root` is all ones where the locator vanishes at its node.
    #[inline]
    pub(crate) fn candidate(&mut self, root: u32, node: F::Element) {
        let node = self.field.number(node);
        let places = self.labels.iter_mut().zip(&mut self.nodes);
        for (place, (label, kept)) in (0..).zip(places) {
            let here = root & equal(place, self.found);
            *label |= here & self.candidates;
            *kept |= here & node;
        }
        self.found = self.found.wrapping_add(root & 1);
        self.candidates += 1;
    }

    /// Returns the messages that were found, checked against all sums.
    pub(crate) fn finish(self) -> Support<F> {
        let Self { field, sums, .. } = &self;
        let nodes: Vec<_> = self.nodes.iter().map(|&n| field.element(n)).collect();
        let expected = power_sums(field, &nodes, sums.len());
        let mut first = FirstDifference::default();
        // The first sum counts; empty places would be counted as 0^0.
        for (e, (&expected, &found)) in (0..).zip(expected.iter().zip(sums)).skip(1) {
            first.compare(e, field.number(expected), field.number(found));
        }
        Support {
            verdict: Verdict {
                claimed: field.number(sums[0]),
                found: self.found,
                total: self.total,
                first,
            },
            field: self.field,
            labels: self.labels,
            nodes,
        }
    }
}

/// The monic polynomial whose roots have the given power sums, by Newton's identities. The first
/// sum is not looked at: for fewer nodes than the degree it has 0 as its other roots.
///
/// Shape: `k + 1` sums to `k + 1` coefficients, constant term first; needs `k` below the
/// characteristic.
fn locator<F: FiniteField>(field: &F, sums: &[F::Element]) -> Vec<F::Element> {
    let degree = sums.len() - 1;
    let inverses = small_inverses(field, degree);
    let newest_first: Vec<_> = sums[1..].iter().rev().copied().collect();
    let mut down = vec![field.scalar(1)]; // coefficients from x^k down: c_0 = 1, c_1, ...
    for k in 1..=degree {
        // k c_k = -(c_0 s_k + c_1 s_(k-1) + ... + c_(k-1) s_1)
        let sum = field.dot(&down, &newest_first[degree - k..]);
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
