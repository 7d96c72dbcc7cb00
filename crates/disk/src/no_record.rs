//! The calls of builds that record nothing.

pub(crate) use redb::backends::FileBackend as Recorded;
use std::fs::File;
use std::io;

/// Returns `false`: no recording has synced the file.
pub(crate) fn synced(_: &File) -> io::Result<bool> {
    Ok(false)
}
