//! Residues of 1 to 64 bits packed without gaps, least significant bit first.
//!
//! Bit `i` of a stream is bit `i % 8` of byte `i / 8`. Unused bits of the last byte are zero.

use super::FrameError;
use omr_errors::Mismatch;
use omr_marks::published;

/// Returns the length in bytes of `count` packed residues of `bits` bits; `None` above `usize::MAX`.
#[must_use]
pub fn packed_len(count: usize, bits: u32) -> Option<usize> {
    let total = (count as u128) * u128::from(bits);
    usize::try_from(total.div_ceil(8)).ok()
}

/// Appends residues of `bits` bits each to `out`.
///
/// Shape:  `n` residues to `ceil(n * bits / 8)` bytes.
/// Range:  in `[0, 2^bits)`.
/// Panics: if `bits` is outside `1..=64` or a residue outside its range, so that no wrong data is written.
pub fn pack_bits(residues: &[u64], bits: u32, out: &mut Vec<u8>) {
    let mask = mask(bits).expect("width of 1 to 64 bits");
    let seen = residues.iter().fold(0, |seen, residue| seen | residue);
    // The branch is on public data: nothing is above the mask, or the program ends.
    let above = published(seen & !mask);
    assert!(
        above == 0,
        "expected residues of {bits} bits, found bits {above:#x}"
    );
    let len = packed_len(residues.len(), bits).expect("fits memory");

    let start = out.len();
    out.resize(start + len, 0);
    let mut words = out[start..].chunks_mut(8);
    let (mut acc, mut fill) = (0u64, 0u32);
    for &residue in residues {
        acc |= residue << fill;
        fill += bits;
        if fill >= 64 {
            if let Some(word) = words.next() {
                word.copy_from_slice(&acc.to_le_bytes());
            }
            fill -= 64;
            // The bits of `residue` that did not fit; a shift by 64 leaves none.
            acc = residue.checked_shr(bits - fill).unwrap_or(0);
        }
    }
    if let Some(word) = words.next() {
        word.copy_from_slice(&acc.to_le_bytes()[..word.len()]);
    }
}

/// Reads residues of `bits` bits each into `out`.
///
/// Shape:  exactly `ceil(n * bits / 8)` bytes to `n` residues.
/// Range:  out `[0, 2^bits)`; the caller checks them against its modulus.
/// Errors: `Width`, `PackedLength`, `Padding`.
pub fn unpack_bits(bytes: &[u8], bits: u32, out: &mut [u64]) -> Result<(), FrameError> {
    let mask = mask(bits).ok_or(FrameError::Width(bits))?;
    let expected = packed_len(out.len(), bits).unwrap_or(usize::MAX);
    if bytes.len() != expected {
        return Err(FrameError::PackedLength(Mismatch::new(
            expected,
            bytes.len(),
        )));
    }
    let width = bits as usize;
    let groups = match bits {
        ..=FAST_BITS => whole_groups(out.len(), width),
        _ => 0,
    };
    let (head, rest) = out.split_at_mut(8 * groups);
    unpack_groups(bytes, width, head, |residue| residue);
    unpack_rest(&bytes[groups * width..], bits, mask, rest)
}

/// Largest width of residues that lie within eight bytes, starting at any bit.
const FAST_BITS: u32 = 57;

/// Returns the number of groups of eight residues, `width` bytes each, that can be loaded: a load reaches 8 bytes past
/// its group.
fn whole_groups(residues: usize, width: usize) -> usize {
    (residues / 8).saturating_sub(8usize.div_ceil(width))
}

