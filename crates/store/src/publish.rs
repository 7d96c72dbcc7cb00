//! Creation of a meta file, which appears under its name whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::config::BoardConfig;
use crate::database::{Guarded, builder, guarded, remove_if_present, sync_dir};
use crate::error::{Redb, StoreError};

/// Creates the meta file `path`. It has another name while `fill` writes it.
///
/// Errors: [`StoreError::Exists`] where the file exists, and those of the disk.
pub(crate) fn publish(
    path: &Path,
    board: &BoardConfig,
    fill: impl FnOnce(&redb::Database) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let id = u128::from_be_bytes(board.board_id);
    let draft = path.with_added_extension(format!("{id:032x}"));
    remove_if_present(&draft)?;
    let published = guarded(|| {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&draft)?;
        let backend = omr_disk::database(file).map_err(Redb)?;
        let database = Guarded::new(builder().create_with_backend(backend).map_err(Redb)?);
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
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// Renames `draft` to `path`. Never replaces another file, if the file system has hard links.
fn link(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(draft, path),
        other => other,
    }
}
