//! Who fetches into an inbox and decodes what came: one process at a time. Others may look at it meanwhile.

use crate::{Home, MailError};
use std::fs::{File, TryLockError};
use std::thread::sleep;
use std::time::Duration;

/// Name of the file that is locked by the process whose turn it is.
const LOCK: &str = "inbox.lock";

/// How often, and after which pause, a turn is tried for: whoever only decodes or forgets something is done by then.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The right to fetch into an inbox, until it is dropped. The system takes it back from a process that is killed.
pub(super) struct Turn {
    _locked: File,
}

impl Turn {
    /// Errors: `Busy` where another process, or another part of this one, has it; `File`.
    pub(super) fn take(home: &Home) -> Result<Self, MailError> {
        let file = home.lock_file(LOCK)?;
        for _ in 0..TRIES {
            match file.try_lock() {
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
