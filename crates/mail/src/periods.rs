//! Keys of periods of 30 days, to which letters are sealed so that a stolen device does not open old ones.
//!
//! The secrets are in the file `periods.key`, encrypted with a key of the identity's secret; the signed list of public
//! keys is in the profile, and so in the address. Secrets of a period are deleted by the first complete fetch that takes
//! place [`MARGIN`] seconds or more after it.

use crate::home::Home;
use crate::{Identity, Inbox, MailError, unix_now};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use omr_client::periods::{PERIODS_KEY, PeriodSecrets};
use omr_client::{SecretKey, Words, os_rng};
use omr_protocol::periods::{PeriodKeys, period_at, periods_listed};
use omr_protocol::{Mismatch, ParamSet, Sealing};
use omr_remote::v1;
use zeroize::Zeroizing;

/// The time in seconds after a period in which letters to its keys may still be posted.
const MARGIN: u64 = 7 * 86_400;
/// The highest difference of two clocks in seconds.
const CLOCKS: u64 = 43_200;

/// Refuses a board whose server has another time than this computer. A server that states none is accepted.
///
/// Errors: `Clock`.
pub(crate) fn check_clock(board: &v1::Board) -> Result<(), MailError> {
    let difference = unix_now().abs_diff(board.time);
    if board.time == 0 || difference <= CLOCKS {
        Ok(())
    } else {
        Err(MailError::Clock(difference))
    }
}

/// Reads the secrets of an identity's periods; `None` if it has none.
///
/// Errors: `Keys` if the address has keys of periods and the file is missing; `File`, `Period`.
pub(crate) fn read(
    identity: &Identity,
    secret: &SecretKey,
) -> Result<Option<PeriodSecrets>, MailError> {
    let home = &identity.home;
    match home.read(PERIODS_KEY)? {
        Some(file) => Ok(Some(opened(secret, &file)?)),
        None if identity.profile.periods.is_none() => Ok(None),
        None => {
            let keys = Mismatch::new("the secrets of the address's periods".into(), "none".into());
            Err(MailError::Keys(home.path(PERIODS_KEY), keys))
        }
    }
}

fn opened(secret: &SecretKey, file: &[u8]) -> Result<PeriodSecrets, MailError> {
    Ok(PeriodSecrets::from_file(&secret.storage_key(), file)?)
}

/// Returns the content of the file.
pub(crate) fn sealed(secret: &SecretKey, periods: &PeriodSecrets) -> Vec<u8> {
    periods.to_file(&secret.storage_key(), &mut os_rng())
}

/// Writes the secrets of a new secret's periods: those of the words, or random ones. It comes before the secret is
/// written, so that no secret is without them.
///
/// Errors: `File`.
pub(crate) fn begin(
    home: &Home,
    set: &ParamSet,
    secret: &SecretKey,
    words: Option<&Words>,
) -> Result<(), MailError> {
    let periods = match words {
        Some(words) => words.periods(set.clue(), secret.clues()),
        None => PeriodSecrets::generate(period_at(unix_now()), &mut os_rng()),
    };
    home.write_bytes(PERIODS_KEY, &sealed(secret, &periods))
}

/// Returns the list of public keys for a new identity's profile; `None` for keys that were in the folder without secrets
/// of periods, as only the permanent key opens letters to them, and where letters are not sealed.
///
/// Errors: `File`, `Period`.
pub(crate) fn complete(
    home: &Home,
    set: &ParamSet,
    secret: &SecretKey,
    words: Option<&Words>,
    sealing: Sealing,
) -> Result<Option<String>, MailError> {
    if sealing == Sealing::None {
        return Ok(None);
    }
    if words.is_some() && !home.has(PERIODS_KEY) {
        begin(home, set, secret, words)?;
    }
    let Some(file) = home.read(PERIODS_KEY)? else {
        return Ok(None);
    };
    let periods = opened(secret, &file)?;
    Ok(Some(list(&periods, secret, sealing, period_at(unix_now()))))
}

/// Returns the list for a profile, from the period `now` on.
fn list(periods: &PeriodSecrets, secret: &SecretKey, sealing: Sealing, now: u32) -> String {
    let keys = periods.keys(secret, sealing, now, periods_listed(sealing));
    STANDARD.encode(keys.to_bytes())
}

impl Identity {
    /// Returns the signed list of the public keys of periods; `None` if the identity has none.
    ///
    /// Errors: `Period`.
    pub fn period_keys(&self) -> Result<Option<PeriodKeys>, MailError> {
        let profile = &self.profile;
        let (Some(list), Some(signer)) = (&profile.periods, &profile.verifying_key) else {
            return Ok(None);
        };
        let bytes = STANDARD.decode(list).unwrap_or_default();
        Ok(Some(PeriodKeys::from_bytes(&bytes, signer)?))
    }

    /// Makes a new list of the public keys of periods when fewer than half of a list's periods are left. The address
    /// keeps its fingerprint.
    ///
    /// Errors: `File`, `Settings`, `Period`; those of [`Identity::secret`].
    pub(crate) fn renew_periods(&mut self) -> Result<(), MailError> {
        let Some(keys) = self.period_keys()? else {
            return Ok(());
        };
        let sealing = self.profile.sealing.unwrap_or(Sealing::HpkeX25519);
        let now = period_at(unix_now());
        if keys.end().saturating_sub(now) >= periods_listed(sealing) / 2 {
            return Ok(());
        }
        let secret = self.secret(&self.set()?)?;
        let Some(periods) = read(self, &secret)? else {
            return Ok(());
        };
        self.profile.periods = Some(list(&periods, &secret, sealing, now));
        self.save()
    }
}

/// The secrets of an identity's periods on the disk.
pub(crate) struct Kept {
    home: Home,
    key: Zeroizing<[u8; 32]>,
}

impl Kept {
    pub(crate) fn new(home: &Home, secret: &SecretKey) -> Self {
        Self {
            home: home.clone(),
            key: secret.storage_key(),
        }
    }

    /// Deletes the secrets of periods whose letters have all been received.
    ///
    /// Errors: `File`; those of the inbox.
    pub(crate) fn forget(
        &self,
        reader: &omr_inbox::Reader,
        inbox: &Inbox,
    ) -> Result<(), MailError> {
        let until = inbox.received_until()?.min(unix_now());
        let first = period_at(until.saturating_sub(MARGIN));
        let Some(mut left) = reader.periods() else {
            return Ok(());
        };
        if left.forget_before(first) {
            let sealed = left.to_file(&self.key, &mut os_rng());
            self.home.write_bytes(PERIODS_KEY, &sealed)?;
            reader.forget_periods(first);
        }
        Ok(())
    }
}
