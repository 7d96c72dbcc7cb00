//! A test of the database under a board, page by page.

use std::fs::File;

use redb::backends::FileBackend;
use redb::{DatabaseError, StorageBackend};

use crate::database::{Guarded, Source, builder, guarded};
use crate::error::{Redb, StoreError};
use crate::overlay::Overlay;

/// The state of the database under the rows, according to its own checksums.
#[derive(Debug)]
#[non_exhaustive]
pub enum Structure {
    /// Every page is intact.
    Sound,
    /// Some page is damaged, and the database could repair it, perhaps with a loss of messages.
    Inconsistent,
    /// The database cannot be repaired.
    Damaged(StoreError),
}

/// Lets redb check its pages, on a copy-on-write view: redb repairs in place what it can, which could roll back
/// acknowledged appends.
///
/// Errors: those of the operating system.
pub(crate) fn check_structure(source: &Source) -> Result<Structure, StoreError> {
    let checked = match source {
        Source::File(path) => {
            let file = FileBackend::new(File::open(path)?).map_err(Redb)?;
            check_view(Overlay::new(file)?)
        }
        #[cfg(test)]
        Source::Disk(disk) => check_view(Overlay::new(disk.attach())?),
    };
    match checked {
        Ok(true) => Ok(Structure::Sound),
        Ok(false) => Ok(Structure::Inconsistent),
        Err(error @ StoreError::Io(_)) => Err(error),
        Err(error) => Ok(Structure::Damaged(error)),
    }
}

fn check_view(view: Overlay<impl StorageBackend>) -> Result<bool, StoreError> {
    guarded(|| {
        let mut database = Guarded::new(builder().create_with_backend(view).map_err(Redb)?);
        let checked: Result<bool, DatabaseError> = database.get_mut()?.check_integrity();
        Ok(checked.map_err(Redb)?)
    })
}
