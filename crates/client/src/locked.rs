//! Files under a passphrase: Argon2id ([RFC 9106](https://www.rfc-editor.org/rfc/rfc9106)) and ChaCha20-Poly1305 ([RFC
//! 8439](https://www.rfc-editor.org/rfc/rfc8439)).
//!
//! A locked file is a frame of kind 14 with the parameter set and the key id of the file inside. Its body is
//!
//! ```text
//! LE16(kind of the file within)   LE32(KiB of memory)   LE32(passes)   LE32(lanes)   salt (16)
//! the file within, encrypted   tag (16)
//! ```
//!
//! Anybody who has the file can try passphrases, each at the cost that the file states.

use crate::os_rng;
use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{AeadInOut, inout::InOutBuf};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Tag};
use omr_marks::{hide, publish};
use omr_protocol::Mismatch;
use omr_protocol::frame::{self, FrameError, FrameHeader, FrameReader, Kind};
use rand_core::Rng;
use std::fmt;
use std::ops::RangeInclusive;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// Largest length in bytes of a locked file. An exported identity contains its inbox.
pub const MAX_LOCKED_BYTES: u64 = 1 << 33;

const SALT_BYTES: usize = 16;
const HEAD_BYTES: usize = 2 + 3 * 4 + SALT_BYTES;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
/// Accepted costs: the author of a file can neither exhaust memory nor take unlimited time.
const KIB: RangeInclusive<u32> = 8..=1 << 20;
const PASSES: RangeInclusive<u32> = 1..=16;
const LANES: RangeInclusive<u32> = 1..=16;

/// An error of locking or unlocking a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The passphrase is empty.
    #[error("expected a passphrase, found none")]
    Empty,
    /// The passphrase for a file to be locked has only this many characters.
    #[error(
        "expected a passphrase of at least {LEAST_CHARACTERS} characters for what is locked with it from now on, found {0}"
    )]
    TooShort(usize),
    /// The passphrase has a line end in its middle.
    #[error("expected a passphrase in one line, found several lines")]
    Lines,
    /// The passphrase is wrong, or the file was forged with a right checksum.
    #[error("the passphrase is wrong: expected the one that the file was locked with")]
    Wrong,
    /// The body has this many bytes, fewer than any locked file.
    #[error("expected a locked file of at least {} bytes, found {}", HEAD_BYTES + TAG_BYTES, .0)]
    Short(usize),
    /// The cost in the file is outside the accepted range.
    #[error("expected {} to {} {what} for the key of a locked file, found {found}", expected.start(), expected.end())]
    Cost {
        /// The unit of the cost.
        what: &'static str,
        /// The accepted range.
        expected: RangeInclusive<u32>,
        /// The cost in the file.
        found: u32,
    },
    /// The file inside is of another kind than the header states, or than is wanted.
    #[error("expected {} under the passphrase, found {}", .0.expected, .0.found)]
    Holds(Mismatch<Kind, String>),
    /// Deriving the key failed.
    #[error("deriving the key, which takes {kib} KiB of memory: {reason}")]
    Key {
        /// KiB of memory that it takes.
        kib: u32,
        /// The reason.
        reason: argon2::Error,
    },
    /// The file is damaged or of another kind.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Least number of characters of a passphrase with which a file is locked.
pub const LEAST_CHARACTERS: usize = 8;

/// A passphrase. It is wiped when dropped and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Normalizes a passphrase from a keyboard, a file or a variable. A byte order mark before the text and line ends
    /// after it are removed, and the rest is brought into Unicode's form NFC, so that every way of entering it leads to
    /// the same passphrase.
    ///
    /// Errors: `Empty`, `Lines`.
    pub fn new(text: Zeroizing<String>) -> Result<Self, LockError> {
        let line = text
            .strip_prefix('\u{feff}')
            .unwrap_or(&text)
            .trim_end_matches(LINE_ENDS);
        if line.is_empty() {
            return Err(LockError::Empty);
        }
        if line.contains(LINE_ENDS) {
            return Err(LockError::Lines);
        }
        // NFC makes no text longer than this, so the string does not grow, which would leave a copy behind.
        let mut composed = Zeroizing::new(String::with_capacity(3 * line.len()));
        composed.extend(line.nfc());
        Ok(Self(composed))
    }

    /// Checks that the passphrase is long enough to lock a file with it.
    ///
    /// Errors: `TooShort`.
    pub fn check_length(&self) -> Result<(), LockError> {
        match self.0.chars().count() {
            found if found < LEAST_CHARACTERS => Err(LockError::TooShort(found)),
            _ => Ok(()),
        }
    }
}

/// Characters that end a line.
const LINE_ENDS: [char; 2] = ['\r', '\n'];

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// The cost of a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    kib: u32,
    passes: u32,
    lanes: u32,
}

/// The cost of new files.
const COST: Cost = Cost {
    kib: 256 << 10,
    passes: 3,
    lanes: 1,
};

/// Returns whether the first bytes of a file are those of a locked file.
#[must_use]
pub fn is_locked(bytes: &[u8]) -> bool {
    FrameReader::read_header(bytes, Kind::Locked, u64::MAX).is_ok()
}

