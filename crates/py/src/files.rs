//! Files from Python, as bytes or by their path; files are written whole or not at all.

use crate::buffer::Buffer;
use crate::fault::Fault;
use omr_detector::Held;
use omr_disk::temporary::{Access, Unfinished, folder_of, temporary};
use pyo3::prelude::*;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A file: its bytes or its path.
pub(crate) enum Given {
    /// `bytes` or another buffer of bytes.
    Bytes(Buffer),
    /// `str` or `os.PathLike`.
    Path(PathBuf),
}

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(of: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match of.extract() {
            Ok(path) => Ok(Self::Path(path)),
            Err(_) => Ok(Self::Bytes(of.extract()?)),
        }
    }
}

/// The highest number of bytes of an address or a secret, locked or not.
const MOST_OF_A_SMALL_FILE: u64 = 1 << 21;

impl Given {
    /// Returns a reader of the file.
    ///
    /// Errors: `Io`.
    pub(crate) fn reader(&self) -> Result<Box<dyn Read + Send + '_>, Fault> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(bytes.file()),
            Self::Path(path) => Box::new(File::open(path)?),
        })
    }

    /// Returns the bytes of an address or a secret. Of a longer file it returns the beginning, which is then refused as
    /// too long.
    ///
    /// Errors: `Io`.
    pub(crate) fn small(&self) -> Result<Zeroizing<Vec<u8>>, Fault> {
        self.up_to(MOST_OF_A_SMALL_FILE)
    }

    /// Returns the bytes, at most `most` of them.
    ///
    /// Errors: `Io`.
    pub(crate) fn up_to(&self, most: u64) -> Result<Zeroizing<Vec<u8>>, Fault> {
        // The memory is reserved at once, so that a secret leaves no copies behind.
        let reserve = match self {
            Self::Bytes(bytes) => bytes.bytes() as u64,
            Self::Path(path) => fs::metadata(path)?.len(),
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(reserve.min(most) as usize + 2));
        self.reader()?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns the passphrase for a secret's file, or `None` if the file is wanted without one.
///
/// Errors: `Protection` for both or neither.
pub(crate) fn protection(
    passphrase: Option<String>,
    plain: bool,
) -> Result<Option<Zeroizing<String>>, Fault> {
    let passphrase = passphrase.map(Zeroizing::new);
    match (passphrase.is_some(), plain) {
        (true, true) => Err(Fault::Protection("both")),
        (false, false) => Err(Fault::Protection("neither")),
        _ => Ok(passphrase),
    }
}

/// Writes a file under a temporary name and renames it when it is complete. Without `overwrite` it never replaces
/// another file.
///
/// Errors: those of `write`; `Io`.
pub(crate) fn save(
    path: &Path,
    access: Access,
    overwrite: bool,
    write: impl FnOnce(&mut File) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if !overwrite && fs::symlink_metadata(path).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let mut file = Unfinished::new(|| temporary(folder_of(path), access))?;
    write(file.file())?;
    file.sync()?;
    Ok(file.persist(path, overwrite)?)
}

/// Writes a public file whose bytes are in memory.
///
/// Errors: those of [`save`].
pub(crate) fn save_public(path: &Path, overwrite: bool, bytes: &[u8]) -> Result<(), Fault> {
    save(path, Access::Public, overwrite, |file| {
        Ok(file.write_all(bytes)?)
    })
}
