//! Results: looked at before the work, written beside their place, named when they are complete.

use super::is_standard;
use crate::error::{CliError, InputError};
use omr_staging::{Unfinished, hold, sweep, temporary};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) use omr_staging::Access;

/// Where a result will go: looked at before the work is done.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    path: PathBuf,
    force: bool,
}

impl Output {
    /// Checks that a file can be written there; `-` is standard output. A file that exists is replaced only with
    /// `force`; what is no regular file (a pipe, a device) is written to in any case.
    ///
    /// Errors: `Exists`, `Write`.
    pub(crate) fn file(path: &Path, force: bool) -> Result<Self, CliError> {
        let output = Self {
            path: path.to_owned(),
            force,
        };
        if is_standard(path) {
            return Ok(output);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(CliError::write(path, InputError::IsFolder)),
            Ok(found) if !found.is_file() => Ok(output),
            Ok(_) if !force => Err(CliError::Exists {
                path: path.to_owned(),
            }),
            _ => probe(&folder(&target(path)?), path).map(|()| output),
        }
    }

    /// Checks that files can be written into a folder, or that it can be made; `-` is standard output.
    ///
    /// Errors: `Write`.
    pub(crate) fn folder(path: &Path) -> Result<(), CliError> {
        if is_standard(path) {
            return Ok(());
        }
        let there = |path: &&Path| path.as_os_str().is_empty() || path.symlink_metadata().is_ok();
        match path.ancestors().find(there) {
            Some(empty) if empty.as_os_str().is_empty() => probe(Path::new("."), path),
            Some(found) if !found.is_dir() => Err(CliError::write(path, InputError::NoFolder)),
            Some(found) => probe(found, path),
            None => Ok(()),
        }
    }

    /// Where it goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the result: in place to what is no regular file, else to a file that is complete or as before.
    ///
    /// Errors: `Write`, `Output`, `Exists` where a file came meanwhile.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        let path = &self.path;
        if is_standard(path) {
            let mut out = io::stdout().lock();
            let written = out.write_all(bytes).and_then(|()| out.flush());
            return written.map_err(CliError::Output);
        }
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let write = || File::options().write(true).open(path)?.write_all(bytes);
            return write().map_err(|error: io::Error| CliError::write(path, error));
        }
        stage_bytes(&target(path)?, Access::Public, bytes)?.commit(self.force)
    }
}

/// Where a link points, so that it keeps pointing there.
fn target(path: &Path) -> Result<PathBuf, CliError> {
    match path.exists() {
        true => fs::canonicalize(path).map_err(|error| CliError::write(path, error)),
        false => Ok(path.to_owned()),
    }
}

/// Checks that a folder takes files; `path` is what the error names.
fn probe(folder: &Path, path: &Path) -> Result<(), CliError> {
    let made = Unfinished::new(|| temporary(folder, Access::Private));
    made.map(drop).map_err(|error| CliError::write(path, error))
}

/// A file written beside its place and on the disk, not yet under its name.
pub(crate) struct Staged {
    path: PathBuf,
    file: Unfinished,
}

impl Staged {
    /// Writes the file and waits for the disk.
    ///
    /// Errors: `Write`; nothing is left behind.
    pub(crate) fn write(
        path: &Path,
        access: Access,
        write: impl FnOnce(&mut File) -> Result<(), InputError>,
    ) -> Result<Self, CliError> {
        let staged = || -> Result<Self, InputError> {
            let folder = folder(path);
            sweep(&folder);
            let mut file = Unfinished::new(|| temporary(&folder, access))?;
            write(file.file())?;
            file.file().sync_all()?;
            Ok(Self {
                path: path.to_owned(),
                file,
            })
        };
        staged().map_err(|source| CliError::write(path, source))
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name; without `force` never over another file.
    ///
    /// Errors: `Exists`, `Write`.
    pub(crate) fn commit(self, force: bool) -> Result<(), CliError> {
        commit(vec![self], force)
    }
}

/// Gives files their names; a signal does not come between them.
///
/// Errors: `Exists`, `Write`.
pub(crate) fn commit(files: Vec<Staged>, force: bool) -> Result<(), CliError> {
    let _uninterrupted = hold();
    for Staged { path, file } in files {
        match file.persist(&path, force) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(CliError::Exists { path });
            }
            named => named.and_then(|()| sync_folder(&folder(&path))),
        }
        .map_err(|error| CliError::write(&path, error))?;
    }
    Ok(())
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a new name survive a crash.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems neither need it nor open folders as files.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// [`Output::write`] over whatever is there.
///
/// Errors: `Write`, `Output`.
pub(crate) fn write_result(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let output = Output {
        path: path.to_owned(),
        force: true,
    };
    output.write(bytes)
}

/// [`Staged::write`] of bytes at hand.
///
/// Errors: `Write`.
pub(crate) fn stage_bytes(path: &Path, access: Access, bytes: &[u8]) -> Result<Staged, CliError> {
    Staged::write(path, access, |file| Ok(file.write_all(bytes)?))
}
