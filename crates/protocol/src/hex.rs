//! Identifiers and hashes as people read them.

/// The bytes in lower-case hexadecimal digits, two for each.
///
/// ```
/// assert_eq!(omr_protocol::hex(&[0, 0x1f, 0xa0]), "001fa0");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
