//! The code of one digest: its bound, its nodes, and what the detector adds.

use super::element::CubicElement;
use super::nodes::CubicNodes;
use super::units::Units;
use super::weights::{index_weights, payload_weights};
use crate::error::CodecError;
use omr_errors::Mismatch;

/// The largest bound.
pub const CUBIC_BOUND: usize = 4096;

/// The largest bound for which as many power sums as messages suffice: Newton's identities divide by the
/// numbers up to it, modulo 97. Above it there are twice as many, which obey a recurrence; and the first sum,
/// the number of messages modulo 97, is ambiguous alone: see [`CubicCounters`](crate::CubicCounters).
pub const CUBIC_NEWTON_BOUND: usize = 96;

/// A sparse-recovery code over [`Cubic`](crate::Cubic) for up to `k` pertinent messages.
///
/// For message `i` with node `x` the detector adds, modulo 97 and only where it is pertinent,
/// * the index weights: a counter and the coefficients of `x^t`, with `t` from 1 to `k`, or to `2k` above
///   [`CUBIC_NEWTON_BOUND`];
/// * the payload weights: the coefficients of `x^t v_j` for every blinded payload symbol `v_j`, with `t` from
///   1 to `k`.
///
/// The recipient calls [`CubicCode::find_counted`] and
/// [`CubicCode::solver`].
#[derive(Debug, Clone)]
pub struct CubicCode {
    nodes: CubicNodes,
    units: Units,
    bound: usize,
}

impl CubicCode {
    /// Builds the code for at most `bound` pertinent messages.
    ///
    /// Sums decode only with the seed and the bound that they were made with.
    /// Errors: [`CodecError::Bound`] outside `1..=CUBIC_BOUND`.
    pub fn new(seed: &[u8; 32], bound: usize) -> Result<Self, CodecError> {
        if !(1..=CUBIC_BOUND).contains(&bound) {
            let limit = CUBIC_BOUND;
            return Err(CodecError::Bound(Mismatch::new(limit, bound)));
        }
        let (nodes, units) = (CubicNodes::new(seed), Units::new(seed));
        Ok(Self {
            nodes,
            units,
            bound,
        })
    }

    /// The nodes of the messages.
    pub fn nodes(&self) -> &CubicNodes {
        &self.nodes
    }

    /// The bound `k`.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// The number of power sums of the index: `k`, above [`CUBIC_NEWTON_BOUND`] `2k`.
    pub fn powers(&self) -> usize {
        if self.bound <= CUBIC_NEWTON_BOUND {
            self.bound
        } else {
            2 * self.bound
        }
    }

    /// The number of index weights of a message: three for each power sum, and 1.
    pub fn index_weights(&self) -> usize {
        3 * self.powers() + 1
    }

    /// The number of payload weights of a message of `symbols` symbols: `3k` each.
    pub fn payload_weights(&self, symbols: usize) -> usize {
        symbols.saturating_mul(3 * self.bound)
    }

    /// Writes 1, then for `t` from 1 to [`CubicCode::powers`] the three coefficients of `node^t`.
    ///
    /// Shape:  [`CubicCode::index_weights`] values.   Range: out `[0, 97)`.
    /// Panics: on length mismatch.
    pub fn index_weights_into(&self, node: CubicElement, out: &mut [u8]) {
        assert_eq!(out.len(), self.index_weights(), "index weights");
        index_weights(node, out);
    }

    /// Multiplies the payload symbols of message `index` by their keyed factors, which the
    /// recipient takes off again. Without the seed nobody chooses the products.
    pub fn blind(&self, index: u64, symbols: &mut [CubicElement]) {
        self.units.multiply(self.nodes.powers(), index, symbols);
    }

    /// Writes the coefficients of `node^t v_j` for the blinded symbols `v_j` of one message.
    ///
    /// Shape:  [`CubicCode::payload_weights`] values: for `t` from 1 to `k`, for each of the three
    /// coefficients, one row over all symbols.   Range: out `[0, 97)`.
    /// Panics: on length mismatch.
    pub fn payload_weights_into(
        &self,
        node: CubicElement,
        symbols: &[CubicElement],
        out: &mut [u8],
    ) {
        assert_eq!(
            out.len(),
            self.payload_weights(symbols.len()),
            "payload weights"
        );
        payload_weights(node, symbols, out);
    }

    /// Divides the symbols of message `index` by their keyed factors.
    pub(super) fn unblind(&self, index: u64, symbols: &mut [CubicElement]) {
        self.units.divide(index, symbols);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cubic::field::Cubic;
    use crate::finite::FiniteField;

    #[test]
    fn bounds_are_checked() {
        for found in [0, 4097, usize::MAX] {
            let error = CubicCode::new(&[0; 32], found).unwrap_err();
            assert_eq!(error, CodecError::Bound(Mismatch::new(4096, found)));
        }
        for (bound, index, payload) in [(96, 289, 71_424), (97, 583, 72_168)] {
            let code = CubicCode::new(&[0; 32], bound).unwrap();
            let sizes = (code.index_weights(), code.payload_weights(248));
            assert_eq!((code.bound(), sizes), (bound, (index, payload)));
        }
    }

    #[test]
    fn blinding_is_keyed_and_comes_off() {
        let code = CubicCode::new(&[1; 32], 1).unwrap();
        let other = CubicCode::new(&[2; 32], 1).unwrap();
        let plain: Vec<_> = (0..300).map(|j| Cubic.element(j)).collect();
        let blinded = |code: &CubicCode, index| {
            let mut symbols = plain.clone();
            code.blind(index, &mut symbols);
            symbols
        };
        let mut symbols = blinded(&code, 5);
        assert_eq!(symbols[0], CubicElement::default());
        for different in [plain.clone(), blinded(&code, 6), blinded(&other, 5)] {
            let same = |(a, b): &(&CubicElement, &CubicElement)| a == b;
            assert!(symbols.iter().zip(&different).filter(same).count() < 5);
        }
        assert_eq!(symbols[..65], {
            let mut first = plain[..65].to_vec();
            code.blind(5, &mut first);
            first
        });
        code.unblind(5, &mut symbols);
        assert_eq!(symbols, plain);
    }
}
