//! Payload bytes to field symbols and back.
//!
//! A payload is cut into blocks; the last one may be shorter. Each block is a little-endian
//! integer written in base `p`, least significant symbol first, with the least number of symbols
//! that holds any block of its length.
//!
//! The block length is, of 8, 16, ..., 64 bytes, the one with the fewest symbols a byte, and the
//! shortest of these. For `p = 786433`: 56 bytes in 23 symbols, so 612 bytes in 252.

use crate::error::CodecError;
use crate::field::Field;
use crate::finite::FiniteField;
use crate::radix::{BLOCK_LIMBS, Radix, VALUE_LIMBS, bit_length, digits_by_bytes};

/// The longest payload a packing can be built for, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// The packing of payloads of one length into symbols of one field.
#[derive(Debug, Clone)]
pub struct Symbols {
    radix: Radix,
    payload_bytes: usize,
    block_bytes: usize,
    block_symbols: usize,
    count: usize,
}

impl Symbols {
    /// Builds the packing of payloads of `payload_bytes` bytes modulo `p`.
    ///
    /// Errors: [`CodecError::Modulus`]; [`CodecError::PayloadBytes`] outside
    /// `1..=MAX_PAYLOAD_BYTES`.
    pub fn new(p: u32, payload_bytes: usize) -> Result<Self, CodecError> {
        let field = Field::new(p)?;
        if !(1..=MAX_PAYLOAD_BYTES).contains(&payload_bytes) {
            let limit = MAX_PAYLOAD_BYTES;
            return Err(CodecError::PayloadBytes {
                limit,
                found: payload_bytes,
            });
        }
        let symbols = digits_by_bytes(p, 8 * BLOCK_LIMBS);
        let block_bytes = best_block(&symbols);
        let block_symbols = symbols[block_bytes];
        let last = symbols[payload_bytes % block_bytes];
        let count = payload_bytes / block_bytes * block_symbols + last;
        Ok(Self {
            radix: Radix::new(field),
            payload_bytes,
            block_bytes,
            block_symbols,
            count,
        })
    }

    /// The symbols of one payload.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of one payload.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// The bytes of a whole block and its symbols.
    pub fn block(&self) -> (usize, usize) {
        (self.block_bytes, self.block_symbols)
    }

    /// Writes the symbols of `payload` to `out`.
    ///
    /// Shape:  `payload_bytes` bytes to `count` symbols.   Range: out `[0, p)`.
    /// Errors: [`CodecError::PayloadLength`], [`CodecError::SymbolCount`].
    pub fn pack(&self, payload: &[u8], out: &mut [u32]) -> Result<(), CodecError> {
        self.check_length(payload.len())?;
        self.check_count(out.len())?;
        let blocks = payload.chunks(self.block_bytes);
        for (bytes, symbols) in blocks.zip(out.chunks_mut(self.block_symbols)) {
            let mut limbs = [0; BLOCK_LIMBS];
            let used = load_limbs(bytes, &mut limbs);
            self.radix.write_digits(&mut limbs[..used], symbols);
        }
        Ok(())
    }

    /// The payload whose symbols are given; accepts exactly what [`Symbols::pack`] writes.
    ///
    /// Errors: as of [`Symbols::unpack_into`].
    pub fn unpack(&self, symbols: &[u32]) -> Result<Vec<u8>, CodecError> {
        let mut payload = vec![0; self.payload_bytes];
        self.unpack_into(symbols, &mut payload)?;
        Ok(payload)
    }

    /// Writes the payload whose symbols are given, in a time that does not depend on them.
    ///
    /// Shape:  `count` symbols to `payload_bytes` bytes.
    /// Errors: [`CodecError::SymbolCount`]; [`CodecError::PayloadLength`]; [`CodecError::SymbolRange`]
    /// for a symbol not below `p`; [`CodecError::NotCanonical`] for a block that holds more than its
    /// bytes can, whose lower bytes are written all the same.
    pub fn unpack_into(&self, symbols: &[u32], payload: &mut [u8]) -> Result<(), CodecError> {
        self.check_count(symbols.len())?;
        self.check_length(payload.len())?;
        let field = self.radix.field();
        if let Some((index, found)) = field.first_out_of_range(symbols) {
            return Err(CodecError::SymbolRange {
                index,
                modulus: field.modulus(),
                found,
            });
        }
        let mut excess = 0;
        let blocks = payload.chunks_mut(self.block_bytes);
        for (bytes, symbols) in blocks.zip(symbols.chunks(self.block_symbols)) {
            let limbs = self.radix.read_digits(symbols);
            excess |= beyond(&limbs, 8 * bytes.len());
            for (bytes, limb) in bytes.chunks_mut(8).zip(limbs) {
                bytes.copy_from_slice(&limb.to_le_bytes()[..bytes.len()]);
            }
        }
        match excess {
            0 => Ok(()),
            _ => Err(self.not_canonical(symbols)),
        }
    }

