//! The storage of a database whose syncs recordings note.

use super::recording;
use crate::locks::end_and_locks;
use redb::backends::FileBackend;
use redb::{DatabaseError, StorageBackend};
use std::fs::File;
use std::io;

/// A database's file whose syncs recordings note.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// A second handle of the file, which identifies it.
    file: File,
    backend: FileBackend,
}

impl Recorded {
    pub(crate) fn new(file: File) -> Result<Self, DatabaseError> {
        Ok(Self {
            file: file.try_clone()?,
            backend: FileBackend::new(file)?,
        })
    }
}

impl StorageBackend for Recorded {
    fn len(&self) -> io::Result<u64> {
        self.backend.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.backend.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.backend.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if recording::synced(&self.file)? {
            Ok(())
        } else {
            self.backend.sync_data()
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.backend.write(offset, data)
    }

    end_and_locks!(backend);
}