/// Puts a file of this project under a passphrase. Deriving the key takes 256 MiB of memory.
///
/// Errors: `Frame` unless the file is of kind `kind`; `TooShort`, `Key`.
pub fn lock(kind: Kind, file: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>, LockError> {
    passphrase.check_length()?;
    let mut salt = [0; SALT_BYTES];
    os_rng().fill_bytes(&mut salt);
    lock_at(COST, salt, kind, file, passphrase)
}

fn lock_at(
    cost: Cost,
    salt: [u8; SALT_BYTES],
    kind: Kind,
    file: &[u8],
    passphrase: &Passphrase,
) -> Result<Vec<u8>, LockError> {
    let within = FrameReader::read_header(file, kind, MAX_LOCKED_BYTES)?;
    let header = FrameHeader {
        kind: Kind::Locked,
        ..within.header().clone()
    };
    let mut body = Zeroizing::new(Vec::with_capacity(HEAD_BYTES + file.len() + TAG_BYTES));
    body.extend((kind as u16).to_le_bytes());
    for number in [cost.kib, cost.passes, cost.lanes] {
        body.extend(number.to_le_bytes());
    }
    body.extend(salt);
    body.extend_from_slice(file);
    let (head, content) = body.split_at_mut(HEAD_BYTES);
    let cipher = cipher(cost, &salt, passphrase)?;
    let tag = cipher.encrypt_inout_detached(
        &NONCE.into(),
        &covered(&header, head),
        InOutBuf::from(content),
    );
    body.extend_from_slice(&tag.map_err(|_| LockError::Wrong)?);
    Ok(frame::write_frame_vec(&header, &body)?)
}

/// Every salt leads to another key, which encrypts one file.
const NONCE: [u8; 12] = [0; 12];

/// Returns the data that is authenticated beside the content.
fn covered(header: &FrameHeader, head: &[u8]) -> Vec<u8> {
    let name = header.params_id.as_bytes();
    let mut covered = vec![name.len() as u8];
    covered.extend(name);
    covered.extend(header.key_id);
    covered.extend(head);
    covered
}

/// Returns the file of a kind inside a locked file. Accidental damage is distinguished from a wrong passphrase by the
/// frame's checksum.
///
/// Errors: `Frame` (damage, another kind of file), `Short`, `Cost`, `Key`, `Wrong`, `Holds`.
pub fn unlock(
    kind: Kind,
    file: &[u8],
    passphrase: &Passphrase,
) -> Result<Zeroizing<Vec<u8>>, LockError> {
    let (header, locked) = frame::read_frame(file, Kind::Locked, MAX_LOCKED_BYTES)?;
    let mut body = Zeroizing::new(locked);
    if body.len() < HEAD_BYTES + TAG_BYTES {
        return Err(LockError::Short(body.len()));
    }
    let end = body.len() - TAG_BYTES;
    let (head, rest) = body.split_at_mut(HEAD_BYTES);
    let (content, tag_bytes) = rest.split_at_mut(end - HEAD_BYTES);
    let cost = asked(kind, head)?;
    let cipher = cipher(cost, &head[HEAD_BYTES - SALT_BYTES..], passphrase)?;
    let tag = Tag::try_from(&*tag_bytes).map_err(|_| LockError::Wrong)?;
    let covered = covered(&header, head);
    let opened = cipher.decrypt_inout_detached(&NONCE.into(), &covered, content.into(), &tag);
    opened.map_err(|_| LockError::Wrong)?;
    body.truncate(end);
    body.drain(..HEAD_BYTES);
    // From here on the content is read as a file in the clear.
    publish(&mut body);
    let within = FrameReader::read_header(&body[..], kind, MAX_LOCKED_BYTES)?;
    within.header().expect_params(&header.params_id)?;
    within.header().expect_key(&header.key_id)?;
    Ok(body)
}

/// Returns the cost that a locked file states.
///
/// Errors: `Holds` if the file inside is not of kind `kind`, `Cost`.
fn asked(kind: Kind, head: &[u8]) -> Result<Cost, LockError> {
    let tag = u16::from_le_bytes([head[0], head[1]]);
    if tag != kind as u16 {
        let found = Kind::from_tag(tag);
        let unknown = || format!("unknown kind {tag}");
        return Err(LockError::Holds(Mismatch::new(
            kind,
            found.map_or_else(unknown, |kind| kind.to_string()),
        )));
    }
    let number = |at: usize, what, expected: RangeInclusive<u32>| {
        let found = u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if expected.contains(&found) {
            Ok(found)
        } else {
            Err(LockError::Cost {
                what,
                expected,
                found,
            })
        }
    };
    Ok(Cost {
        kib: number(2, "KiB of memory", KIB)?,
        passes: number(6, "passes", PASSES)?,
        lanes: number(10, "lanes", LANES)?,
    })
}

fn cipher(cost: Cost, salt: &[u8], passphrase: &Passphrase) -> Result<ChaCha20Poly1305, LockError> {
    let refused = |reason| LockError::Key {
        kib: cost.kib,
        reason,
    };
    let params = Params::new(cost.kib, cost.passes, cost.lanes, Some(KEY_BYTES));
    let hash = Argon2::new(
        Algorithm::Argon2id,
        Version::V0x13,
        params.map_err(refused)?,
    );
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    let derived = hash.hash_password_into(passphrase.0.as_bytes(), salt, &mut *key);
    derived.map_err(refused)?;
    // Marked only here: Argon2id itself reads blocks at addresses that depend on the passphrase.
    hide(&key[..]);
    Ok(ChaCha20Poly1305::new((&*key).into()))
}

#[cfg(test)]
mod tests;
