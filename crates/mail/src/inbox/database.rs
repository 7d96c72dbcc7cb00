//! The encrypted file of an inbox: checked as a whole when it is opened, guarded against what damage does later.

use crate::MailError;
use omr_disk::Key;
use omr_disk::guard::{Guarded, guarded};
use omr_disk::temporary::{Access, Unfinished, folder_of, sweep, temporary};
use omr_errors::OtherVersion;
use redb::{Builder, ConcurrencyMode, Database, ReadTransaction, TableDefinition, TableError};
use redb::{ReadableDatabase, StorageBackend, WriteTransaction};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of the file that this program reads and writes.
const VERSION: u32 = 1;
/// The version, under an empty key.
const FORMAT: TableDefinition<(), u32> = TableDefinition::new("format");
/// The number of bytes that the database may keep in memory.
const CACHE_BYTES: usize = 64 << 20;

/// An open database.
pub struct Store {
    db: Guarded<Database>,
    /// Whether anything was written since it was opened.
    changed: AtomicBool,
}

impl Store {
    /// Opens the file; creates an empty one where there is none. Every page is compared with its checksum.
    ///
    /// Time:   that of reading the file.
    /// Errors: `File`, `Busy`, `Damaged`, `OtherInbox`, `Database`, `Version`.
    pub(super) fn open(path: &Path, key: &Key) -> Result<Self, MailError> {
        match fs::metadata(path) {
            // The file is created under another name and then renamed, so it is never empty.
            Ok(file) if file.len() == 0 => return Err(MailError::Damaged(None)),
            Ok(_) => {}
            Err(_) => create(path, key)?,
        }
        guarded(|| {
            let file = fs::File::options().read(true).write(true).open(path);
            let storage = storage(path, file.map_err(MailError::file(path))?, key)?;
            let mut db = Guarded::new(builder().create_with_backend(storage)?);
            if !db.get_mut()?.check_integrity()? {
                // The database was repaired as far as possible; the missing records are unknown.
                return Err(MailError::Damaged(None));
            }
            let store = Self {
                db,
                changed: AtomicBool::new(false),
            };
            OtherVersion::check(VERSION, store.version()?).map_err(MailError::Version)?;
            Ok(store)
        })
    }

    /// Returns the version that the file states; 0 where it states none.
    fn version(&self) -> Result<u32, MailError> {
        match self.db.get()?.begin_read()?.open_table(FORMAT) {
            Ok(table) => Ok(table.get(())?.map_or(0, |version| version.value())),
            Err(TableError::TableDoesNotExist(_) | TableError::TableTypeMismatch { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs `look` on one state of the database.
    pub(super) fn reading<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        guarded(|| look(&self.db.get()?.begin_read()?))
    }

    /// Runs one transaction: afterwards all of it is on the disk, or nothing.
    pub(super) fn writing<T>(
        &self,
        steps: impl FnOnce(&WriteTransaction) -> Result<T, MailError>,
    ) -> Result<T, MailError> {
        guarded(|| {
            let tx = self.db.get()?.begin_write()?;
            let result = steps(&tx)?;
            self.changed.store(true, Ordering::Relaxed);
            tx.commit()?;
            Ok(result)
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.changed.load(Ordering::Relaxed) {
            // The file contains two states, the last and the one before. This makes them equal, so that a damaged
            // header cannot bring the older one back.
            let _ = self.writing(|_| Ok(()));
        }
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    // Readers do not wait for a process that fetches; writes of several processes follow one another.
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    builder
}

/// Returns the storage of a database in a file of a key.
///
/// Errors: `OtherInbox`, `Database`.
fn storage(
    path: &Path,
    file: fs::File,
    key: &Key,
) -> Result<impl StorageBackend + use<>, MailError> {
    let storage = omr_disk::encrypted_database(file, key)?;
    storage.ok_or_else(|| MailError::OtherInbox(path.to_owned()))
}

fn create(path: &Path, key: &Key) -> Result<(), MailError> {
    let dir = folder_of(path);
    // The file has mode 0600 from the start, so that no other user can ever read it.
    sweep(dir);
    let mut staged =
        Unfinished::new(|| temporary(dir, Access::Private)).map_err(MailError::file(path))?;
    let file = staged.file().try_clone().map_err(MailError::file(path))?;
    guarded(|| {
        let storage = storage(path, file, key)?;
        let db = Guarded::new(builder().create_with_backend(storage)?);
        let tx = db.get()?.begin_write()?;
        tx.open_table(FORMAT)?.insert((), VERSION)?;
        tx.commit()?;
        Ok::<(), MailError>(())
    })?;
    match staged.persist(path, false) {
        // Another process was faster.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        named => named.map_err(MailError::file(path)),
    }
}

/// Renames a file. Returns the new name, if there was a file.
///
/// Errors: `File`.
pub(super) fn put_aside(path: &Path) -> Result<Option<PathBuf>, MailError> {
    if !path.exists() {
        return Ok(None);
    }
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{number}"));
        PathBuf::from(name)
    };
    let free = (1..).map(named).find(|name| !name.exists());
    let aside = free.unwrap_or_else(|| named(0));
    // Creating the next file syncs both names.
    fs::rename(path, &aside).map_err(MailError::file(path))?;
    Ok(Some(aside))
}
