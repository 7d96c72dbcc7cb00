//! Sealing keys of periods of 30 days: letters stay secret after the theft of a device, once the keys of their period
//! are deleted.
//!
//! A recipient has a chain of 32-byte states, one for each period. A state determines the sealing secret of its period
//! and the next state, and no earlier one. The recipient's address contains a signed list of public keys
//! ([`PeriodKeys`]); a sender seals to the key of the present period. The recipient deletes a state
//! ([`PeriodSecrets::forget_before`]) when everything that was posted during its period was received. Where a list has
//! no key of the present period, letters are sealed to the permanent key of the address. `docs/wire.md`, section 26,
//! defines the bytes.

use crate::derive::derived;
use crate::header::signing_key;
use crate::seal::SealSecret;
use crate::{SecretKey, StorageCipher};
use ed25519_dalek::Signer as _;
use omr_protocol::periods::{PeriodError, PeriodKeys, period_at};
use omr_protocol::{Mismatch, Sealing};
use rand_core::CryptoRng;
use std::fmt;
use zeroize::Zeroizing;

/// The name of the file of [`PeriodSecrets::to_file`] beside a recipient's secret key.
pub const PERIODS_KEY: &str = "periods.key";

/// The highest difference in seconds between the clocks of a sender and a recipient: letters to keys of a period are
/// read from this time before its beginning on.
const EARLY: u64 = 86_400;

/// Bytes of [`PeriodSecrets::to_file`].
pub const PERIODS_KEY_BYTES: usize = 12 + PERIOD_SECRETS_BYTES + 16;
/// Bytes of [`PeriodSecrets::to_bytes`].
pub const PERIOD_SECRETS_BYTES: usize = 4 + STATE_BYTES;
const STATE_BYTES: usize = 32;
const SEED_CONTEXT: &str = "omr period v1 sealing seed";
const NEXT_CONTEXT: &str = "omr period v1 next state";

/// Returns the last period to whose key a letter may be sealed. `now` is the time in seconds since 1970.
#[must_use]
pub fn last_period(now: u64) -> u32 {
    period_at(now.saturating_add(EARLY))
}

/// The secrets of a period and of all later ones, which are wiped when dropped.
#[derive(Clone)]
pub struct PeriodSecrets {
    first: u32,
    state: Zeroizing<[u8; STATE_BYTES]>,
}

/// Shows nothing of the secrets.
impl fmt::Debug for PeriodSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodSecrets")
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl PeriodSecrets {
    /// Makes new secrets, of the period `first` and later ones.
    pub fn generate(first: u32, rng: &mut impl CryptoRng) -> Self {
        let mut state = Zeroizing::new([0; STATE_BYTES]);
        rng.fill_bytes(state.as_mut());
        Self { first, state }
    }

    /// Parses the bytes of [`PeriodSecrets::to_bytes`].
    ///
    /// Errors: `Length`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PeriodError> {
        let wrong = || {
            let expected = PERIOD_SECRETS_BYTES.to_string();
            PeriodError::Length(Mismatch::new(expected, bytes.len()))
        };
        let (first, state) = bytes.split_first_chunk().ok_or_else(wrong)?;
        Ok(Self {
            first: u32::from_le_bytes(*first),
            state: Zeroizing::new(state.try_into().map_err(|_| wrong())?),
        })
    }

    /// Returns the number of the first period (4 bytes, little-endian) and its state.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; PERIOD_SECRETS_BYTES]> {
        let mut bytes = Zeroizing::new([0; PERIOD_SECRETS_BYTES]);
        let (first, state) = bytes.split_at_mut(4);
        first.copy_from_slice(&self.first.to_le_bytes());
        state.copy_from_slice(&self.state[..]);
        bytes
    }

    /// Returns the content of the file [`PERIODS_KEY`], encrypted with the key of [`SecretKey::storage_key`].
    pub fn to_file(&self, storage_key: &[u8; 32], rng: &mut impl CryptoRng) -> Vec<u8> {
        let bytes = self.to_bytes().to_vec();
        StorageCipher::new(storage_key).encrypt(&beside(), bytes, rng)
    }

    /// Decrypts the content of the file [`PERIODS_KEY`].
    ///
    /// Errors: `Sealed` if it was encrypted with another key, or was changed; `Length`.
    pub fn from_file(storage_key: &[u8; 32], file: &[u8]) -> Result<Self, PeriodError> {
        let opened = StorageCipher::new(storage_key).decrypt(&beside(), file);
        Self::from_bytes(&opened.ok_or(PeriodError::Sealed)?)
    }

    /// Returns the number of the first period with a secret.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Deletes the secrets of the periods before `period`. Returns whether there were any.
    pub fn forget_before(&mut self, period: u32) -> bool {
        let forgets = self.first < period;
        while self.first < period {
            self.state = derived(NEXT_CONTEXT, &self.state);
            self.first += 1;
        }
        forgets
    }

    /// Returns the sealing secrets of the periods up to `last`, the oldest first.
    #[must_use]
    pub fn secrets(&self, last: u32) -> Vec<SealSecret> {
        let mut left = self.clone();
        let mut secrets = Vec::new();
        while left.first <= last {
            let seed = derived(SEED_CONTEXT, &left.state);
            secrets.push(SealSecret::from_bytes(&seed[..]).expect("a seed's length"));
            left.forget_before(left.first + 1);
        }
        secrets
    }

    /// Returns the list of the public keys of `count` periods from `first` on, or from the first period with a secret if
    /// that is later, signed by the owner of the address.
    #[must_use]
    pub fn keys(&self, secret: &SecretKey, sealing: Sealing, first: u32, count: u32) -> PeriodKeys {
        let mut left = self.clone();
        left.forget_before(first);
        let (first, last) = (left.first, left.first + count.max(1) - 1);
        let secrets = left.secrets(last).into_iter().take(count as usize);
        let keys: Vec<u8> = secrets
            .flat_map(|secret| secret.public().key_bytes(sealing))
            .collect();
        let key = signing_key(secret);
        PeriodKeys::new(sealing, first, &keys, |message| {
            key.sign(message).to_bytes()
        })
    }
}

