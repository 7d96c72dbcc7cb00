//! Keyed factors of payload symbols, so that senders do not choose what is summed.

use super::element::CubicElement;
use super::field::Cubic;
use super::nodes::CUBIC_MESSAGES;
use super::permutation::below;
use crate::finite::FiniteField;
use crate::powers::Powers;

const DOMAIN: &str = "omr cubic units v1";
/// Words drawn at a time.
const BATCH: usize = 64;

/// The factor of symbol `j` of message `i` is `y^e`, with `e` below the group's order drawn from
/// the 64-bit word `j` of a stream keyed with the seed and `i`.
#[derive(Debug, Clone)]
pub(super) struct Units {
    key: [u8; 32],
}

impl Units {
    pub(super) fn new(seed: &[u8; 32]) -> Self {
        let key = blake3::derive_key(DOMAIN, seed);
        Self { key }
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

    /// Divides the symbols of message `index` by their factors.
    pub(super) fn divide(&self, powers: &Powers<Cubic>, index: u64, symbols: &mut [CubicElement]) {
        let order = CUBIC_MESSAGES as usize;
        self.apply(index, symbols, |exponent| powers.power(order - exponent));
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
