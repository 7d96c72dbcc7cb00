//! LEB128 integers: seven bits in each byte, least significant first, with the high bit set on all bytes but the last.

use super::FragmentError;

pub(crate) fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn len(value: u64) -> usize {
    (64 - value.leading_zeros()).max(1).div_ceil(7) as usize
}

/// Reads a number at the beginning of `bytes` and removes it. The error mentions `part_len`.
///
/// Errors: `Truncated`, `Number`.
pub(crate) fn read(bytes: &mut &[u8], part_len: usize) -> Result<u64, FragmentError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes
            .split_first()
            .ok_or(FragmentError::Truncated(part_len))?;
        *bytes = rest;
        let low = u64::from(byte & 0x7f);
        let overflows = low << shift >> shift != low;
        let padded = byte == 0 && shift > 0;
        if overflows || padded {
            return Err(FragmentError::Number);
        }
        value |= low << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(FragmentError::Number)
}
