//! The making of a meta file: whole under its name, or not there.

use std::fs;
use std::io;
use std::path::Path;

use crate::config::BoardConfig;
use crate::database::{Guarded, builder, guarded, remove_if_present, sync_dir};
use crate::error::{Redb, StoreError};

/// Writes the meta file `path` by `fill`, under another name first.
///
/// Errors: [`StoreError::Exists`] where the file is there, and those of the disk.
pub(crate) fn publish(
    path: &Path,
    board: &BoardConfig,
    fill: impl FnOnce(&redb::Database) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let id = u128::from_be_bytes(board.board_id);
    let draft = path.with_added_extension(format!("{id:032x}"));
    remove_if_present(&draft)?;
    let published = guarded(|| {
        let database = Guarded::new(builder().create(&draft).map_err(Redb)?);
        fill(database.get()?)
    })
    .and_then(|()| link(&draft, path).map_err(StoreError::file));
    let removed = remove_if_present(&draft);
    match published {
        Err(StoreError::Io(source)) if source.kind() == io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Exists(path.to_owned()));
        }
        other => other?,
    }
    removed?;
    let dir = path.parent().unwrap_or(Path::new("."));
    sync_dir(dir)?;
    // The folder itself may be new.
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => Ok(()),
    }
}

/// Gives `draft` its name, never over another file where the file system has links.
fn link(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(draft, path),
        other => other,
    }
}
