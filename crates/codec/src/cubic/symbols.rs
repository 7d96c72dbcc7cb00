//! Payload bytes to elements of the cubic field and back.

use super::element::{CubicElement, P};
use crate::error::CodecError;
use crate::symbols::Symbols;
use omr_errors::Mismatch;

/// The packing of payloads of one length: base-97 digits as of [`Symbols`], three to an element,
/// lowest coefficient first. A last element that is not full is filled with zeros.
///
/// 56 bytes are a block of 68 digits; 612 bytes are 744 digits, 248 elements.
#[derive(Debug, Clone)]
pub struct CubicSymbols {
    digits: Symbols,
}

impl CubicSymbols {
    /// Builds the packing of payloads of `payload_bytes` bytes.
    ///
    /// Errors: [`CodecError::PayloadBytes`] outside `1..=MAX_PAYLOAD_BYTES`.
    pub fn new(payload_bytes: usize) -> Result<Self, CodecError> {
        let digits = Symbols::new(P, payload_bytes)?;
        Ok(Self { digits })
    }

    /// Builds the packing of payloads of `payload_bytes` bytes with marks ([`Symbols::marked`]).
    ///
    /// Errors: [`CodecError::PayloadBytes`] outside `1..=MAX_PAYLOAD_BYTES`.
    pub fn marked(payload_bytes: usize) -> Result<Self, CodecError> {
        let digits = Symbols::marked(P, payload_bytes)?;
        Ok(Self { digits })
    }

    /// The symbols of one payload.
    pub fn count(&self) -> usize {
        self.digits.count().div_ceil(3)
    }

    /// The bytes of one payload.
    pub fn payload_bytes(&self) -> usize {
        self.digits.payload_bytes()
    }

    /// The symbols of `payload`.
    ///
    /// Shape:  `payload_bytes` bytes to `count` symbols.
    /// Errors: [`CodecError::PayloadLength`].
    pub fn pack(&self, payload: &[u8]) -> Result<Vec<CubicElement>, CodecError> {
        self.pack_marked(payload, 0)
    }

    /// The symbols of `payload` and `mark`; the mark is left out where payloads have none.
    ///
    /// Shape:  `payload_bytes` bytes to `count` symbols.
    /// Errors: [`CodecError::PayloadLength`].
    pub fn pack_marked(&self, payload: &[u8], mark: u32) -> Result<Vec<CubicElement>, CodecError> {
        let mut digits = vec![0; 3 * self.count()];
        let (packed, _) = digits.split_at_mut(self.digits.count());
        self.digits.pack_marked(payload, mark, packed)?;
        let (triples, _) = digits.as_chunks::<3>();
        Ok(triples
            .iter()
            .map(|&c| CubicElement::from_reduced(c))
            .collect())
    }

    /// The payload whose symbols are given; accepts exactly what [`CubicSymbols::pack`] returns.
    ///
    /// Errors: as of [`CubicSymbols::unpack_into`].
    pub fn unpack(&self, symbols: &[CubicElement]) -> Result<Vec<u8>, CodecError> {
        let mut payload = vec![0; self.payload_bytes()];
        self.unpack_into(symbols, &mut payload)?;
        Ok(payload)
    }

    /// [`CubicSymbols::unpack_marked_into`] without the mark.
    ///
    /// Errors: the same.
    pub fn unpack_into(
        &self,
        symbols: &[CubicElement],
        payload: &mut [u8],
    ) -> Result<(), CodecError> {
        self.unpack_marked_into(symbols, payload).map(|_| ())
    }

    /// Writes the payload whose symbols are given and returns its mark (0 where payloads have none).
    ///
    /// Shape:  `count` symbols to `payload_bytes` bytes.
    /// Errors: [`CodecError::SymbolCount`]; [`CodecError::PayloadLength`]; [`CodecError::NotCanonical`]
    /// for a block that holds more than its bytes can; [`CodecError::Padding`] for a last element not
    /// filled with zeros. Of these two, bytes are written all the same.
    pub fn unpack_marked_into(
        &self,
        symbols: &[CubicElement],
        payload: &mut [u8],
    ) -> Result<u32, CodecError> {
        let digits = self.digits(symbols)?;
        let (digits, padding) = digits.split_at(self.digits.count());
        let unpacked = self.digits.unpack_marked_into(digits, payload);
        match all_bits(padding) {
            0 => unpacked,
            found => Err(CodecError::Padding(found)),
        }
    }

    /// Writes the payload whose symbols are given and returns its mark (0 where payloads have none), and whether
    /// [`CubicSymbols::pack_marked`] returns these symbols. Time: constant.
    ///
    /// Shape:  `count` symbols to `payload_bytes` bytes.
    /// Errors: [`CodecError::SymbolCount`]; [`CodecError::PayloadLength`].
    pub fn unpack_lossy_into(
        &self,
        symbols: &[CubicElement],
        payload: &mut [u8],
    ) -> Result<(u32, bool), CodecError> {
        let digits = self.digits(symbols)?;
        let (digits, padding) = digits.split_at(self.digits.count());
        let (mark, canonical) = self.digits.unpack_lossy_into(digits, payload)?;
        Ok((mark, canonical & (all_bits(padding) == 0)))
    }

    /// The base-97 digits of symbols.
    ///
    /// Errors: [`CodecError::SymbolCount`].
    fn digits(&self, symbols: &[CubicElement]) -> Result<Vec<u32>, CodecError> {
        let (expected, found) = (self.count(), symbols.len());
        if expected != found {
            return Err(CodecError::SymbolCount(Mismatch::new(expected, found)));
        }
        Ok(symbols.iter().flat_map(|symbol| symbol.lanes()).collect())
    }
}

/// The bits that any of these digits has.
fn all_bits(digits: &[u32]) -> u32 {
    digits.iter().fold(0, |bits, &digit| bits | digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_612_bytes_is_248_symbols() {
        let symbols = CubicSymbols::new(612).unwrap();
        assert_eq!((symbols.count(), symbols.payload_bytes()), (248, 612));
        assert_eq!(symbols.digits.block(), (56, 68));
    }

    #[test]
    fn extreme_payloads_of_many_lengths_round_trip() {
        for bytes in (1..=130).chain([611, 612, 613]) {
            let symbols = CubicSymbols::new(bytes).unwrap();
            for fill in [0x00, 0x01, 0x80, 0xff] {
                let packed = symbols.pack(&vec![fill; bytes]).unwrap();
                assert_eq!(packed.len(), symbols.count());
                assert_eq!(symbols.unpack(&packed).unwrap(), vec![fill; bytes]);
            }
        }
    }

    #[test]
    fn shapes_and_padding_are_checked() {
        let symbols = CubicSymbols::new(1).unwrap(); // two digits
        let (expected, found) = (1, 2);
        let error = CodecError::PayloadLength(Mismatch::new(expected, found));
        assert_eq!(symbols.pack(&[0, 0]), Err(error));
        let zero = CubicElement::default();
        let error = CodecError::SymbolCount(Mismatch::new(expected, found));
        assert_eq!(symbols.unpack(&[zero, zero]), Err(error));
        let padded = CubicElement::from_reduced([1, 0, 5]);
        assert_eq!(symbols.unpack(&[padded]), Err(CodecError::Padding(5)));
        let large = CubicElement::from_reduced([96, 96, 0]);
        assert!(matches!(
            symbols.unpack(&[large]),
            Err(CodecError::NotCanonical { .. })
        ));
    }
}
