//! Opens and closes the database under a store, and catches its panics.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use omr_disk::guard::Guarded;
use redb::{
    Builder, Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    StorageError,
};

use crate::error::{Foreign, Holder, Redb, StoreError};

/// The greatest number of bytes that redb may keep in memory.
const CACHE_BYTES: usize = 64 << 20;
/// The first bytes of every redb file.
const REDB_MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";

/// Runs `f`, which calls redb, and turns a panic into [`StoreError::Panicked`].
pub(crate) fn guarded<T>(f: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    omr_disk::guard::guarded(f)
}

/// The place of the meta file's bytes.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    File(PathBuf),
    #[cfg(test)]
    Disk(crate::tests::disk::Disk),
}

/// The operations that a handle allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
}

/// An open database.
pub(crate) enum Handle {
    Writer(Database),
    Reader(ReadOnlyDatabase),
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Writer(_) => "Handle::Writer",
            Self::Reader(_) => "Handle::Reader",
        })
    }
}

impl Handle {
    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, StoreError> {
        let transaction = match self {
            Self::Writer(database) => database.begin_read(),
            Self::Reader(database) => database.begin_read(),
        };
        Ok(transaction.map_err(Redb)?)
    }

    /// Returns the database for writing.
    ///
    /// Errors: [`StoreError::ReadOnly`].
    pub(crate) fn writable(&self) -> Result<&Database, StoreError> {
        match self {
            Self::Writer(database) => Ok(database),
            Self::Reader(_) => Err(StoreError::ReadOnly),
        }
    }

    /// Returns the space of removed rows to the file system.
    ///
    /// Errors: [`StoreError::ReadOnly`], and those of the database. Nothing is lost by an error.
    pub(crate) fn compact(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Writer(database) => Ok(database.compact().map(drop).map_err(Redb)?),
            Self::Reader(_) => Err(StoreError::ReadOnly),
        }
    }
}

impl Source {
    /// Opens the database. A writer recovers it after a crash.
    ///
    /// Errors: [`StoreError::Missing`], [`StoreError::NotABoard`], [`StoreError::Locked`],
    /// [`StoreError::NeedsRecovery`] for a reader, and those of the database.
    pub(crate) fn open(&self, access: Access) -> Result<Guarded<Handle>, StoreError> {
        match self {
            Self::File(path) => open_file(path, access),
            #[cfg(test)]
            Self::Disk(disk) => guarded(|| {
                let database = builder().create_with_backend(disk.attach()).map_err(Redb)?;
                Ok(Guarded::new(Handle::Writer(database)))
            }),
        }
    }

    /// Returns the path for messages of errors.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            #[cfg(test)]
            Self::Disk(_) => PathBuf::new(),
        }
    }

    /// Returns the bytes that the file occupies, on Unix without its holes, and its length.
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

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    // Blocks are counted in units of 512 bytes on every file system.
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

fn open_file(path: &Path, access: Access) -> Result<Guarded<Handle>, StoreError> {
    require_redb(path)?;
    guarded(|| {
        let opened = match access {
            Access::ReadWrite => writer(File::options().read(true).write(true).open(path)?),
            Access::ReadOnly => builder().open_read_only(path).map(Handle::Reader),
        };
        opened
            .map(Guarded::new)
            .map_err(|error| opening(path, access, error))
    })
}

fn writer(file: File) -> Result<Handle, DatabaseError> {
    let database = builder().create_with_backend(omr_disk::database(file)?);
    database.map(Handle::Writer)
}

/// Tests that `path` starts as a redb file does.
fn require_redb(path: &Path) -> Result<(), StoreError> {
    let file = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            StoreError::Missing(path.to_owned())
        }
        _ => StoreError::file(source),
    })?;
    let mut start = Vec::new();
    file.take(REDB_MAGIC.len() as u64).read_to_end(&mut start)?;
    let what = match start.as_slice() {
        [] => Foreign::Empty,
        bytes if bytes != REDB_MAGIC => Foreign::NotRedb,
        _ => return Ok(()),
    };
    Err(StoreError::NotABoard {
        path: path.to_owned(),
        what,
    })
}

fn opening(path: &Path, access: Access, error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::Locked {
            path: path.to_owned(),
            holder: holder(path, access),
        },
        DatabaseError::RepairAborted => StoreError::NeedsRecovery(path.to_owned()),
        // The magic number was right, so another part of the header is damaged.
        DatabaseError::Storage(StorageError::Io(source))
            if source.kind() == io::ErrorKind::InvalidData =>
        {
            StoreError::Database(Box::new(redb::Error::Io(source)))
        }
        other => Redb(other).into(),
    }
}

/// Returns who has the file open. Readers are kept out only by a writer.
fn holder(path: &Path, access: Access) -> Holder {
    match (access, builder().open_read_only(path)) {
        (Access::ReadWrite, Err(DatabaseError::DatabaseAlreadyOpen)) | (Access::ReadOnly, _) => {
            Holder::Writer
        }
        (Access::ReadWrite, _) => Holder::Readers,
    }
}

/// Makes new names in the folder `dir` durable.
#[track_caller]
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    omr_disk::sync_folder(dir).map_err(StoreError::file)
}

/// Creates a folder and its parents.
///
/// Errors: [`StoreError::NotAFolder`], and those of the disk.
pub(crate) fn create_folder(path: &Path) -> Result<(), StoreError> {
    omr_disk::create_folders(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            StoreError::NotAFolder(path.to_owned())
        }
        _ => StoreError::file(error),
    })
}

pub(crate) fn remove_if_present(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::file(error)),
        _ => Ok(()),
    }
}
