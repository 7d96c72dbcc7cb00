//! Identifiers and hashes in hexadecimal.

pub use omr_errors::hex;

/// Returns the bytes of exactly `2 N` hexadecimal digits of either case; `None` for any other text.
///
/// ```
/// assert_eq!(omr_protocol::from_hex("001FA0"), Some([0, 0x1f, 0xa0]));
/// assert_eq!(omr_protocol::from_hex::<3>("001fa"), None);
/// ```
#[must_use]
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
