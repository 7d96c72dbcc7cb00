//! Files that are written as a whole or not at all, and survive a power failure.
//!
//! Every program of the workspace that must not lose a file calls the functions here instead of the system's, so that
//! tests with the feature `record` see each call and can rebuild the folder as a power failure would have left it.
//! [`temporary`] has files that neither a signal nor a crash leaves behind, and [`guard`] turns panics of the database
//! library into errors.
#![forbid(unsafe_code)]

#[cfg(feature = "encrypted")]
mod encrypted;
pub mod guard;
#[cfg(any(feature = "encrypted", all(unix, feature = "record")))]
mod locks;
pub mod temporary;

#[cfg_attr(not(all(unix, feature = "record")), path = "no_record.rs")]
mod record;

#[cfg(feature = "encrypted")]
pub use encrypted::Key;
#[cfg(all(unix, feature = "record"))]
pub use record::{History, Loss, Recording, Site};

#[cfg(unix)]
use rustix::{fs::FlockOperation, io::Errno};
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Waits for the exclusive lock of a file, which ends when the file is closed.
///
/// Errors: those of the system.
pub fn lock(file: &File) -> io::Result<()> {
    // The standard library has no locks on Android.
    #[cfg(unix)]
    return Ok(rustix::fs::flock(file, FlockOperation::LockExclusive)?);
    #[cfg(not(unix))]
    file.lock()
}

/// Takes the exclusive lock of a file, which ends when the file is closed.
///
/// Errors: `WouldBlock` where another opening of the file has it; those of the system.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    #[cfg(unix)]
    return match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(TryLockError::WouldBlock),
        taken => taken.map_err(|error| TryLockError::Error(error.into())),
    };
    #[cfg(not(unix))]
    file.try_lock()
}

/// Waits until the content of a file is on the disk. A new file also needs [`sync_folder`].
///
/// Errors: those of the system.
#[track_caller]
pub fn sync(file: &File) -> io::Result<()> {
    if record::synced(file)? {
        Ok(())
    } else {
        file.sync_all()
    }
}

/// Waits until the names in a folder are on the disk, after files were created, renamed, linked or removed.
///
/// Errors: those of the system.
#[track_caller]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems do not need it and cannot open folders as files.
    if cfg!(unix) {
        sync(&File::open(folder)?)
    } else {
        Ok(())
    }
}

/// Creates a folder and its missing parents, and waits until their names are on the disk.
///
/// Errors: those of the system.
#[track_caller]
pub fn create_folders(folder: &Path) -> io::Result<()> {
    create_folders_with(folder, |missing| std::fs::create_dir(missing))
}

/// Creates a folder by `create`, and its missing parents as usual, and waits until their names are on the disk.
///
/// Errors: those of the system and of `create`.
#[track_caller]
pub fn create_folders_with(
    folder: &Path,
    create: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    create_folders(parent)?;
    match create(folder) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync_folder(parent)
}

/// Opens the storage of a database in a file. Recordings note its syncs.
///
/// Errors: those of redb.
pub fn database(file: File) -> Result<impl redb::StorageBackend, redb::DatabaseError> {
    record::Recorded::new(file)
}

/// Opens the storage of a database in a file that is encrypted with a key; an empty file becomes one. Returns `None` for
/// a file of another key, and for one that is not encrypted. Recordings note its syncs.
///
/// Errors: those of redb.
#[cfg(feature = "encrypted")]
pub fn encrypted_database(
    file: File,
    key: &Key,
) -> Result<Option<impl redb::StorageBackend + use<>>, redb::DatabaseError> {
    let plain = record::Recorded::new(file)?;
    Ok(encrypted::Encrypted::new(plain, key)?)
}
