//! Temporary files that neither a signal nor a crash leaves behind.
//!
//! What is written beside its place may be a secret: an [`Unfinished`] file is removed when it is dropped and, in a
//! program that calls [`remove_on_signals`], when a signal ends the process; [`sweep`] removes what a crash left.

mod leftovers;

pub use leftovers::{PREFIX, TemporaryFolder, Unfinished, folder_of};
pub use leftovers::{hold, remove_on_signals, sweep};

use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// The permissions of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever the user's mask lets.
    Public,
    /// The owner alone.
    Private,
}

/// A file in a folder under a name that [`sweep`] knows.
///
/// Errors: the system's.
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

/// A file in a folder under a name that [`sweep`] knows.
///
/// Errors: the system's.
#[cfg(not(unix))]
pub fn temporary(folder: &Path, _: Access) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}
