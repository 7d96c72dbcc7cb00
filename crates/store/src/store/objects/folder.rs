//! Objects as files of a folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::{Backend, Draft, KEYS_PREFIX, Pieces, READ_BYTES, Reader, failed};
use crate::database::{remove_if_present, sync_dir};
use crate::error::StoreError;
use crate::segment::SEGMENTS_PREFIX;

/// A character that occurs in the names of unfinished files only.
const DRAFT: char = '#';

/// A folder of objects.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The number of files begun so far.
    drafts: AtomicU64,
}

impl Folder {
    /// Opens the folder, and creates it if it does not exist. Removes unfinished files that a crash left.
    pub(super) fn open(path: PathBuf) -> Result<Self, StoreError> {
        for folder in [SEGMENTS_PREFIX, KEYS_PREFIX] {
            fs::create_dir_all(path.join(folder)).map_err(StoreError::file)?;
            remove_drafts(&path.join(folder))?;
        }
        remove_drafts(&path)?;
        // The names of these folders are synced with that of the marker. The folder itself must be durable before the
        // meta file.
        if let Some(parent) = path.parent() {
            sync_dir(parent)?;
        }
        let drafts = AtomicU64::new(0);
        Ok(Self { path, drafts })
    }

    fn begin(&self, name: &str) -> Result<FileDraft, StoreError> {
        let to = self.path.join(name);
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        let draft = self.path.join(format!("{name}{DRAFT}{number}"));
        let opened = File::create_new(&draft);
        Ok(FileDraft {
            name: name.to_owned(),
            file: opened.map_err(|error| failed(name, error))?,
            draft,
            to,
        })
    }
}

impl Backend for Folder {
    fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let mut draft = self.begin(name)?;
        draft.write(&bytes)?;
        draft.publish()
    }

    fn draft(&self, name: &str) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(self.begin(name)?))
    }

    fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let read = fs::read(self.path.join(name)).map(Bytes::from);
        found(read).map_err(|error| failed(name, error))
    }

    fn reader(&self, name: &str) -> Result<Option<Reader>, StoreError> {
        let file = found(File::open(self.path.join(name))).map_err(|error| failed(name, error))?;
        Ok(file.map(|file| {
            let name = name.to_owned();
            Box::new(FilePieces { name, file }) as Reader
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError> {
        list(&self.path.join(folder), folder).map_err(|error| failed(folder, error))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let removed = found(fs::remove_file(self.path.join(name)));
        removed.map(drop).map_err(|error| failed(name, error))
    }
}

/// Turns the error of a missing file into `None`.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn list(path: &Path, folder: &str) -> io::Result<Vec<(String, u64)>> {
    let mut out = Vec::new();
    let Some(entries) = found(fs::read_dir(path))? else {
        return Ok(out);
    };
    for entry in entries {
        let file = entry?;
        let file_name = file.file_name();
        let Some(name) = file_name.to_str().filter(|name| !name.contains(DRAFT)) else {
            continue;
        };
        // A file that is removed meanwhile is left out.
        if let Some(metadata) = found(fs::metadata(file.path()))?
            && metadata.is_file()
        {
            out.push((format!("{folder}/{name}"), metadata.len()));
        }
    }
    Ok(out)
}

fn remove_drafts(folder: &Path) -> Result<(), StoreError> {
    let entries = found(fs::read_dir(folder)).map_err(StoreError::file)?;
    for entry in entries.into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().contains(DRAFT) {
            remove_if_present(&path)?;
        }
    }
    Ok(())
}

/// An unfinished file, under another name.
struct FileDraft {
    name: String,
    file: File,
    draft: PathBuf,
    to: PathBuf,
}

impl FileDraft {
    fn publish(self) -> Result<(), StoreError> {
        let publish = || {
            omr_disk::sync(&self.file)?;
            fs::rename(&self.draft, &self.to)?;
            match self.to.parent() {
                Some(folder) => omr_disk::sync_folder(folder),
                None => Ok(()),
            }
        };
        publish().map_err(|error| failed(&self.name, error))
    }
}

impl Draft for FileDraft {
    fn write(&mut self, data: &[u8]) -> Result<(), StoreError> {
        self.file
            .write_all(data)
            .map_err(|error| failed(&self.name, error))
    }

    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        self.publish()
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        // A published file has another name; a file that stays here is removed at the next opening.
        let _ = fs::remove_file(&self.draft);
    }
}

/// A reader of a file.
struct FilePieces {
    name: String,
    file: File,
}

impl Pieces for FilePieces {
    fn next(&mut self) -> Result<Bytes, StoreError> {
        let mut out = Vec::new();
        let read = (&mut self.file)
            .take(READ_BYTES as u64)
            .read_to_end(&mut out);
        read.map_err(|error| failed(&self.name, error))?;
        Ok(Bytes::from(out))
    }
}
