//! The passphrase of a stored secret: it is set, changed or removed.

use crate::keys::{SECRET_KEY, kept_bytes, secret_bytes};
use crate::{Home, MailError};
use omr_client::locked::{self, LockError, Passphrase};

impl Home {
    /// Returns whether the secret in the folder is under a passphrase.
    ///
    /// Errors: `File`.
    pub fn is_locked(&self) -> Result<bool, MailError> {
        let file = self.read(SECRET_KEY)?;
        Ok(file.is_some_and(|file| locked::is_locked(&file)))
    }

    /// Checks that the secret is there and that the passphrase opens it, if it is under one.
    ///
    /// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`.
    pub fn check_passphrase(&self) -> Result<(), MailError> {
        secret_bytes(self).map(drop)
    }

    /// Puts the secret, and those of retired identities, under another passphrase, or under none. The old passphrase is
    /// that of this value. An interrupted change is completed when it is repeated.
    ///
    /// Errors: `NoIdentity`, `File`, `Locked`, `Unlock`.
    pub fn set_passphrase(&self, new: Option<&Passphrase>) -> Result<(), MailError> {
        self.settle()?;
        // The identity's own secret determines which passphrase is the old one, so it comes last.
        for (_, retired) in self.retired()? {
            retired.set_own_passphrase(new)?;
        }
        self.set_own_passphrase(new)
    }

    fn set_own_passphrase(&self, new: Option<&Passphrase>) -> Result<(), MailError> {
        let mut home = Self::new(self.dir());
        if let Some(passphrase) = new {
            home = home.with_passphrase(passphrase.clone());
        }
        let secret = match secret_bytes(self) {
            Err(MailError::Unlock(_, LockError::Wrong)) if home.check_passphrase().is_ok() => {
                return Ok(());
            }
            secret => secret?,
        };
        home.write_bytes(SECRET_KEY, &kept_bytes(&home, &secret)?)
    }
}
