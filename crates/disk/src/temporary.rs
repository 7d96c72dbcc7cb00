//! Temporary files that neither a signal nor a crash leaves behind.
//!
//! A file that is being written may contain a secret: an [`Unfinished`] file is removed when it is dropped and, in a
//! program that calls [`remove_on_signals`], when a signal ends the process; [`sweep`] removes files that a crash left.

mod leftovers;

pub use leftovers::{PREFIX, TemporaryFolder, Unfinished, folder_of};
pub use leftovers::{hold, remove_on_signals, sweep};

use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// The permissions of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The permissions that the user's mask allows.
    Public,
    /// Access for the owner only.
    Private,
}

/// Creates a file in a folder, with a name that [`sweep`] recognises.
///
/// Errors: those of the system.
#[cfg(unix)]
pub fn temporary(folder: &Path, access: Access) -> io::Result<NamedTempFile> {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    let mode = match access {
        Access::Public => 0o666,
        Access::Private => 0o600,
    };
    tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
}

/// Creates a file in a folder, with a name that [`sweep`] recognises.
///
/// Errors: those of the system.
#[cfg(not(unix))]
pub fn temporary(folder: &Path, _: Access) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}
