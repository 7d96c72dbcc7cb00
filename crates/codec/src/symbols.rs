//! Payload bytes to field symbols and back.
//!
//! A payload is cut into blocks; the last one may be shorter. Each block is a little-endian
//! integer written in base `p`, least significant symbol first, with the least number of symbols
//! that holds any block of its length.
//!
//! The block length is, of 8, 16, ..., 64 bytes, the one with the fewest symbols a byte, and the
//! shortest of these. For `p = 786433`: 56 bytes in 23 symbols, so 612 bytes in 252.
//!
//! A number of 32 bits, a *mark*, may stand beside a payload: its bits, lowest first, fill what blocks leave free
//! above their bytes, block by block; what is left of it follows in symbols of its own. For `p = 786433` the
//! blocks of 612 bytes leave 34 bits free: a mark takes no symbol more.

use crate::error::CodecError;
use crate::field::Field;
use crate::finite::FiniteField;
use crate::radix::{BLOCK_LIMBS, Radix, VALUE_LIMBS, bit_length, bits_of_digits, digits_by_bytes};
use omr_errors::Mismatch;

/// The longest payload a packing can be built for, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Bits of a mark.
const MARK_BITS: u32 = u32::BITS;

/// The packing of payloads of one length into symbols of one field.
#[derive(Debug, Clone)]
pub struct Symbols {
    radix: Radix,
    payload_bytes: usize,
    block_bytes: usize,
    block_symbols: usize,
    count: usize,
    mark: MarkShape,
}

/// The place of a mark's bits; all 0 where payloads have none.
#[derive(Debug, Clone, Copy, Default)]
struct MarkShape {
    /// Bits of a block that are free for it: of a whole one and of the last, shorter one.
    free: [u32; 2],
    /// Bits in all.
    bits: u32,
    /// Symbols behind the blocks.
    symbols: usize,
}

/// The bits of a mark that are not placed, or not read, yet.
struct MarkBits {
    bits: u64,
    done: u32,
    all: u32,
}

impl MarkBits {
    /// How many go to a place with `free` bits.
    fn here(&self, free: u32) -> u32 {
        free.min(self.all - self.done)
    }

    fn take(&mut self, free: u32) -> u64 {
        let here = self.here(free);
        let bits = (self.bits >> self.done) & ((1 << here) - 1);
        self.done += here;
        bits
    }

