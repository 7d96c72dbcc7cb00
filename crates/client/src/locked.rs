//! Secrets at rest under a passphrase: Argon2id ([RFC 9106](https://www.rfc-editor.org/rfc/rfc9106)) and
//! ChaCha20-Poly1305 ([RFC 8439](https://www.rfc-editor.org/rfc/rfc8439)).
//!
//! A frame of kind 14 under the parameter set and the key id of the file that it holds; its body is
//!
//! ```text
//! LE16(kind of the file within)   LE32(KiB of memory)   LE32(passes)   LE32(lanes)   salt (16)
//! the file within, encrypted   tag (16)
//! ```
//!
//! Whoever has the file can try passphrases, at the cost that it states for each.

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

/// Most bytes of a locked file: an exported identity has its inbox in it.
pub const MAX_LOCKED_BYTES: u64 = 1 << 33;

const SALT_BYTES: usize = 16;
const HEAD_BYTES: usize = 2 + 3 * 4 + SALT_BYTES;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
/// What a file may ask for: whoever made it takes neither all memory nor all time.
const KIB: RangeInclusive<u32> = 8..=1 << 20;
const PASSES: RangeInclusive<u32> = 1..=16;
const LANES: RangeInclusive<u32> = 1..=16;

/// Why a file was not locked or unlocked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// No passphrase at all.
    #[error("expected a passphrase, found none")]
    Empty,
    /// A passphrase of this many characters for a file that is to be locked.
    #[error(
        "expected a passphrase of at least {LEAST_CHARACTERS} characters for what is locked with it from now on, found {0}"
    )]
    TooShort(usize),
    /// A passphrase with a line end in its middle.
    #[error("expected a passphrase in one line, found several lines")]
    Lines,
    /// Another passphrase, or a file that somebody made to look whole.
    #[error("the passphrase is wrong: expected the one that the file was locked with")]
    Wrong,
    /// A body of so many bytes, fewer than such a file has.
    #[error("expected a locked file of at least {} bytes, found {}", HEAD_BYTES + TAG_BYTES, .0)]
    Short(usize),
    /// A cost that nobody who unlocks the file should bear.
    #[error("expected {} to {} {what} for the key of a locked file, found {found}", expected.start(), expected.end())]
    Cost {
        /// What is counted.
        what: &'static str,
        /// What is taken.
        expected: RangeInclusive<u32>,
        /// What the file asks for.
        found: u32,
    },
    /// A file that holds another thing than it says, or than is wanted.
    #[error("expected {} under the passphrase, found {}", .0.expected, .0.found)]
    Holds(Mismatch<Kind, String>),
    /// No key was derived.
    #[error("deriving the key, which takes {kib} KiB of memory: {reason}")]
    Key {
        /// KiB that it takes.
        kib: u32,
        /// What went wrong.
        reason: argon2::Error,
    },
    /// Damage, or another kind of file.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Characters that a passphrase needs before a file is locked with it.
pub const LEAST_CHARACTERS: usize = 8;

/// What a person remembers. Wiped when dropped, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes a passphrase from a keyboard, a file or a variable. A byte order mark before the text and line ends behind
    /// it are left out, and the rest is brought into Unicode's form NFC, so that every way in gives one passphrase.
    ///
    /// Errors: `Empty`, `Lines`.
    pub fn new(text: Zeroizing<String>) -> Result<Self, LockError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let text = text.trim_end_matches(LINE_ENDS);
        if text.is_empty() {
            return Err(LockError::Empty);
        }
        if text.contains(LINE_ENDS) {
            return Err(LockError::Lines);
        }
        // NFC makes no text longer than this: no copy is left behind by growing.
        let mut composed = Zeroizing::new(String::with_capacity(3 * text.len()));
        composed.extend(text.nfc());
        Ok(Self(composed))
    }

    /// Checks that it is long enough for something that is locked from now on.
    ///
    /// Errors: `TooShort`.
    pub fn check_length(&self) -> Result<(), LockError> {
        match self.0.chars().count() {
            found if found < LEAST_CHARACTERS => Err(LockError::TooShort(found)),
            _ => Ok(()),
        }
    }
}

