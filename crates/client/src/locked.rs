//! Secrets at rest under a passphrase: Argon2id ([RFC 9106](https://www.rfc-editor.org/rfc/rfc9106)) and
//! ChaCha20-Poly1305.
//!
//! ```text
//! bytes   field              (all integers little endian)
//! 4       magic "OMRL"
//! 2       format version     1
//! 4       memory of Argon2id in KiB
//! 4       passes
//! 4       lanes
//! 16      salt
//! n       the secret's file, encrypted: nonce 0, as every salt makes a key of its own
//! 16      tag over everything above
//! ```
//!
//! Whoever has the file can try passphrases, at the cost that the header states: 256 MiB and half a second each.

use argon2::{Algorithm, Argon2, Version};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use std::fmt;
use zeroize::Zeroizing;

const MAGIC: &[u8; 4] = b"OMRL";
const VERSION: u16 = 1;
const SALT_BYTES: usize = 16;
const HEADER_BYTES: usize = 4 + 2 + 3 * 4 + SALT_BYTES;
const TAG_BYTES: usize = 16;
/// Most memory that a file may ask for, in KiB: 1 GiB.
const MOST_KIB: u32 = 1 << 20;
/// Most passes and lanes that a file may ask for.
const MOST_PASSES: u32 = 16;

/// Why a secret was not locked or unlocked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Nothing was typed.
    #[error("expected a passphrase of at least one character, found none")]
    Empty,
    /// Another passphrase, or a damaged file.
    #[error("the passphrase is wrong, or the file is damaged")]
    Wrong,
    /// Not such a file.
    #[error("expected {expected}, found {found}")]
    Header {
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: u64,
    },
    /// The machine has too little memory.
    #[error("deriving the key takes {kib} KiB of memory: {reason}")]
    Cost {
        /// KiB that the file asks for.
        kib: u32,
        /// What went wrong.
        reason: argon2::Error,
    },
}

/// What a person remembers. Wiped when dropped, never printed.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes a passphrase as it was typed.
    ///
    /// Errors: `Empty`.
    pub fn new(text: Zeroizing<String>) -> Result<Self, LockError> {
        match text.is_empty() {
            true => Err(LockError::Empty),
            false => Ok(Self(text)),
        }
    }
}

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
    lanes: 4,
};

