//! The header of a file: its kind, its parameter set and its key.

use std::fmt;

use super::{
    FILE_SUM_BYTES, FrameError, FramePart, HEADER_SUM_BYTES, PREFIX_BYTES, SUFFIX_BYTES,
    header_checksum,
};
use omr_errors::Mismatch;

/// The format version that this program writes and reads.
pub const FORMAT_VERSION: u16 = 1;
/// Length of a key id.
pub const KEY_ID_BYTES: usize = 16;
/// Longest name of a parameter set.
pub const MAX_PARAMS_ID_BYTES: usize = 64;

pub(super) const MAGIC: [u8; 4] = *b"OMRF";

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Kind {
    /// The recipient's secret.
    SecretKey = 1,
    /// The public key with which senders make clues.
    ClueKey = 2,
    /// The public key with which a detector runs SophOMR.
    DetectionKey = 3,
    /// The detector's response.
    Digest = 4,
    /// One clue.
    Clue = 5,
    /// The public key with which a detector runs InstantOMR.
    InstantKey = 6,
    /// A detector's session for one recipient.
    Session = 7,
    /// The secret of a client of private database queries.
    PdqSecretKey = 8,
    /// The public keys of a client of private database queries.
    PdqKey = 9,
    /// A private database query.
    PdqQuery = 10,
    /// The answer to a private database query.
    PdqAnswer = 11,
    /// An encrypted table.
    PdqTable = 12,
    /// Some parts of a file whose other parts are missing.
    KeptParts = 13,
    /// A file under a passphrase.
    Locked = 14,
    /// All that restores an identity.
    Identity = 15,
    /// The sums of some batches of a digest.
    Partial = 16,
    /// The public key with which a detector serves two rounds.
    RoundsKey = 17,
    /// The first round: the encrypted distances of a range's messages.
    Scan = 18,
    /// The query of the second round.
    FetchQuery = 19,
    /// The answer of the second round.
    FetchAnswer = 20,
}

impl Kind {
    const ALL: [Self; 20] = [
        Self::SecretKey,
        Self::ClueKey,
        Self::DetectionKey,
        Self::Digest,
        Self::Clue,
        Self::InstantKey,
        Self::Session,
        Self::PdqSecretKey,
        Self::PdqKey,
        Self::PdqQuery,
        Self::PdqAnswer,
        Self::PdqTable,
        Self::KeptParts,
        Self::Locked,
        Self::Identity,
        Self::Partial,
        Self::RoundsKey,
        Self::Scan,
        Self::FetchQuery,
        Self::FetchAnswer,
    ];

    /// Returns the kind with this number, if there is one.
    #[must_use]
    pub fn from_tag(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == tag)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SecretKey => "a secret key",
            Self::ClueKey => "a clue key",
            Self::DetectionKey => "a detection key",
            Self::Digest => "a digest",
            Self::Clue => "a clue",
            Self::InstantKey => "an InstantOMR detection key",
            Self::Session => "a session",
            Self::PdqSecretKey => "a secret key for database queries",
            Self::PdqKey => "a key for database queries",
            Self::PdqQuery => "a database query",
            Self::PdqAnswer => "an answer to a database query",
            Self::PdqTable => "an encrypted table",
            Self::KeptParts => "parts of a letter that is not whole",
            Self::Locked => "a file under a passphrase",
            Self::Identity => "an exported identity",
            Self::Partial => "a part of a digest",
            Self::RoundsKey => "a detection key for two rounds",
            Self::Scan => "a scan",
            Self::FetchQuery => "a query for payloads",
            Self::FetchAnswer => "an answer with payloads",
        })
    }
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The kind of the file.
    pub kind: Kind,
    /// Versioned name of the parameter set: 1 to 64 visible ASCII characters.
    pub params_id: String,
    /// Name of the key that the file contains or was made for.
    pub key_id: [u8; KEY_ID_BYTES],
}

impl FrameHeader {
    /// Makes the header of a file of this kind, under this parameter set and for this key.
    pub fn new(kind: Kind, params_id: impl Into<String>, key_id: [u8; KEY_ID_BYTES]) -> Self {
        Self {
            kind,
            params_id: params_id.into(),
            key_id,
        }
    }

    /// Checks that the file was made under the parameter set `expected`.
    ///
    /// Errors: `Params`.
    pub fn expect_params(&self, expected: &str) -> Result<(), FrameError> {
        if self.params_id == expected {
            return Ok(());
        }
        Err(FrameError::Params(Mismatch::new(
            expected.to_owned(),
            self.params_id.clone(),
        )))
    }

