//! Files: they are read with limits, and written whole or not at all.

pub(crate) use omr_console::files::{
    STANDARD, as_text, is_standard, json_line, print, print_json, read_file, shown,
};
pub(crate) use omr_console::{Access, Output, Staged, commit, stage_bytes, write_result};
pub(crate) use omr_disk::temporary::TemporaryFolder;

use crate::error::{CliError, InputError};
use omr_client::SecretKey;
use omr_console::ReadError;
use omr_detector::Progress;
use omr_detector::engine::{Engine, Loaded};
use omr_protocol::frame::{FrameHeader, FrameReader, Kind, Opened};
use omr_protocol::instantomr::{InstantKey, InstantParams};
use omr_protocol::{ClueKey, ClueParams, ParamSet};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A file with a checked header.
pub(crate) struct Framed {
    pub(crate) header: FrameHeader,
    path: PathBuf,
    file_len: u64,
    reader: Box<dyn Read>,
}

impl Framed {
    /// Opens a file (`-`: standard input) and checks that its header announces `kind`.
    ///
    /// Errors: `Input`.
    pub(crate) fn open(path: &Path, kind: Kind) -> Result<Self, CliError> {
        Self::open_inner(path, &[kind]).map_err(CliError::input(path))
    }

    /// Opens a file (`-`: standard input) of any of these kinds, at least one, and checks its header.
    ///
    /// Errors: `Input`; for a file of another kind the error names the first kind.
    pub(crate) fn open_any(path: &Path, kinds: &[Kind]) -> Result<Self, CliError> {
        Self::open_inner(path, kinds).map_err(CliError::input(path))
    }

    fn open_inner(path: &Path, kinds: &[Kind]) -> Result<Self, InputError> {
        let reader: Box<dyn Read> = if is_standard(path) {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path)?)
        };
        let opened = Opened::new::<InputError>(reader, kinds)?;
        if SECRETS.contains(&opened.header.kind) && !is_standard(path) {
            warn_if_shared(path);
        }
        Ok(Self {
            header: opened.header,
            path: path.to_owned(),
            file_len: opened.file_len,
            reader: Box::new(opened.reader),
        })
    }

    /// Returns bytes in memory as if they had been read from a file.
    ///
    /// Errors: `Input`.
    pub(crate) fn of_bytes(
        path: &Path,
        kind: Kind,
        bytes: Zeroizing<Vec<u8>>,
    ) -> Result<Self, CliError> {
        let frame = FrameReader::read_header(&bytes[..], kind, u64::MAX)
            .map_err(|error| CliError::input(path)(error.into()))?;
        let (header, file_len) = (frame.header().clone(), bytes.len() as u64);
        Ok(Self {
            header,
            path: path.to_owned(),
            file_len,
            reader: Box::new(Cursor::new(bytes)),
        })
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the parameter set of the header.
    ///
    /// Errors: `Input`.
    pub(crate) fn set(&self) -> Result<ParamSet, CliError> {
        let set = ParamSet::named(&self.header.params_id).map_err(InputError::from);
        set.map_err(CliError::input(&self.path))
    }

    /// Returns a reader of the whole file, including its header.
    pub(crate) fn into_reader(self) -> impl Read {
        self.reader
    }

    /// Returns the path, and a reader of the whole file that reports its progress in bytes.
    fn counted(self, progress: &dyn Progress) -> (PathBuf, Counted<'_>) {
        progress.stage(omr_console::progress::READING, self.file_len);
        let reader = self.reader;
        (self.path, Counted { reader, progress })
    }

    /// Returns the bytes of a file of at most `limit` bytes.
    ///
    /// Errors: `Input`.
    pub(crate) fn bytes_up_to(self, limit: u64) -> Result<Zeroizing<Vec<u8>>, CliError> {
        if self.file_len > limit {
            Err(CliError::input(self.path)(
                ReadError::TooLarge(limit).into(),
            ))
        } else {
            self.bytes()
        }
    }

    /// Returns the bytes of the whole file; of a longer file just enough to recognise that it is too long.
    ///
    /// Errors: `Input`.
    pub(crate) fn bytes(self) -> Result<Zeroizing<Vec<u8>>, CliError> {
        // The memory of a small file is reserved at once, so that a secret leaves no copies behind.
        let reserve = self.file_len.min(1 << 20) as usize + 2;
        let mut bytes = Zeroizing::new(Vec::with_capacity(reserve));
        let mut reader = self.reader.take(self.file_len.saturating_add(1));
        let read = reader.read_to_end(&mut bytes).map_err(InputError::from);
        read.map_err(CliError::input(self.path))?;
        Ok(bytes)
    }
}

