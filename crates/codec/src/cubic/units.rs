//! Keyed factors of payload symbols, so that senders do not choose what is summed.

use super::element::CubicElement;
use super::field::Cubic;
use super::nodes::CUBIC_MESSAGES;
use crate::draws::below;
use crate::finite::FiniteField;
use crate::powers::Powers;
use subtle::{Choice, ConditionallySelectable};

const DOMAIN: &str = "omr cubic units v1";
/// Words drawn at a time.
const BATCH: usize = 64;
/// Bits of an exponent.
const BITS: usize = 20;

/// The factor of symbol `j` of message `i` is `y^e`, with `e` below the group's order drawn from
/// the 64-bit word `j` of a stream keyed with the seed and `i`.
#[derive(Debug, Clone)]
pub(super) struct Units {
    key: [u8; 32],
    /// `y^-(2^i)`.
    inverse_squares: Vec<CubicElement>,
}

impl Units {
    pub(super) fn new(seed: &[u8; 32]) -> Self {
        let square = |&power: &CubicElement| Some(Cubic.mul(power, power));
        let first = Cubic.inv_or_zero(Cubic.generator());
        Self {
            key: blake3::derive_key(DOMAIN, seed),
            inverse_squares: std::iter::successors(Some(first), square)
                .take(BITS)
                .collect(),
        }
    }

    /// Multiplies the symbols of message `index` by their factors.
    pub(super) fn multiply(
        &self,
        powers: &Powers<Cubic>,
        index: u64,
        symbols: &mut [CubicElement],
    ) {
        self.apply(index, symbols, |exponent| powers.power(exponent));
    }

    /// Divides the symbols of message `index` by their factors. Time: independent of the index, and
    /// without tables, whose cached lines would reveal it.
    pub(super) fn divide(&self, index: u64, symbols: &mut [CubicElement]) {
        self.apply(index, symbols, |exponent| self.inverse_power(exponent));
    }

    /// `y^-exponent`, in fixed time.
    fn inverse_power(&self, exponent: usize) -> CubicElement {
        let one = Cubic.scalar(1);
        let squares = self.inverse_squares.iter().enumerate();
        squares.fold(one, |power, (i, &square)| {
            let bit = Choice::from((exponent >> i) as u8 & 1);
            Cubic.mul(power, CubicElement::conditional_select(&one, &square, bit))
        })
    }

    fn apply(
        &self,
        index: u64,
        symbols: &mut [CubicElement],
        factor: impl Fn(usize) -> CubicElement,
    ) {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let mut stream = hasher.update(&index.to_le_bytes()).finalize_xof();
        let mut bytes = [0; 8 * BATCH];
        for symbols in symbols.chunks_mut(BATCH) {
            stream.fill(&mut bytes);
            for (symbol, word) in symbols.iter_mut().zip(bytes.as_chunks::<8>().0) {
                let exponent = below(u64::from_le_bytes(*word), CUBIC_MESSAGES);
                *symbol = Cubic.mul(*symbol, factor(exponent as usize));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_powers() {
        let units = Units::new(&[0; 32]);
        for exponent in [0, 1, 2, 3, 96, 524_288, 912_671, 912_672] {
            let power = Cubic.pow(Cubic.generator(), exponent);
            let inverse = units.inverse_power(exponent as usize);
            assert_eq!(Cubic.mul(power, inverse), Cubic.scalar(1));
        }
        const { assert!(CUBIC_MESSAGES < 1 << BITS) };
    }
}
