//! Results of commands: their paths are checked before the work, and files get their names when they are complete.

use crate::files::is_standard;
use crate::{ConsoleError, WriteError};
use omr_disk::temporary::{Unfinished, folder_of, hold, sweep, temporary};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use omr_disk::temporary::Access;

/// The path of a result, which has been checked before the work.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    force: bool,
}

impl Output {
    /// Checks that a file can be written at a path (`-` is standard output). An existing file is replaced only with
    /// `force`; anything but a regular file (a pipe, a device) is written to in any case.
    ///
    /// Errors: `Exists`, `Write`.
    pub fn file(path: &Path, force: bool) -> Result<Self, ConsoleError> {
        let output = Self {
            path: path.to_owned(),
            force,
        };
        if is_standard(path) {
            return Ok(output);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ConsoleError::write(path, WriteError::IsFolder)),
            Ok(found) if !found.is_file() => Ok(output),
            Ok(_) if !force => Err(ConsoleError::Exists(path.to_owned())),
            _ => probe(folder_of(&target(path)?), path).map(|()| output),
        }
    }

    /// Checks that the result does not replace an input file, by any path or link. Standard input, `-`, is ignored.
    ///
    /// Errors: `Source`.
    pub fn apart_from<P: AsRef<Path>>(
        self,
        read: impl IntoIterator<Item = P>,
    ) -> Result<Self, ConsoleError> {
        let is_file = !is_standard(&self.path) && self.path.is_file();
        for input in read {
            let path = input.as_ref();
            if is_file && !is_standard(path) && is_same(&self.path, path) {
                return Err(ConsoleError::Source(self.path));
            }
        }
        Ok(self)
    }

    /// Checks that files can be written into a folder, or that the folder can be created; `-` is standard output.
    ///
    /// Errors: `Write`.
    pub fn folder(path: &Path) -> Result<(), ConsoleError> {
        if is_standard(path) {
            return Ok(());
        }
        let there = |path: &&Path| path.as_os_str().is_empty() || path.symlink_metadata().is_ok();
        match path.ancestors().find(there) {
            Some(empty) if empty.as_os_str().is_empty() => probe(Path::new("."), path),
            Some(found) if !found.is_dir() => Err(ConsoleError::write(path, WriteError::NoFolder)),
            Some(found) => probe(found, path),
            None => Ok(()),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the result. A regular file is replaced when the result is complete; anything else is written to directly.
    ///
    /// Errors: `Write`, `Output`; `Exists` if a file was created meanwhile.
    pub fn write(&self, bytes: &[u8]) -> Result<(), ConsoleError> {
        let path = &self.path;
        if is_standard(path) {
            let mut out = io::stdout().lock();
            let written = out.write_all(bytes).and_then(|()| out.flush());
            return written.map_err(ConsoleError::Output);
        }
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let write = || File::options().write(true).open(path)?.write_all(bytes);
            return write().map_err(|error: io::Error| ConsoleError::write(path, error));
        }
        stage_bytes(&target(path)?, Access::Public, bytes)?.commit(self.force)
    }
}

/// Returns whether two paths lead to one file; `false` if one of them leads nowhere.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        matches!((number(one), number(other)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(a), Ok(b)) if a == b)
}

/// Returns the target of a link, so that the link remains.
fn target(path: &Path) -> Result<PathBuf, ConsoleError> {
    if path.exists() {
        fs::canonicalize(path).map_err(|error| ConsoleError::write(path, error))
    } else {
        Ok(path.to_owned())
    }
}

/// Checks that files can be created in a folder. The error mentions `path`.
fn probe(folder: &Path, path: &Path) -> Result<(), ConsoleError> {
    let made = Unfinished::new(|| temporary(folder, Access::Private));
    made.map(drop)
        .map_err(|error| ConsoleError::write(path, error))
}

/// A complete file on the disk with a temporary name beside its path.
pub struct Staged {
    path: PathBuf,
    file: Unfinished,
}

impl Staged {
    /// Writes the file and waits for the disk.
    ///
    /// Errors: those of `write` and of the system; no file is left then.
    pub fn write<E: From<io::Error>>(
        path: &Path,
        access: Access,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<Self, E> {
        let folder = folder_of(path);
        sweep(folder);
        let mut file = Unfinished::new(|| temporary(folder, access))?;
        write(file.file())?;
        file.sync()?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final path. Without `force` it does not replace another file.
    ///
    /// Errors: `Exists`, `Write`.
    pub fn commit(self, force: bool) -> Result<(), ConsoleError> {
        commit(vec![self], force)
    }
}

/// Renames files to their final paths, without interruption by a signal.
///
/// Errors: `Exists`, `Write`.
pub fn commit(files: Vec<Staged>, force: bool) -> Result<(), ConsoleError> {
    let _uninterrupted = hold();
    for Staged { path, file } in files {
        match file.persist(&path, force) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ConsoleError::Exists(path));
            }
            named => named,
        }
        .map_err(|error| ConsoleError::write(&path, error))?;
    }
    Ok(())
}

/// Writes a result as [`Output::write`] does, and replaces an existing file.
///
/// Errors: `Write`, `Output`.
pub fn write_result(path: &Path, bytes: &[u8]) -> Result<(), ConsoleError> {
    let output = Output {
        path: path.to_owned(),
        force: true,
    };
    output.write(bytes)
}

/// Writes bytes as [`Staged::write`] does.
///
/// Errors: `Write`.
pub fn stage_bytes(path: &Path, access: Access, bytes: &[u8]) -> Result<Staged, ConsoleError> {
    let staged = Staged::write(path, access, |file| file.write_all(bytes));
    staged.map_err(|error: io::Error| ConsoleError::write(path, error))
}