/// Whether a file is under a passphrase.
#[must_use]
pub fn is_locked(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Encrypts a secret's file.
///
/// Errors: `Cost`.
pub fn lock(secret: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>, LockError> {
    lock_at(COST, secret, passphrase)
}

fn lock_at(cost: Cost, secret: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>, LockError> {
    let mut header = Vec::with_capacity(HEADER_BYTES + secret.len() + TAG_BYTES);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    for number in [cost.kib, cost.passes, cost.lanes] {
        header.extend(number.to_le_bytes());
    }
    let mut salt = [0; SALT_BYTES];
    rand_core::Rng::fill_bytes(&mut crate::os_rng(), &mut salt);
    header.extend(salt);
    let message = Payload {
        msg: secret,
        aad: &header,
    };
    let sealed = cipher(cost, &salt, passphrase)?.encrypt(&[0; 12].into(), message);
    let sealed = sealed.map_err(|_| LockError::Wrong)?;
    header.extend(sealed);
    Ok(header)
}

/// Decrypts a file of [`lock`].
///
/// Errors: `Header`, `Cost`, `Wrong`.
pub fn unlock(file: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, LockError> {
    let (header, sealed) = match file.split_at_checked(HEADER_BYTES) {
        Some((header, sealed)) if sealed.len() >= TAG_BYTES && is_locked(file) => (header, sealed),
        _ => {
            return Err(LockError::Header {
                expected: "a locked secret with its header",
                found: file.len() as u64,
            });
        }
    };
    let version = u16::from_le_bytes([header[4], header[5]]);
    within("format version 1", version.into(), 1, 1)?;
    let number = |at: usize| {
        let bytes: [u8; 4] = header[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let cost = Cost {
        kib: number(6),
        passes: number(10),
        lanes: number(14),
    };
    // Whoever changed the file does not take all memory or time.
    within("at most 1 GiB of memory", cost.kib, 8, MOST_KIB)?;
    within("1 to 16 passes", cost.passes, 1, MOST_PASSES)?;
    within("1 to 16 lanes", cost.lanes, 1, MOST_PASSES)?;
    let message = Payload {
        msg: sealed,
        aad: header,
    };
    let cipher = cipher(cost, &header[HEADER_BYTES - SALT_BYTES..], passphrase)?;
    let secret = cipher.decrypt(&[0; 12].into(), message);
    secret.map(Zeroizing::new).map_err(|_| LockError::Wrong)
}

fn within(expected: &'static str, found: u32, least: u32, most: u32) -> Result<(), LockError> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(LockError::Header {
            expected,
            found: found.into(),
        }),
    }
}

fn cipher(cost: Cost, salt: &[u8], passphrase: &Passphrase) -> Result<ChaCha20Poly1305, LockError> {
    let refused = |reason| LockError::Cost {
        kib: cost.kib,
        reason,
    };
    let params = argon2::Params::new(cost.kib, cost.passes, cost.lanes, Some(32));
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.map_err(refused)?);
    let mut key = Zeroizing::new([0; 32]);
    let derived = hash.hash_password_into(passphrase.0.as_bytes(), salt, &mut *key);
    derived.map_err(refused)?;
    Ok(ChaCha20Poly1305::new((&*key).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Cost = Cost {
        kib: 64,
        passes: 1,
        lanes: 1,
    };

    fn phrase(text: &str) -> Passphrase {
        Passphrase::new(Zeroizing::new(text.into())).unwrap()
    }

    #[test]
    fn a_secret_comes_back_under_its_passphrase_alone() {
        let locked = lock_at(CHEAP, b"a secret", &phrase("correct horse")).unwrap();
        assert!(is_locked(&locked) && !is_locked(b"OMRF"));
        assert!(!locked.windows(8).any(|bytes| bytes == b"a secret"));
        assert_eq!(**unlock(&locked, &phrase("correct horse")).unwrap(), *b"a secret");
        let wrong = unlock(&locked, &phrase("correct house"));
        assert!(matches!(wrong, Err(LockError::Wrong)));
        // Twice the same secret looks like two.
        assert_ne!(locked, lock_at(CHEAP, b"a secret", &phrase("correct horse")).unwrap());
        assert!(matches!(Passphrase::new(Zeroizing::default()), Err(LockError::Empty)));
    }

    #[test]
    fn damage_is_refused_everywhere() {
        let locked = lock_at(CHEAP, b"a secret", &phrase("x")).unwrap();
        for at in 0..locked.len() {
            let mut damaged = locked.clone();
            damaged[at] ^= 0x10;
            assert!(unlock(&damaged, &phrase("x")).is_err(), "{at}");
            assert!(unlock(&locked[..at], &phrase("x")).is_err(), "{at}");
        }
    }

    #[test]
    fn no_file_asks_for_all_memory() {
        let mut locked = lock_at(CHEAP, b"a secret", &phrase("x")).unwrap();
        locked[6..10].copy_from_slice(&(MOST_KIB + 1).to_le_bytes());
        let refused = unlock(&locked, &phrase("x"));
        assert!(matches!(refused, Err(LockError::Header { .. })));
    }

    #[test]
    fn the_usual_cost_is_stated_in_the_header() {
        let locked = lock(b"", &phrase("x")).unwrap();
        assert_eq!(locked.len(), HEADER_BYTES + TAG_BYTES);
        assert_eq!(locked[6..10], COST.kib.to_le_bytes());
        assert!(unlock(&locked, &phrase("x")).unwrap().is_empty());
    }
}
