//! The ways in which payloads are encrypted to the recipient.

use std::fmt;
use std::str::FromStr;

/// The encryption of a payload to its recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sealing {
    /// No encryption: the payload is already encrypted, or public.
    None,
    /// HPKE base mode with X25519, HKDF-SHA256 and ChaCha20-Poly1305 (RFC 9180).
    HpkeX25519,
    /// HPKE base mode with the hybrid X-Wing (ML-KEM-768 and X25519) in place of X25519.
    XWing,
}

/// A sealing that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealingError {
    /// No sealing has this name.
    #[error("expected sealing none, hpke-x25519 or x-wing, found {0:?}")]
    Name(String),
    /// No sealing has this tag.
    #[error("expected sealing tag 0, 1 or 2, found {0}")]
    Tag(u8),
}

impl Sealing {
    /// Every sealing.
    pub const ALL: [Self; 3] = [Self::None, Self::HpkeX25519, Self::XWing];

    /// Returns the number of the sealing in files.
    #[must_use]
    pub fn tag(self) -> u8 {
        match self {
            Self::None => 0,
            Self::HpkeX25519 => 1,
            Self::XWing => 2,
        }
    }

    /// Returns the name of the sealing in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HpkeX25519 => "hpke-x25519",
            Self::XWing => "x-wing",
        }
    }

    /// Returns the number of bytes that sealing adds to a plaintext: the encapsulated key and the tag.
    #[must_use]
    pub fn overhead(self) -> usize {
        match self {
            Self::None => 0,
            Self::HpkeX25519 => 32 + 16,
            Self::XWing => 1120 + 16,
        }
    }

    /// Returns the length in bytes of the recipient's public key for the sealing.
    #[must_use]
    pub fn public_key_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::HpkeX25519 => 32,
            Self::XWing => 1216,
        }
    }
}

impl fmt::Display for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Sealing {
    type Err = SealingError;

    fn from_str(name: &str) -> Result<Self, SealingError> {
        let found = || SealingError::Name(name.to_owned());
        Self::ALL
            .into_iter()
            .find(|sealing| sealing.name() == name)
            .ok_or_else(found)
    }
}

impl TryFrom<u8> for Sealing {
    type Error = SealingError;

    fn try_from(tag: u8) -> Result<Self, SealingError> {
        let found = SealingError::Tag(tag);
        Self::ALL
            .into_iter()
            .find(|sealing| sealing.tag() == tag)
            .ok_or(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_round_trip() {
        for sealing in Sealing::ALL {
            assert_eq!(sealing.to_string().parse(), Ok(sealing));
            assert_eq!(Sealing::try_from(sealing.tag()), Ok(sealing));
        }
        assert_eq!(
            "X-Wing".parse::<Sealing>(),
            Err(SealingError::Name("X-Wing".into()))
        );
        assert_eq!(Sealing::try_from(3), Err(SealingError::Tag(3)));
    }
}