    /// Checks that the file belongs to the key `expected`.
    ///
    /// Errors: `KeyId`.
    pub fn expect_key(&self, expected: &[u8; KEY_ID_BYTES]) -> Result<(), FrameError> {
        if self.key_id == *expected {
            return Ok(());
        }
        Err(FrameError::KeyId(Mismatch::new(*expected, self.key_id)))
    }

    /// Returns the length in bytes of the whole file with a body of `body_len` bytes; saturates.
    #[must_use]
    pub fn file_len(&self, body_len: u64) -> u64 {
        ((self.encoded_len() + FILE_SUM_BYTES) as u64).saturating_add(body_len)
    }

    pub(super) fn encoded_len(&self) -> usize {
        PREFIX_BYTES + self.params_id.len() + SUFFIX_BYTES
    }

    pub(super) fn encode(&self, body_len: u64) -> Result<Vec<u8>, FrameError> {
        check_params_id(self.params_id.as_bytes())?;
        let mut out = Vec::with_capacity(self.encoded_len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&(self.kind as u16).to_le_bytes());
        out.push(self.params_id.len() as u8);
        out.extend_from_slice(self.params_id.as_bytes());
        out.extend_from_slice(&self.key_id);
        out.extend_from_slice(&body_len.to_le_bytes());
        let sum = header_checksum(&out);
        out.extend_from_slice(&sum);
        Ok(out)
    }
}

/// Returns the number of header bytes that follow the prefix.
///
/// Errors: `NotOmr`, `Version`.
pub(super) fn parse_prefix(prefix: &[u8; PREFIX_BYTES]) -> Result<usize, FrameError> {
    let [m0, m1, m2, m3, v0, v1, _, _, name_len] = *prefix;
    let found = [m0, m1, m2, m3];
    if found != MAGIC {
        return Err(FrameError::NotOmr(found.to_vec()));
    }
    let found = u16::from_le_bytes([v0, v1]);
    if found != FORMAT_VERSION {
        return Err(FrameError::Version(found));
    }
    let found = usize::from(name_len);
    if !(1..=MAX_PARAMS_ID_BYTES).contains(&found) {
        return Err(FrameError::ParamsName(found));
    }
    Ok(found + SUFFIX_BYTES)
}

/// Returns whether bytes begin with the magic of this format.
pub fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Returns whether a file of fewer than nine bytes could be the beginning of a file of this format.
pub(super) fn is_prefix_of_magic(found: &[u8]) -> bool {
    found.iter().zip(&MAGIC).all(|(a, b)| a == b)
}

/// Parses a whole header whose prefix `parse_prefix` accepted, and returns it with the announced length of the body.
/// The file must be of one of `kinds`; errors name the first.
pub(super) fn parse_header(bytes: &[u8], kinds: &[Kind]) -> Result<(FrameHeader, u64), FrameError> {
    let damaged = || FrameError::Checksum(FramePart::Header);
    let (covered, sum) = bytes
        .split_last_chunk::<HEADER_SUM_BYTES>()
        .ok_or_else(damaged)?;
    if header_checksum(covered) != *sum {
        return Err(damaged());
    }
    let (before_length, body_len) = covered.split_last_chunk::<8>().ok_or_else(damaged)?;
    let (before_id, key_id) = before_length
        .split_last_chunk::<KEY_ID_BYTES>()
        .ok_or_else(damaged)?;
    let (prefix, name) = before_id
        .split_first_chunk::<PREFIX_BYTES>()
        .ok_or_else(damaged)?;

    let tag = u16::from_le_bytes([prefix[6], prefix[7]]);
    let expected = kinds[0];
    let kind = Kind::from_tag(tag).ok_or(FrameError::UnknownKind(Mismatch::new(expected, tag)))?;
    if !kinds.contains(&kind) {
        return Err(FrameError::Kind(Mismatch::new(expected, kind)));
    }
    let params_id = check_params_id(name)?.to_owned();
    Ok((
        FrameHeader {
            kind,
            params_id,
            key_id: *key_id,
        },
        u64::from_le_bytes(*body_len),
    ))
}

fn check_params_id(name: &[u8]) -> Result<&str, FrameError> {
    let fits = (1..=MAX_PARAMS_ID_BYTES).contains(&name.len());
    match std::str::from_utf8(name) {
        Ok(text) if fits && name.iter().all(u8::is_ascii_graphic) => Ok(text),
        _ => Err(FrameError::ParamsName(name.len())),
    }
}