/// What ends a line.
const LINE_ENDS: [char; 2] = ['\r', '\n'];

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// What a guess costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    kib: u32,
    passes: u32,
    lanes: u32,
}

/// Of new files.
const COST: Cost = Cost {
    kib: 256 << 10,
    passes: 3,
    lanes: 1,
};

/// Whether a file is under a passphrase, by its first bytes.
#[must_use]
pub fn is_locked(bytes: &[u8]) -> bool {
    FrameReader::read_header(bytes, Kind::Locked, u64::MAX).is_ok()
}

/// Puts a file of ours under a passphrase. It takes 256 MiB of memory while the key is derived.
///
/// Errors: `Frame` unless the file is of that kind; `TooShort`, `Key`.
pub fn lock(kind: Kind, file: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>, LockError> {
    passphrase.check_length()?;
    let mut salt = [0; SALT_BYTES];
    os_rng().fill_bytes(&mut salt);
    lock_at(COST, salt, (kind, file), passphrase)
}

fn lock_at(
    cost: Cost,
    salt: [u8; SALT_BYTES],
    (kind, file): (Kind, &[u8]),
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
    let content = InOutBuf::from(content);
    let tag = cipher.encrypt_inout_detached(&NONCE.into(), &covered(&header, head), content);
    body.extend_from_slice(&tag.map_err(|_| LockError::Wrong)?);
    Ok(frame::write_frame_vec(&header, &body)?)
}

/// Every salt makes a key of its own, which encrypts one file.
const NONCE: [u8; 12] = [0; 12];

/// What is authenticated beside the content.
fn covered(header: &FrameHeader, head: &[u8]) -> Vec<u8> {
    let name = header.params_id.as_bytes();
    let mut covered = vec![name.len() as u8];
    covered.extend(name);
    covered.extend(header.key_id);
    covered.extend(head);
    covered
}

/// The file of a kind that is under a passphrase. An accident to the file is told apart from a wrong passphrase: the
/// frame's checksum finds it.
///
/// Errors: `Frame` (damage, another kind of file), `Short`, `Cost`, `Key`, `Wrong`, `Holds`.
pub fn unlock(
    kind: Kind,
    file: &[u8],
    passphrase: &Passphrase,
) -> Result<Zeroizing<Vec<u8>>, LockError> {
    let (header, body) = frame::read_frame(file, Kind::Locked, MAX_LOCKED_BYTES)?;
    let mut body = Zeroizing::new(body);
    let end = body.len().checked_sub(TAG_BYTES);
    let Some(end) = end.filter(|end| *end >= HEAD_BYTES) else {
        return Err(LockError::Short(body.len()));
    };
    let (head, rest) = body.split_at_mut(HEAD_BYTES);
    let (content, tag) = rest.split_at_mut(end - HEAD_BYTES);
    let cost = asked(kind, head)?;
    let cipher = cipher(cost, &head[HEAD_BYTES - SALT_BYTES..], passphrase)?;
    let tag = Tag::try_from(&*tag).map_err(|_| LockError::Wrong)?;
    let covered = covered(&header, head);
    let opened = cipher.decrypt_inout_detached(&NONCE.into(), &covered, content.into(), &tag);
    opened.map_err(|_| LockError::Wrong)?;
    body.truncate(end);
    body.drain(..HEAD_BYTES);
    // From here on what was opened is read as a file in the clear is.
    publish(&mut body);
    let within = FrameReader::read_header(&body[..], kind, MAX_LOCKED_BYTES)?;
    within.header().expect_params(&header.params_id)?;
    within.header().expect_key(&header.key_id)?;
    Ok(body)
}

/// The cost that a file asks for, if it says that it holds what is wanted.
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
    // Marked here and not before: Argon2id itself looks up blocks at addresses that follow from the passphrase.
    hide(&key[..]);
    Ok(ChaCha20Poly1305::new((&*key).into()))
}

#[cfg(test)]
mod tests;
