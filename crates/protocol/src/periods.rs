//! Lists of the public sealing keys of periods of 30 days, which addresses contain: `docs/wire.md`, section 26.

use crate::sealing::{Sealing, SealingError};
use crate::{Mismatch, VERIFYING_KEY_BYTES};
use ed25519_dalek::{Signature, VerifyingKey};
use std::fmt;

/// The length of a period.
pub const PERIOD_SECONDS: u64 = 30 * 86_400;
/// The time at which period 0 begins, in seconds since 1970: 2026-09-03, 00:00 UTC.
const BEGIN: u64 = 1_788_480_000;

/// The version of the bytes of a list.
const VERSION: u8 = 1;
/// Bytes of a list before the keys: version, sealing, first period.
const HEAD_BYTES: usize = 6;
const SIGNATURE_BYTES: usize = 64;
/// The highest number of bytes of a list.
pub const MOST_PERIOD_BYTES: usize = 8192;

const LIST_CONTEXT: &str = "omr period v1 list of keys";

/// Returns the period that contains a time in seconds since 1970; 0 for every time before period 1.
#[must_use]
pub fn period_at(seconds: u64) -> u32 {
    let period = seconds.saturating_sub(BEGIN) / PERIOD_SECONDS;
    u32::try_from(period).unwrap_or(u32::MAX)
}

/// Returns the time at which a period begins, in seconds since 1970.
#[must_use]
pub fn period_start(period: u32) -> u64 {
    BEGIN + u64::from(period) * PERIOD_SECONDS
}

/// Returns the number of keys in a new list: two years for short keys, and half a year for those of X-Wing.
#[must_use]
pub fn periods_listed(sealing: Sealing) -> u32 {
    match sealing {
        Sealing::None => 0,
        Sealing::HpkeX25519 => 24,
        Sealing::XWing => 6,
    }
}

/// A list of period keys, or the secrets of periods, that were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodError {
    /// The bytes have another length.
    #[error("expected {} bytes of period keys, found {}", .0.expected, .0.found)]
    Length(Mismatch<String, usize>),
    /// The secrets are encrypted with another key, or were changed.
    #[error("expected the secrets of periods of this secret key, found others, or damaged ones")]
    Sealed,
    /// A later release wrote them.
    #[error("expected period keys of version {}, found version {}", .0.expected, .0.found)]
    Version(Mismatch<u8>),
    /// No sealing has this tag.
    #[error(transparent)]
    Sealing(#[from] SealingError),
    /// The owner of the address did not sign the list.
    #[error(
        "expected period keys that the owner of the address signed, found others: they were changed"
    )]
    Signature,
}

/// Returns the message that is signed: a hash of a list without its signature.
fn transcript(list: &[u8]) -> [u8; 32] {
    blake3::derive_key(LIST_CONTEXT, list)
}

/// A list of the public keys of consecutive periods, which the owner of an address signed.
#[derive(Clone, PartialEq, Eq)]
pub struct PeriodKeys {
    bytes: Vec<u8>,
    sealing: Sealing,
    first: u32,
}

/// Shows the periods in place of the keys.
impl fmt::Debug for PeriodKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodKeys")
            .field("sealing", &self.sealing)
            .field("first", &self.first)
            .field("count", &self.count())
            .finish()
    }
}

impl PeriodKeys {
    /// Makes a list of consecutive periods from `first` on, with the signature of 64 bytes that `sign` makes of 32 bytes.
    pub fn new(
        sealing: Sealing,
        first: u32,
        keys: &[u8],
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Self {
        let mut bytes = vec![VERSION, sealing.tag()];
        bytes.extend(first.to_le_bytes());
        bytes.extend(keys);
        let signature = sign(&transcript(&bytes));
        bytes.extend(signature);
        Self {
            bytes,
            sealing,
            first,
        }
    }

    /// Parses a list and verifies its signature.
    ///
    /// Errors: `Length`, `Version`, `Sealing`, `Signature`.
    pub fn from_bytes(
        bytes: &[u8],
        verifying_key: &[u8; VERIFYING_KEY_BYTES],
    ) -> Result<Self, PeriodError> {
        let found = bytes.len();
        let wrong = |expected: String| PeriodError::Length(Mismatch::new(expected, found));
        let least = HEAD_BYTES + SIGNATURE_BYTES;
        let keys_bytes = found
            .checked_sub(least)
            .filter(|_| found <= MOST_PERIOD_BYTES);
        let keys_bytes =
            keys_bytes.ok_or_else(|| wrong(format!("{least} to {MOST_PERIOD_BYTES}")))?;
        if bytes[0] != VERSION {
            return Err(PeriodError::Version(Mismatch::new(VERSION, bytes[0])));
        }
        let sealing = Sealing::try_from(bytes[1])?;
        let each = sealing.public_key_bytes().max(1);
        if !keys_bytes.is_multiple_of(each) {
            return Err(wrong(format!("{least} and a multiple of {each}")));
        }
        let (list, signature) = bytes.split_at(HEAD_BYTES + keys_bytes);
        let signature = Signature::from_slice(signature).map_err(|_| PeriodError::Signature)?;
        let key = VerifyingKey::from_bytes(verifying_key).map_err(|_| PeriodError::Signature)?;
        let verified = key.verify_strict(&transcript(list), &signature);
        verified.map_err(|_| PeriodError::Signature)?;
        Ok(Self {
            first: u32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]),
            bytes: bytes.to_vec(),
            sealing,
        })
    }

    /// Returns the bytes: the version, the tag of the sealing, the first period (4 bytes, little-endian), the keys and
    /// the signature of 64 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the first period of the list.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Returns the first period after those of the list.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.first.saturating_add(self.count())
    }

    fn count(&self) -> u32 {
        let keys = self.bytes.len() - HEAD_BYTES - SIGNATURE_BYTES;
        (keys / self.sealing.public_key_bytes().max(1)) as u32
    }

    /// Returns the key of a period for a sealing; `None` if the list has none.
    #[must_use]
    pub fn key(&self, sealing: Sealing, period: u32) -> Option<&[u8]> {
        let place = period.checked_sub(self.first)?;
        if sealing != self.sealing || place >= self.count() {
            return None;
        }
        let each = sealing.public_key_bytes();
        let start = HEAD_BYTES + place as usize * each;
        self.bytes.get(start..start + each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_30_days() {
        let begin = 1_788_480_000;
        assert_eq!(begin % 86_400, 0);
        for (seconds, period) in [
            (0, 0),
            (begin, 0),
            (begin + PERIOD_SECONDS - 1, 0),
            (begin + PERIOD_SECONDS, 1),
            (begin + 24 * PERIOD_SECONDS, 24),
            (u64::MAX, u32::MAX),
        ] {
            assert_eq!(period_at(seconds), period, "{seconds}");
        }
        assert_eq!(period_at(period_start(8)), 8);
        assert_eq!(period_at(period_start(8) - 1), 7);
    }
}
