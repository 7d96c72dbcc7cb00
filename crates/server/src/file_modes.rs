//! Files that other users of the machine must not read: keys of clients, names of tokens, and the owners of sessions.

use crate::error::ServerError;
use omr_store::{META_FILE, OBJECTS_DIR, UPLOADS_DIR};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes all files that this process creates from now on private to its user. Commands call this at their start.
pub fn create_private_files() {
    use rustix::fs::Mode;
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Removes permissions of other users that an earlier start may have left.
///
/// Errors: `Write`.
pub(crate) fn close(data: &Path) -> Result<(), ServerError> {
    for (name, mode) in [
        (META_FILE, 0o600),
        (OBJECTS_DIR, 0o700),
        (UPLOADS_DIR, 0o700),
    ] {
        let path = data.join(name);
        match restrict(&path, mode) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ServerError::write(&path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::metadata(path)?.permissions().mode() & 0o777;
    match found & !mode {
        0 => Ok(()),
        _ => fs::set_permissions(path, Permissions::from_mode(found & mode)),
    }
}
