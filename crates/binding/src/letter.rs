//! Letters as they are listed.

use omr_mail::{Heading, Listed, ShortAddress};
use omr_protocol::from_hex;

/// A letter with its content.
pub struct Received {
    /// The letter in the inbox's list.
    pub listed: Listed,
    /// The content.
    pub data: Vec<u8>,
}

/// Returns the short address of a letter's sender, if the letter names one and the signature matches.
#[must_use]
pub fn genuine_sender(heading: &Heading) -> Option<String> {
    let sender = heading.sender.as_ref().filter(|sender| sender.genuine)?;
    short_address(&sender.fingerprint, sender.server.clone())
}

/// Returns whether a letter names a sender whose signature does not match.
#[must_use]
pub fn is_forged(heading: &Heading) -> bool {
    heading
        .sender
        .as_ref()
        .is_some_and(|sender| !sender.genuine)
}

/// Returns the short address of a fingerprint in hexadecimal digits.
#[must_use]
pub fn short_address(fingerprint: &str, server: Option<String>) -> Option<String> {
    let fingerprint = from_hex(fingerprint)?;
    Some(ShortAddress::new(fingerprint, server).to_string())
}
