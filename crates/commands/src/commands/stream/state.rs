//! The file of a session, shared by the process that advances it and the processes that make digests.

use crate::error::{CliError, InputError};
use crate::io::{self, Access};
use omr_detector::instantomr::{InstantDetector, Session};
use omr_protocol::instantomr::{InstantParams, SessionFile};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of bytes of the checksum at the end of a file.
const MARK: usize = 32;

/// The file of a session and its lock.
pub(super) struct State<'a> {
    path: PathBuf,
    params: &'a Arc<InstantParams>,
    detector: &'a Arc<InstantDetector>,
    /// The checksum of the file that was written last.
    written: Cell<Option<[u8; MARK]>>,
}

/// A lock that is held while a session is read, changed and written.
pub(super) struct Lock(#[allow(dead_code)] File);

impl<'a> State<'a> {
    pub(super) fn new(
        path: &Path,
        params: &'a Arc<InstantParams>,
        detector: &'a Arc<InstantDetector>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            params,
            detector,
            written: Cell::new(None),
        }
    }

    pub(super) fn params(&self) -> &InstantParams {
        self.params
    }

    /// Waits for the lock, which is released when dropped, also by a crash.
    ///
    /// Errors: `Write`.
    pub(super) fn lock(&self) -> Result<Lock, CliError> {
        let mut name = self.path.clone().into_os_string();
        name.push(".lock");
        let path = PathBuf::from(name);
        let locked = || {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            file.lock()?;
            Ok(Lock(file))
        };
        locked().map_err(|error: std::io::Error| CliError::write(&path, error))
    }

    /// Reads the session in the file, if there is one.
    ///
    /// Errors: `Input` for damage or another key.
    pub(super) fn read(&self, _: &Lock) -> Result<Option<Session>, CliError> {
        let read = || -> Result<Option<Session>, InputError> {
            let bytes = match fs::read(&self.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                bytes => bytes?,
            };
            let file = SessionFile::from_bytes(self.params, &bytes)?;
            self.written.set(bytes.last_chunk().copied());
            Ok(Some(Session::resume(self.detector.clone(), file)?))
        };
        read().map_err(CliError::input(&self.path))
    }

    /// Returns `kept`, unless another process has written the file since.
    ///
    /// Errors: those of [`State::read`]; `Input` where the file is gone.
    pub(super) fn newest(&self, lock: &Lock, kept: Option<Session>) -> Result<Session, CliError> {
        let mark = self.mark().map_err(InputError::from);
        let mark = mark.map_err(CliError::input(&self.path))?;
        match kept {
            Some(kept) if self.written.get() == Some(mark) => Ok(kept),
            _ => {
                let gone = || CliError::input(&self.path)(InputError::NoSession);
                self.read(lock)?.ok_or_else(gone)
            }
        }
    }

    fn mark(&self) -> std::io::Result<[u8; MARK]> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::End(-(MARK as i64)))?;
        let mut mark = [0; MARK];
        file.read_exact(&mut mark)?;
        Ok(mark)
    }

    /// Writes the session to the disk, whole or not at all.
    ///
    /// Errors: `Write`.
    pub(super) fn write(&self, _: &Lock, session: &Session) -> Result<(), CliError> {
        let bytes = session.to_file().to_bytes(self.params);
        let bytes = bytes.map_err(|error| CliError::write(&self.path, error))?;
        io::stage_bytes(&self.path, Access::Private, &bytes)?.commit(true)?;
        self.written.set(bytes.last_chunk().copied());
        Ok(())
    }
}