    fn put(&mut self, free: u32, bits: u64) {
        self.bits |= bits << self.done;
        self.done += self.here(free);
    }
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
            return Err(CodecError::PayloadBytes(Mismatch::new(
                limit,
                payload_bytes,
            )));
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
            mark: MarkShape::default(),
        })
    }

    /// Builds the packing of payloads of `payload_bytes` bytes modulo `p`, with marks.
    ///
    /// Errors: those of [`Symbols::new`].
    pub fn marked(p: u32, payload_bytes: usize) -> Result<Self, CodecError> {
        let plain = Self::new(p, payload_bytes)?;
        let whole = payload_bytes / plain.block_bytes;
        let last = payload_bytes % plain.block_bytes;
        let last_symbols = plain.count - whole * plain.block_symbols;
        let free = [
            bits_of_digits(p, plain.block_symbols) - 8 * plain.block_bytes as u32,
            bits_of_digits(p, last_symbols) - 8 * last as u32,
        ];
        let in_blocks = whole * free[0] as usize + free[1] as usize;
        let rest = (MARK_BITS as usize).saturating_sub(in_blocks) as u32;
        let fits = |&symbols: &usize| bits_of_digits(p, symbols) >= rest;
        let symbols = (0..).find(fits).unwrap_or(0);
        Ok(Self {
            count: plain.count + symbols,
            mark: MarkShape {
                free,
                bits: MARK_BITS,
                symbols,
            },
            ..plain
        })
    }

    /// Bits of a block of `bytes` that are free for a mark.
    fn free(&self, bytes: usize) -> u32 {
        self.mark.free[usize::from(bytes < self.block_bytes)]
    }

    /// The symbols of one payload.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The modulus.
    pub fn modulus(&self) -> u32 {
        self.radix.field().modulus()
    }

    /// The lowest digits of a word in base `p`, the least significant first. Time: constant.
    pub fn low_digits<const N: usize>(&self, mut word: u64) -> [u32; N] {
        std::array::from_fn(|_| {
            let (rest, digit) = self.radix.field().div_rem(word);
            word = rest;
            digit
        })
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
        self.pack_marked(payload, 0, out)
    }

    /// Writes the symbols of `payload` and `mark` to `out`; the mark is left out where payloads
    /// have none.
    ///
    /// Shape:  `payload_bytes` bytes to `count` symbols.   Range: out `[0, p)`.
    /// Errors: [`CodecError::PayloadLength`], [`CodecError::SymbolCount`].
    pub fn pack_marked(
        &self,
        payload: &[u8],
        mark: u32,
        out: &mut [u32],
    ) -> Result<(), CodecError> {
        self.check_length(payload.len())?;
        self.check_count(out.len())?;
        let mut mark = self.mark_bits(mark.into());
        let (blocks, rest) = out.split_at_mut(self.count - self.mark.symbols);
        let symbols = blocks.chunks_mut(self.block_symbols);
        for (bytes, symbols) in payload.chunks(self.block_bytes).zip(symbols) {
            let mut limbs = [0; VALUE_LIMBS];
            load_limbs(bytes, &mut limbs);
            let above = mark.take(self.free(bytes.len()));
            add_bits(&mut limbs, 8 * bytes.len(), above);
            let used = (8 * bytes.len() + self.free(bytes.len()) as usize).div_ceil(64);
            self.radix.write_digits(&mut limbs[..used], symbols);
        }
        let mut left = mark.take(MARK_BITS);
        for symbol in rest {
            (left, *symbol) = self.radix.field().div_rem(left);
        }
        Ok(())
    }

    fn mark_bits(&self, bits: u64) -> MarkBits {
        MarkBits {
            bits,
            done: 0,
            all: self.mark.bits,
        }
    }

    /// The payload whose symbols are given; accepts exactly what [`Symbols::pack`] writes.
    ///
    /// Errors: as of [`Symbols::unpack_into`].
    pub fn unpack(&self, symbols: &[u32]) -> Result<Vec<u8>, CodecError> {
        let mut payload = vec![0; self.payload_bytes];
        self.unpack_into(symbols, &mut payload)?;
        Ok(payload)
    }

    /// [`Symbols::unpack_marked_into`] without the mark.
    ///
    /// Errors: the same.
    pub fn unpack_into(&self, symbols: &[u32], payload: &mut [u8]) -> Result<(), CodecError> {
        self.unpack_marked_into(symbols, payload).map(|_| ())
    }

    /// Writes the payload whose symbols are given and returns its mark (0 where payloads have none).
    ///
    /// Shape:  `count` symbols to `payload_bytes` bytes.
    /// Errors: those of [`Symbols::unpack_lossy_into`]; [`CodecError::NotCanonical`] for a block that holds more than
    /// its bytes can, whose lower bytes are written all the same.
    pub fn unpack_marked_into(
        &self,
        symbols: &[u32],
        payload: &mut [u8],
    ) -> Result<u32, CodecError> {
        match self.unpack_lossy_into(symbols, payload)? {
            (mark, true) => Ok(mark),
            (_, false) => Err(self.not_canonical(symbols)),
        }
    }

    /// Writes the payload whose symbols are given and returns its mark (0 where payloads have none), and whether
    /// [`Symbols::pack_marked`] writes these symbols: otherwise a block holds more than its bytes can, and the lower
    /// bytes were written. Time: constant.
    ///
    /// Shape:  `count` symbols to `payload_bytes` bytes.
    /// Errors: [`CodecError::SymbolCount`]; [`CodecError::PayloadLength`]; [`CodecError::SymbolRange`]
    /// for a symbol not below `p`.
    pub fn unpack_lossy_into(
        &self,
        symbols: &[u32],
        payload: &mut [u8],
    ) -> Result<(u32, bool), CodecError> {
        self.check_count(symbols.len())?;
        self.check_length(payload.len())?;
        let field = self.radix.field();
        if let Some((index, found)) = field.first_out_of_range(symbols) {
            return Err(CodecError::SymbolRange(
                index,
                Mismatch::new(field.modulus(), found),
            ));
        }
        let mut excess = 0;
        let mut mark = self.mark_bits(0);
        let (body, rest) = symbols.split_at(self.count - self.mark.symbols);
        let blocks = payload.chunks_mut(self.block_bytes);
        for (bytes, symbols) in blocks.zip(body.chunks(self.block_symbols)) {
            let limbs = self.radix.read_digits(symbols);
            let free = self.free(bytes.len());
            let here = mark.here(free);
            mark.put(free, bits_at(&limbs, 8 * bytes.len(), here));
            excess |= beyond(&limbs, 8 * bytes.len() + here as usize);
            for (bytes, limb) in bytes.chunks_mut(8).zip(limbs) {
                bytes.copy_from_slice(&limb.to_le_bytes()[..bytes.len()]);
            }
        }
        let limbs = self.radix.read_digits(rest);
        let here = mark.here(MARK_BITS);
        mark.put(MARK_BITS, bits_at(&limbs, 0, here));
        excess |= beyond(&limbs, here as usize);
        Ok((mark.bits as u32, excess == 0))
    }

    /// The first block with a number too large; there is one.
    fn not_canonical(&self, symbols: &[u32]) -> CodecError {
        let (body, rest) = symbols.split_at(self.count - self.mark.symbols);
        let mut mark = self.mark_bits(0);
        let blocks = body.chunks(self.block_symbols).enumerate();
        let mut bits = Vec::new();
        for (block, symbols) in blocks {
            let bytes = self
                .block_bytes
                .min(self.payload_bytes - block * self.block_bytes);
            let free = self.free(bytes);
            let expected = 8 * bytes as u32 + mark.here(free);
            mark.put(free, 0);
            bits.push((
                block,
                expected,
                bit_length(&self.radix.read_digits(symbols)),
            ));
        }
        let found = bit_length(&self.radix.read_digits(rest));
        bits.push((bits.len(), mark.here(MARK_BITS), found));
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
        if found == self.payload_bytes {
            Ok(())
        } else {
            Err(CodecError::PayloadLength(Mismatch::new(
                self.payload_bytes,
                found,
            )))
        }
    }

    fn check_count(&self, found: usize) -> Result<(), CodecError> {
        if found != self.count {
            return Err(CodecError::SymbolCount(Mismatch::new(self.count, found)));
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

/// Adds up to 31 bits from bit `at` on, which is a multiple of 8.
fn add_bits(limbs: &mut [u64; VALUE_LIMBS], at: usize, bits: u64) {
    let wide = u128::from(bits) << (at % 64);
    limbs[at / 64] |= wide as u64;
    if let Some(next) = limbs.get_mut(at / 64 + 1) {
        *next |= (wide >> 64) as u64;
    }
}

/// `count` bits from bit `at` on. Range: `count` at most 32.
fn bits_at(limbs: &[u64; VALUE_LIMBS], at: usize, count: u32) -> u64 {
    let next = limbs.get(at / 64 + 1).copied().unwrap_or(0);
    let wide = u128::from(limbs[at / 64]) | (u128::from(next) << 64);
    (wide >> (at % 64)) as u64 & ((1 << count) - 1)
}

/// Reads at most 64 little-endian bytes.
#[inline]
fn load_limbs(bytes: &[u8], limbs: &mut [u64; VALUE_LIMBS]) {
    let (whole, tail) = bytes.as_chunks::<8>();
    for (limb, bytes) in limbs.iter_mut().zip(whole) {
        *limb = u64::from_le_bytes(*bytes);
    }
    for (i, &byte) in tail.iter().enumerate() {
        limbs[whole.len()] |= u64::from(byte) << (8 * i);
    }
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
            assert_eq!(error, CodecError::PayloadBytes(Mismatch::new(limit, found)));
        }
        let symbols = Symbols::new(786_433, 10).unwrap();
        let mut out = vec![0; symbols.count()];
        let error = symbols.pack(&[0; 9], &mut out).unwrap_err();
        assert_eq!(error, CodecError::PayloadLength(Mismatch::new(10, 9)));
        let (expected, found) = (symbols.count(), symbols.count() - 1);
        let error = symbols.pack(&[0; 10], &mut out[1..]).unwrap_err();
        assert_eq!(
            error,
            CodecError::SymbolCount(Mismatch::new(expected, found))
        );
        assert_eq!(
            symbols.unpack(&out[1..]),
            Err(CodecError::SymbolCount(Mismatch::new(expected, found)))
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
        let error = CodecError::SymbolRange(23, Mismatch::new(786_433, 786_433));
        assert_eq!(symbols.unpack(&row), Err(error));
        let error = CodecError::NotCanonical {
            block: 0,
            expected_bits: 448,
            found_bits: 451,
        };
        assert_eq!(symbols.unpack(&[786_432; 24]), Err(error));
    }

    #[test]
    fn a_mark_beside_612_bytes_takes_no_symbol() {
        let count = |p, bytes| Symbols::marked(p, bytes).unwrap().count();
        assert_eq!(count(786_433, 612), 252);
        assert_eq!(count(786_433, 56), 23 + 2);
        assert_eq!(count(97, 612), 744 + 4);
    }

    #[test]
    fn marks_come_back_and_nothing_beyond_them_is_taken() {
        for p in [3, 97, 257, 65_521, 65_537, 786_433, 2_147_483_647] {
            for bytes in [1, 7, 8, 9, 56, 63, 64, 65, 612] {
                let symbols = Symbols::marked(p, bytes).unwrap();
                for (fill, mark) in [(0, 1), (0xff, u32::MAX), (0xa5, 0x1234_5678), (0xff, 0)] {
                    let payload = vec![fill; bytes];
                    let mut row = vec![u32::MAX; symbols.count()];
                    symbols.pack_marked(&payload, mark, &mut row).unwrap();
                    assert!(row.iter().all(|&symbol| symbol < p));
                    let mut found = vec![0; bytes];
                    assert_eq!(symbols.unpack_marked_into(&row, &mut found), Ok(mark));
                    assert_eq!(found, payload, "{p} {bytes}");
                }
                let most = vec![p - 1; symbols.count()];
                let mut found = vec![0; bytes];
                let error = symbols.unpack_marked_into(&most, &mut found);
                assert!(
                    matches!(error, Err(CodecError::NotCanonical { .. })),
                    "{p} {bytes}"
                );
            }
        }
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
