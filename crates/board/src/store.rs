//! The database under a board: opened, guarded against its panics, closed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use omr_guard::Guarded;
use redb::{
    Builder, Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    StorageError,
};

use crate::error::{BoardError, Foreign, Holder, Redb};
use crate::format::REDB_MAGIC;

/// Bytes that redb may keep in memory for one open board.
const CACHE_BYTES: usize = 64 << 20;

/// Runs `f`, which calls redb, and turns a panic into [`BoardError::Panicked`].
pub(crate) fn guarded<T>(f: impl FnOnce() -> Result<T, BoardError>) -> Result<T, BoardError> {
    omr_guard::guarded(f)
}

/// Where the bytes of a board are.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    File(PathBuf),
    #[cfg(test)]
    Disk(crate::tests::disk::Disk),
}

impl Source {
    /// The path to name in errors.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            #[cfg(test)]
            Self::Disk(_) => PathBuf::new(),
        }
    }

    /// Bytes that the file takes, and its length.
    pub(crate) fn bytes(&self) -> io::Result<(u64, u64)> {
        match self {
            Self::File(path) => {
                let metadata = fs::metadata(path)?;
                Ok((allocated(&metadata), metadata.len()))
            }
            #[cfg(test)]
            Self::Disk(disk) => Ok((disk.len(), disk.len())),
        }
    }
}

/// What a handle may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
}

/// An open database.
pub(crate) enum Store {
    ReadWrite(Database),
    ReadOnly(ReadOnlyDatabase),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReadWrite(_) => "Store::ReadWrite",
            Self::ReadOnly(_) => "Store::ReadOnly",
        })
    }
}

impl Store {
    /// Opens the database at `source`, recovering it where a writer crashed.
    ///
    /// Errors: see [`crate::Board::open`].
    pub(crate) fn open(source: &Source, access: Access) -> Result<Guarded<Self>, BoardError> {
        match source {
            Source::File(path) => open_file(path, access),
            #[cfg(test)]
            Source::Disk(disk) => guarded(|| {
                let database = builder().create_with_backend(disk.attach()).map_err(Redb)?;
                Ok(Guarded::new(Self::ReadWrite(database)))
            }),
        }
    }

    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, BoardError> {
        let transaction = match self {
            Self::ReadWrite(database) => database.begin_read(),
            Self::ReadOnly(database) => database.begin_read(),
        };
        Ok(transaction.map_err(Redb)?)
    }

    /// Errors: [`BoardError::ReadOnly`].
    pub(crate) fn writable(&self) -> Result<&Database, BoardError> {
        match self {
            Self::ReadWrite(database) => Ok(database),
            Self::ReadOnly(_) => Err(BoardError::ReadOnly),
        }
    }
}

pub(crate) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
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

fn open_file(path: &Path, access: Access) -> Result<Guarded<Store>, BoardError> {
    require_redb(path)?;
    guarded(|| {
        let opened = match access {
            Access::ReadWrite => builder().open(path).map(Store::ReadWrite),
            Access::ReadOnly => builder().open_read_only(path).map(Store::ReadOnly),
        };
        opened
            .map(Guarded::new)
            .map_err(|error| opening(path, access, error))
    })
}

/// Tests that `path` starts as a redb file does.
fn require_redb(path: &Path) -> Result<(), BoardError> {
    let file = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => BoardError::Missing {
            path: path.to_owned(),
        },
        _ => BoardError::Io { source },
    })?;
    let mut start = Vec::new();
    file.take(REDB_MAGIC.len() as u64).read_to_end(&mut start)?;
    let what = match start.as_slice() {
        [] => Foreign::Empty,
        bytes if bytes != REDB_MAGIC => Foreign::NotRedb,
        _ => return Ok(()),
    };
    Err(BoardError::NotABoard {
        path: path.to_owned(),
        what,
    })
}

fn opening(path: &Path, access: Access, error: DatabaseError) -> BoardError {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen => {
            let holder = holder(&path, access);
            BoardError::Locked { path, holder }
        }
        DatabaseError::RepairAborted => BoardError::NeedsRecovery { path },
        // The magic number was there: the rest of the header is at fault.
        DatabaseError::Storage(StorageError::Io(source))
            if source.kind() == io::ErrorKind::InvalidData =>
        {
            BoardError::Damaged {
                source: Box::new(redb::Error::Io(source)),
            }
        }
        other => Redb(other).into(),
    }
}

/// Only a writer keeps readers out.
fn holder(path: &Path, access: Access) -> Holder {
    match (access, builder().open_read_only(path)) {
        (Access::ReadWrite, Err(DatabaseError::DatabaseAlreadyOpen)) | (Access::ReadOnly, _) => {
            Holder::Writer
        }
        (Access::ReadWrite, _) => Holder::Readers,
    }
}
