//! The lock of fetching: one process at a time fetches into an inbox and decodes digests. Others may list it meanwhile.

use crate::{Home, MailError};
use std::fs::{File, TryLockError};
use std::thread::sleep;
use std::time::Duration;

/// The name of the file that is locked by the process that fetches.
const LOCK: &str = "inbox.lock";

/// The number of attempts to take the lock, with a pause after each: a process that only decodes or forgets something
/// is done by then.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The right to fetch into an inbox, until it is dropped. The system releases it when a process is killed.
pub(super) struct Turn {
    _locked: File,
}

impl Turn {
    /// Takes the right to fetch.
    ///
    /// Errors: `Busy` where another process, or another part of this one, has it; `File`.
    pub(super) fn take(home: &Home) -> Result<Self, MailError> {
        let file = home.lock_file(LOCK)?;
        for _ in 0..TRIES {
            match omr_disk::try_lock(&file) {
                Ok(()) => return Ok(Self { _locked: file }),
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                Err(TryLockError::Error(error)) => {
                    return Err(MailError::file(home.path(LOCK))(error));
                }
            }
        }
        Err(MailError::Busy)
    }
}
