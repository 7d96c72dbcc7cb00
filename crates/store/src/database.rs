//! The database under a store: opened, guarded against its panics, closed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use omr_guard::Guarded;
use redb::{Builder, Database, DatabaseError, StorageError};

use crate::error::{Redb, StoreError};

/// Bytes that redb may keep in memory.
const CACHE_BYTES: usize = 64 << 20;
/// The first bytes of every redb file.
const REDB_MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";

/// Runs `f`, which calls redb, and turns a panic into [`StoreError::Panicked`].
pub(crate) fn guarded<T>(f: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    omr_guard::guarded(f)
}

/// Where the bytes of the meta file are.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    File(PathBuf),
    #[cfg(test)]
    Disk(crate::tests::disk::Disk),
}

impl Source {
    /// Opens the database, recovering it after a crash.
    ///
    /// Errors: [`StoreError::Missing`], [`StoreError::NotAStore`], [`StoreError::Locked`], and
    /// those of the database.
    pub(crate) fn open(&self) -> Result<Guarded<Database>, StoreError> {
        match self {
            Self::File(path) => open_file(path),
            #[cfg(test)]
            Self::Disk(disk) => guarded(|| {
                let database = builder().create_with_backend(disk.attach()).map_err(Redb)?;
                Ok(Guarded::new(database))
            }),
        }
    }

    /// The path to name in errors.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            #[cfg(test)]
            Self::Disk(_) => PathBuf::new(),
        }
    }

    /// Bytes the file takes, without its holes on Unix; 0 where the system does not tell.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::File(path) => fs::metadata(path).map_or(0, |metadata| allocated(&metadata)),
            #[cfg(test)]
            Self::Disk(disk) => disk.len(),
        }
    }
}

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    // In units of 512 bytes, whatever the file system.
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

pub(crate) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn open_file(path: &Path) -> Result<Guarded<Database>, StoreError> {
    let not_a_store = || StoreError::NotAStore {
        path: path.to_owned(),
    };
    let file = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Missing {
            path: path.to_owned(),
        },
        _ => StoreError::file(source),
    })?;
    let mut start = Vec::new();
    file.take(REDB_MAGIC.len() as u64).read_to_end(&mut start)?;
    if start != REDB_MAGIC {
        return Err(not_a_store());
    }
    guarded(|| match builder().open(path) {
        Ok(database) => Ok(Guarded::new(database)),
        Err(DatabaseError::DatabaseAlreadyOpen) => Err(StoreError::Locked {
            path: path.to_owned(),
        }),
        // The magic number was there: the rest of the header is at fault.
        Err(DatabaseError::Storage(StorageError::Io(source)))
            if source.kind() == io::ErrorKind::InvalidData =>
        {
            Err(StoreError::Database {
                source: Box::new(redb::Error::Io(source)),
            })
        }
        Err(other) => Err(Redb(other).into()),
    })
}

/// Makes new names in `dir` survive a crash.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    // Other systems neither need it nor open folders as files.
    if cfg!(unix) {
        File::open(dir)?.sync_all().map_err(StoreError::file)?;
    }
    Ok(())
}

pub(crate) fn remove_if_present(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::file(error)),
        _ => Ok(()),
    }
}