    /// The first block with a number too large; there is one.
    fn not_canonical(&self, symbols: &[u32]) -> CodecError {
        let expected = |block| {
            let before = block * self.block_bytes;
            8 * self.block_bytes.min(self.payload_bytes - before) as u32
        };
        let blocks = symbols.chunks(self.block_symbols).enumerate();
        let bits = blocks.map(|(block, symbols)| {
            let found = bit_length(&self.radix.read_digits(symbols));
            (block, expected(block), found)
        });
        let first = bits
            .into_iter()
            .find(|(_, expected, found)| found > expected);
        let (block, expected_bits, found_bits) = first.unwrap_or_default();
        CodecError::NotCanonical {
            block,
            expected_bits,
            found_bits,
        }
    }

    fn check_length(&self, found: usize) -> Result<(), CodecError> {
        match found == self.payload_bytes {
            true => Ok(()),
            false => Err(CodecError::PayloadLength {
                expected: self.payload_bytes,
                found,
            }),
        }
    }

    fn check_count(&self, found: usize) -> Result<(), CodecError> {
        if found != self.count {
            return Err(CodecError::SymbolCount {
                expected: self.count,
                found,
            });
        }
        Ok(())
    }
}

/// The bits of a number from bit `bits` on, put together: 0 iff it has no more. Range: `bits` at most
/// `64 * BLOCK_LIMBS`.
fn beyond(limbs: &[u64; VALUE_LIMBS], bits: usize) -> u64 {
    let rest = &limbs[bits / 64..];
    rest[1..].iter().fold(rest[0] >> (bits % 64), |a, &b| a | b)
}

/// The whole-limb block length with the fewest symbols a byte, the shortest of these.
fn best_block(symbols: &[usize]) -> usize {
    let mut best = 8;
    for bytes in (8..symbols.len()).step_by(8) {
        // symbols/bytes < best symbols/best bytes, without fractions
        if symbols[bytes] * best < symbols[best] * bytes {
            best = bytes;
        }
    }
    best
}

/// Reads at most 64 little-endian bytes; returns the limbs used.
#[inline]
fn load_limbs(bytes: &[u8], limbs: &mut [u64; BLOCK_LIMBS]) -> usize {
    let (whole, tail) = bytes.as_chunks::<8>();
    for (limb, bytes) in limbs.iter_mut().zip(whole) {
        *limb = u64::from_le_bytes(*bytes);
    }
    for (i, &byte) in tail.iter().enumerate() {
        limbs[whole.len()] |= u64::from(byte) << (8 * i);
    }
    bytes.len().div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_rule() {
        let symbols = Symbols::new(786_433, 612).unwrap();
        assert_eq!((symbols.block(), symbols.count()), ((56, 23), 252));
        assert_eq!(Symbols::new(65_537, 612).unwrap().block(), (8, 4));
    }

    #[test]
    fn lengths_are_checked() {
        let limit = MAX_PAYLOAD_BYTES;
        for found in [0, limit + 1] {
            let error = Symbols::new(786_433, found).unwrap_err();
            assert_eq!(error, CodecError::PayloadBytes { limit, found });
        }
        let symbols = Symbols::new(786_433, 10).unwrap();
        let mut out = vec![0; symbols.count()];
        let error = symbols.pack(&[0; 9], &mut out).unwrap_err();
        assert_eq!(
            error,
            CodecError::PayloadLength {
                expected: 10,
                found: 9
            }
        );
        let (expected, found) = (symbols.count(), symbols.count() - 1);
        let error = symbols.pack(&[0; 10], &mut out[1..]).unwrap_err();
        assert_eq!(error, CodecError::SymbolCount { expected, found });
        assert_eq!(
            symbols.unpack(&out[1..]),
            Err(CodecError::SymbolCount { expected, found })
        );
    }

    #[test]
    fn only_canonical_symbols_unpack() {
        let symbols = Symbols::new(786_433, 57).unwrap();
        let mut row = vec![0; 24];
        row[23] = 255;
        assert_eq!(symbols.unpack(&row).unwrap()[56], 255);
        row[23] = 256;
        let error = CodecError::NotCanonical {
            block: 1,
            expected_bits: 8,
            found_bits: 9,
        };
        assert_eq!(symbols.unpack(&row), Err(error));
        row[23] = 786_433;
        let error = CodecError::SymbolRange {
            index: 23,
            modulus: 786_433,
            found: 786_433,
        };
        assert_eq!(symbols.unpack(&row), Err(error));
        let error = CodecError::NotCanonical {
            block: 0,
            expected_bits: 448,
            found_bits: 451,
        };
        assert_eq!(symbols.unpack(&[786_432; 24]), Err(error));
    }

    #[test]
    fn extreme_payloads_round_trip_modulo_any_prime() {
        for p in [
            3,
            5,
            17,
            257,
            65_521,
            65_537,
            786_433,
            1_073_741_827,
            2_147_483_647,
        ] {
            for bytes in [1, 7, 8, 9, 63, 64, 65, 129] {
                let symbols = Symbols::new(p, bytes).unwrap();
                for fill in [0x00, 0x01, 0x80, 0xff] {
                    let mut row = vec![u32::MAX; symbols.count()];
                    symbols.pack(&vec![fill; bytes], &mut row).unwrap();
                    assert!(row.iter().all(|&symbol| symbol < p));
                    assert_eq!(symbols.unpack(&row).unwrap(), vec![fill; bytes]);
                }
            }
        }
    }
}