/// Returns the associated data of the file, which no record of an inbox has.
fn beside() -> Vec<u8> {
    [&[0], PERIODS_KEY.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{SealKey, open, seal};
    use crate::{identity, os_rng};
    use omr_protocol::periods::MOST_PERIOD_BYTES;
    use omr_protocol::{ClueKind, ParamSet};

    fn owner() -> SecretKey {
        let set = ParamSet::named("insecure-tiny-v4").unwrap();
        identity(set.clue(), ClueKind::Bound, &mut os_rng()).0
    }

    #[test]
    fn files_open_with_their_key_alone() {
        let secrets = PeriodSecrets::generate(3, &mut os_rng());
        let file = secrets.to_file(&[1; 32], &mut os_rng());
        let read = PeriodSecrets::from_file(&[1; 32], &file).unwrap();
        assert_eq!(read.to_bytes(), secrets.to_bytes());
        assert_ne!(secrets.to_file(&[1; 32], &mut os_rng()), file);
        assert_eq!(file.len(), PERIODS_KEY_BYTES);
        assert!(PeriodSecrets::from_file(&[2; 32], &file).is_err());
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(PeriodSecrets::from_file(&[1; 32], &changed).is_err());
            assert!(PeriodSecrets::from_file(&[1; 32], &file[..at]).is_err());
        }
    }

    #[test]
    fn each_period_has_a_key_of_its_own_and_a_deleted_one_opens_nothing() {
        let owner = owner();
        for sealing in [Sealing::HpkeX25519, Sealing::XWing] {
            let mut secrets = PeriodSecrets::generate(3, &mut os_rng());
            let keys = secrets.keys(&owner, sealing, 0, 4);
            assert_eq!((keys.first(), keys.end()), (3, 7));
            let read = PeriodKeys::from_bytes(keys.to_bytes(), &owner.verifying_key()).unwrap();
            assert_eq!(read, keys);
            for period in [2, 7] {
                assert_eq!(read.key(sealing, period), None);
            }
            assert_eq!(read.key(Sealing::None, 4), None);
            let sealed: Vec<Vec<u8>> = (3..7)
                .map(|period| {
                    let mut out = Vec::new();
                    let key = read.key(sealing, period).unwrap();
                    let key = SealKey::from_bytes(sealing, key).unwrap();
                    seal(&key, b"here", b"hello", &mut out).unwrap();
                    out
                })
                .collect();
            let opens = |secrets: &PeriodSecrets, sealed: &Vec<u8>| {
                let all = secrets.secrets(6);
                let opened = all.iter().map(|one| open(one, sealing, b"here", sealed));
                opened.filter(Result::is_ok).count()
            };
            assert!(sealed.iter().all(|sealed| opens(&secrets, sealed) == 1));
            // The state survives its file, and the way to a later one does not matter.
            let mut stored = PeriodSecrets::from_bytes(&secrets.to_bytes()[..]).unwrap();
            assert!(secrets.forget_before(4) && secrets.forget_before(5));
            assert!(stored.forget_before(5));
            assert!(!stored.forget_before(5) && !stored.forget_before(2));
            assert_eq!(stored.to_bytes(), secrets.to_bytes());
            let left: Vec<usize> = sealed.iter().map(|one| opens(&secrets, one)).collect();
            assert_eq!(left, [0, 0, 1, 1]);
        }
    }

    #[test]
    fn only_what_the_owner_signed_is_accepted() {
        let (owner, other) = (owner(), owner());
        let secrets = PeriodSecrets::generate(0, &mut os_rng());
        let keys = secrets.keys(&owner, Sealing::HpkeX25519, 2, 3);
        let key = owner.verifying_key();
        assert!(PeriodKeys::from_bytes(keys.to_bytes(), &other.verifying_key()).is_err());
        for at in 0..keys.to_bytes().len() {
            let mut changed = keys.to_bytes().to_vec();
            changed[at] ^= 1;
            assert!(PeriodKeys::from_bytes(&changed, &key).is_err(), "byte {at}");
            let cut = &keys.to_bytes()[..at];
            assert!(PeriodKeys::from_bytes(cut, &key).is_err(), "{at} bytes");
        }
        let long = vec![1; MOST_PERIOD_BYTES + 1];
        let error = PeriodKeys::from_bytes(&long, &key).unwrap_err();
        assert!(
            error.to_string().contains("expected 70 to 8192 bytes"),
            "{error}"
        );
        assert!(PeriodSecrets::from_bytes(&[0; 35]).is_err());
        assert!(PeriodSecrets::from_bytes(&[0; 37]).is_err());
    }
}
