//! The partial file of an upload.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use crate::database::sync_dir;
use crate::error::StoreError;
use omr_errors::{Mismatch, hex};

#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) hash: [u8; 32],
    pub(crate) path: PathBuf,
    pub(crate) total: u64,
    /// A copy of `Progress::next` that can be read without the lock.
    pub(crate) received: AtomicU64,
    pub(crate) state: Mutex<Progress>,
}

#[derive(Debug)]
pub(crate) struct Progress {
    /// The number of bytes received, and the number of those that are synced and recorded.
    pub(crate) next: u64,
    pub(crate) durable: u64,
    /// The store's clock at the last chunk.
    pub(crate) touched: u64,
    pub(crate) file: Option<File>,
    /// Whether the upload is complete or deleted, and no longer in the map.
    pub(crate) over: bool,
}

impl Partial {
    pub(crate) fn new(dir: &Path, hash: [u8; 32], total: u64, touched: u64) -> Self {
        Self {
            hash,
            path: dir.join(format!("{}.part", hex(&hash))),
            total,
            received: AtomicU64::new(0),
            state: Mutex::new(Progress {
                next: 0,
                durable: 0,
                touched,
                file: None,
                over: false,
            }),
        }
    }

    /// Returns the part of a chunk that was not received before; `next` bytes of the key were received so far.
    ///
    /// Errors: [`StoreError::UploadOffset`], [`StoreError::UploadSize`].
    pub(crate) fn missing<'a>(
        &self,
        next: u64,
        offset: u64,
        data: &'a [u8],
    ) -> Result<&'a [u8], StoreError> {
        if offset > next {
            return Err(StoreError::UploadOffset(Mismatch::new(next, offset)));
        }
        let end = offset.saturating_add(data.len() as u64);
        if end > self.total {
            return Err(StoreError::UploadSize(Mismatch::new(self.total, end)));
        }
        let received = usize::try_from(next - offset).unwrap_or(usize::MAX);
        Ok(&data[received.min(data.len())..])
    }
}

impl Progress {
    pub(crate) fn file(&mut self, path: &Path) -> Result<&mut File, StoreError> {
        if self.file.is_none() {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(StoreError::file)?;
            self.file = Some(file);
            if let Some(dir) = path.parent() {
                sync_dir(dir)?;
            }
        }
        self.file.as_mut().ok_or(StoreError::Suspended)
    }

    pub(crate) fn write(&mut self, path: &Path, data: &[u8]) -> Result<(), StoreError> {
        let next = self.next;
        let file = self.file(path)?;
        file.seek(SeekFrom::Start(next)).map_err(StoreError::file)?;
        file.write_all(data).map_err(StoreError::file)?;
        self.next = next + data.len() as u64;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        if let Some(file) = &self.file {
            omr_disk::sync(file).map_err(StoreError::file)?;
            self.durable = self.next;
        }
        Ok(())
    }

    pub(crate) fn rewind(&mut self, path: &Path) -> Result<&mut File, StoreError> {
        let file = self.file(path)?;
        file.rewind().map_err(StoreError::file)?;
        Ok(file)
    }
}