/// Files that only their owner may read, unless they are under a passphrase.
const SECRETS: [Kind; 3] = [Kind::SecretKey, Kind::PdqSecretKey, Kind::Identity];

/// Warns if others on this machine can read a secret.
pub(crate) fn warn_if_shared(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok();
        // A pipe has only the intended reader.
        let file = found.filter(std::fs::Metadata::is_file);
        if let Some(mode) = file.map(|file| file.mode() & 0o777)
            && mode & 0o077 != 0
        {
            omr_console::progress::warn(&format!(
                "{}: expected a secret that its owner alone can read (mode 600), found mode {mode:o}: `chmod 600` mends \
                 that",
                shown(path)
            ));
        }
    }
}

/// Returns the name of a letter's file. It begins with the letter's number, so that no stranger decides which file is
/// written.
pub(crate) fn numbered(number: u64, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{number:06}-{name}"),
        None => format!("{number:06}.bin"),
    }
}

/// Returns the name of a letter from its file's path; standard input has no name.
pub(crate) fn name(path: &Path) -> Option<String> {
    let name = path.file_name().filter(|_| !is_standard(path))?;
    Some(name.to_string_lossy().into_owned())
}

/// Reads an address.
///
/// Errors: `Input`.
pub(crate) fn read_clue_key(file: Framed, params: &ClueParams) -> Result<ClueKey, CliError> {
    let path = file.path.clone();
    let key = ClueKey::from_bytes(params, &file.bytes()?).map_err(InputError::from);
    key.map_err(CliError::input(path))
}

/// Reads a secret key.
///
/// Errors: `Input`.
pub(crate) fn read_secret_key(file: Framed, params: &ClueParams) -> Result<SecretKey, CliError> {
    let path = file.path.clone();
    let key = SecretKey::from_bytes(params, &file.bytes()?).map_err(InputError::from);
    key.map_err(CliError::input(path))
}

/// A reader that counts the bytes.
struct Counted<'a> {
    reader: Box<dyn Read>,
    progress: &'a dyn Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

/// Loads a detection key without holding its file in memory.
///
/// Errors: `Input`.
pub(crate) fn load_key(
    file: Framed,
    engine: &dyn Engine,
    progress: &dyn Progress,
) -> Result<Arc<dyn Loaded>, CliError> {
    let (path, mut reader) = file.counted(progress);
    let key = engine.load(&mut reader).map_err(InputError::from);
    key.map_err(CliError::input(path))
}

/// Reads a detection key for InstantOMR without holding its file in memory.
///
/// Errors: `Input`.
pub(crate) fn read_instant_key(
    file: Framed,
    params: &InstantParams,
    progress: &dyn Progress,
) -> Result<InstantKey, CliError> {
    let (path, reader) = file.counted(progress);
    let key = InstantKey::read(params, reader).map_err(InputError::from);
    key.map_err(CliError::input(path))
}

/// Writes a file by [`Staged::write`], with errors of this crate.
///
/// Errors: `Write`; no file is left behind.
pub(crate) fn stage(
    path: &Path,
    access: Access,
    write: impl FnOnce(&mut File) -> Result<(), InputError>,
) -> Result<Staged, CliError> {
    Staged::write(path, access, write).map_err(|source| CliError::write(path, source))
}