/// Unpacks residue by residue as [`unpack_bits`] does. The length of `bytes` has been checked.
fn unpack_rest(bytes: &[u8], bits: u32, mask: u64, out: &mut [u64]) -> Result<(), FrameError> {
    let (whole, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let mut words = whole.iter().chain(std::iter::once(&last));

    let (mut acc, mut fill) = (0u128, 0u32);
    for residue in out {
        if fill < bits {
            // No word is missing: the length was checked above.
            let word = words.next().map_or(0, |word| u64::from_le_bytes(*word));
            acc |= u128::from(word) << fill;
            fill += 64;
        }
        *residue = acc as u64 & mask;
        acc >>= bits;
        fill -= bits;
    }
    if acc != 0 || words.any(|word| *word != [0; 8]) {
        return Err(FrameError::Padding);
    }
    Ok(())
}

/// Reads residues of at most 32 bits each into `out`. It is several times as fast as [`unpack_bits`].
///
/// Shape:  exactly `ceil(n * bits / 8)` bytes to `n` residues.
/// Range:  out `[0, 2^bits)`; the caller checks them against its modulus.
/// Errors: `Width` (outside `1..=32`), `PackedLength`, `Padding`.
pub fn unpack_bits_u32(bytes: &[u8], bits: u32, out: &mut [u32]) -> Result<(), FrameError> {
    if !(1..=32).contains(&bits) {
        return Err(FrameError::Width(bits));
    }
    let expected = packed_len(out.len(), bits).unwrap_or(usize::MAX);
    if bytes.len() != expected {
        return Err(FrameError::PackedLength(Mismatch::new(
            expected,
            bytes.len(),
        )));
    }
    let width = bits as usize;
    // Eight residues fill `bits` bytes. The last groups are unpacked one residue at a time.
    let groups = whole_groups(out.len(), width);
    let (head, tail) = out.split_at_mut(8 * groups);
    match width {
        // Width of the residues of clues, as a constant for the compiler.
        20 => unpack_groups(bytes, 20, head, |residue| residue as u32),
        _ => unpack_groups(bytes, width, head, |residue| residue as u32),
    }
    let mut buffer = [0; TAIL];
    let words = &mut buffer[..tail.len()];
    unpack_bits(&bytes[groups * width..], bits, words)?;
    for (out, word) in tail.iter_mut().zip(words) {
        *out = *word as u32;
    }
    Ok(())
}

/// Largest number of residues that [`unpack_bits_u32`] unpacks one at a time: 8 groups and 7 residues.
const TAIL: usize = 71;

/// Copies bytes from the group of eight that contains residue `first` on, until `window` is full or `bytes` ends.
/// [`unpack_window_u32`] reads the window.
///
/// Panics: if the group begins past the end of `bytes`.
pub fn copy_window(bytes: &[u8], bits: u32, first: usize, window: &mut [u8]) {
    let from = &bytes[first / 8 * bits as usize..];
    let len = from.len().min(window.len());
    window[..len].copy_from_slice(&from[..len]);
}

/// Returns the length in bytes of a window of `groups` groups of eight residues; the last load reaches 8 bytes past its
/// group.
pub fn window_bytes(bits: u32, groups: usize) -> usize {
    groups * bits as usize + 8
}

/// Unpacks residues of at most 32 bits from a window. Their range has been checked before.
///
/// Shape: `window` has the [`window_bytes`] of `out`, whole groups of eight.
/// Panics: if `bits` is outside `1..=32` or the window is short.
pub fn unpack_window_u32(window: &[u8], bits: u32, out: &mut [u32]) {
    assert!((1..=32).contains(&bits), "width of 1 to 32 bits");
    match bits {
        20 => unpack_groups(window, 20, out, |residue| residue as u32),
        _ => unpack_groups(window, bits as usize, out, |residue| residue as u32),
    }
}

/// Unpacks whole groups of eight residues of 1 to 57 bits.
#[inline(always)]
fn unpack_groups<T>(bytes: &[u8], width: usize, out: &mut [T], of: impl Fn(u64) -> T) {
    let mask = u64::MAX >> (64 - width);
    for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let window = &bytes[group * width..][..width + 8];
        for (k, out) in out.iter_mut().enumerate() {
            let (byte, bit) = (k * width / 8, k * width % 8);
            let word = window[byte..byte + 8].try_into().expect("eight bytes");
            *out = of(u64::from_le_bytes(word) >> bit & mask);
        }
    }
}

/// A writer that packs values of varying widths.
#[derive(Debug)]
pub struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    acc: u128,
    fill: u32,
}

impl<'a> BitWriter<'a> {
    /// Makes a writer that appends to `out`, beginning at a byte boundary.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            acc: 0,
            fill: 0,
        }
    }

    /// Appends the low `bits` bits of `value`.
    ///
    /// Panics: if `bits` is outside `1..=64` or `value` outside `[0, 2^bits)`.
    pub fn push(&mut self, value: u64, bits: u32) {
        let mask = mask(bits).expect("width of 1 to 64 bits");
        assert!(value <= mask, "value {value:#x} over {bits} bits");
        self.acc |= u128::from(value) << self.fill;
        self.fill += bits;
        while self.fill >= 8 {
            self.out.push(self.acc as u8);
            self.acc >>= 8;
            self.fill -= 8;
        }
    }

    /// Fills the last byte with zeros.
    pub fn finish(self) {
        if self.fill > 0 {
            self.out.push(self.acc as u8);
        }
    }
}

/// A reader that unpacks values of varying widths.
#[derive(Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    acc: u128,
    fill: u32,
}

impl<'a> BitReader<'a> {
    /// Makes a reader of `bytes`, beginning at their first bit.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            acc: 0,
            fill: 0,
        }
    }

    /// Returns the next `bits` bits.
    ///
    /// Errors: `Width`; `PackedLength` if fewer are left.
    pub fn take(&mut self, bits: u32) -> Result<u64, FrameError> {
        let mask = mask(bits).ok_or(FrameError::Width(bits))?;
        let missing = bits.saturating_sub(self.fill).div_ceil(8) as usize;
        let Some((head, rest)) = self.bytes.split_at_checked(missing) else {
            return Err(FrameError::PackedLength(Mismatch::new(
                missing,
                self.bytes.len(),
            )));
        };
        for &byte in head {
            self.acc |= u128::from(byte) << self.fill;
            self.fill += 8;
        }
        self.bytes = rest;
        let value = self.acc as u64 & mask;
        self.acc >>= bits;
        self.fill -= bits;
        Ok(value)
    }

    /// Checks that every byte was read and that the unused bits of the last are zero.
    ///
    /// Errors: `PackedLength`, `Padding`.
    pub fn finish(self) -> Result<(), FrameError> {
        if !self.bytes.is_empty() {
            return Err(FrameError::PackedLength(Mismatch::new(0, self.bytes.len())));
        }
        if self.acc != 0 {
            return Err(FrameError::Padding);
        }
        Ok(())
    }
}

fn mask(bits: u32) -> Option<u64> {
    (1..=64).contains(&bits).then(|| u64::MAX >> (64 - bits))
}
