//! Uploads of keys: partial files, which are continued after an interruption or a crash.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Store;
use super::objects::key_name;
use super::partial::{Partial, Progress};
use crate::database::remove_if_present;
use crate::error::StoreError;
use crate::format::{KEYS, UPLOADS, hash_of, numbers, pack};
use crate::meta::{Meta, Outcome, lock};
use omr_errors::Mismatch;

/// The number of bytes received between two syncs of a partial file.
const SYNC_BYTES: u64 = 16 << 20;
/// The least number of bytes that an upload counts in the limit, which bounds the number of files, too.
const LEAST_BYTES: u64 = 1 << 20;
const COPY_BYTES: usize = 1 << 20;

/// The progress of a key's upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upload {
    /// The offset of the next chunk: the length of the key once nothing is missing.
    pub next_offset: u64,
    /// Whether the key is stored, whole and checked.
    pub complete: bool,
}

/// The unfinished uploads.
#[derive(Debug)]
pub(crate) struct Uploads {
    dir: PathBuf,
    limit: u64,
    live: Mutex<HashMap<[u8; 32], Arc<Partial>>>,
}

impl Uploads {
    /// Continues the uploads in the table, and removes other files from the folder.
    pub(crate) fn open(dir: PathBuf, limit: u64, meta: &Meta) -> Result<Self, StoreError> {
        fs::create_dir_all(&dir).map_err(StoreError::file)?;
        let mut live = HashMap::new();
        let rows = meta.view(|view| {
            view.list(UPLOADS, |key, value| {
                let numbers: [u64; 3] = numbers("uploads", key, value)?;
                Ok((hash_of("uploads", key)?, numbers))
            })
        })?;
        for fault in &rows.faults {
            tracing::warn!(%fault, "an upload under way is dropped: its client begins again");
        }
        if !rows.faults.is_empty() {
            meta.transact(|writing, _| {
                writing.drop_damaged(UPLOADS)?;
                Ok(Outcome::Commit(()))
            })?;
        }
        for (hash, [total, durable, touched]) in rows.intact {
            let partial = Partial::new(&dir, hash, total, touched);
            // If the file is shorter than recorded, the upload continues at the end of the file.
            let bytes = fs::metadata(&partial.path).map_or(0, |metadata| metadata.len());
            let mut progress = lock(&partial.state);
            progress.next = durable.min(bytes);
            progress.durable = progress.next;
            partial.received.store(progress.next, Relaxed);
            drop(progress);
            live.insert(hash, Arc::new(partial));
        }
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if !live.values().any(|partial| partial.path == path) {
                remove_if_present(&path)?;
            }
        }
        Ok(Self {
            dir,
            limit,
            live: Mutex::new(live),
        })
    }

    /// Returns the number of bytes received.
    pub(crate) fn bytes(&self) -> u64 {
        let live = lock(&self.live);
        live.values()
            .map(|partial| partial.received.load(Relaxed))
            .sum()
    }

    fn find(&self, hash: &[u8; 32]) -> Option<Arc<Partial>> {
        lock(&self.live).get(hash).cloned()
    }

    /// Returns the unfinished upload of a key, or a new one if there is space for its beginning.
    ///
    /// Errors: [`StoreError::UploadSpace`].
    fn begin(&self, hash: [u8; 32], total: u64, now: u64) -> Result<Arc<Partial>, StoreError> {
        let mut live = lock(&self.live);
        if let Some(partial) = live.get(&hash) {
            return Ok(partial.clone());
        }
        self.check_space(taken(&live).saturating_add(LEAST_BYTES))?;
        let partial = Arc::new(Partial::new(&self.dir, hash, total, now));
        live.insert(hash, partial.clone());
        Ok(partial)
    }

    /// Tests that there is space for `bytes` more bytes.
    ///
    /// Errors: [`StoreError::UploadSpace`].
    fn check_more(&self, partial: &Partial, bytes: u64) -> Result<(), StoreError> {
        let received = partial.received.load(Relaxed);
        let counted = received.max(LEAST_BYTES);
        let more = received.saturating_add(bytes).max(LEAST_BYTES) - counted;
        match more {
            0 => Ok(()),
            more => self.check_space(taken(&lock(&self.live)).saturating_add(more)),
        }
    }

    fn check_space(&self, found: u64) -> Result<(), StoreError> {
        let limit = self.limit;
        if found <= limit {
            Ok(())
        } else {
            Err(StoreError::UploadSpace(Mismatch::new(limit, found)))
        }
    }
}

/// Returns the bytes that uploads count in the limit. These are the bytes received, since announcing more costs a
/// client nothing.
fn taken(live: &HashMap<[u8; 32], Arc<Partial>>) -> u64 {
    let counted = |partial: &Arc<Partial>| partial.received.load(Relaxed).max(LEAST_BYTES);
    live.values().map(counted).fold(0, u64::saturating_add)
}

impl Store {
    /// Begins or continues the upload of the key whose BLAKE3 hash is `hash`.
    ///
    /// Errors: [`StoreError::UploadSize`] where `total` is 0 or differs from the announced length,
    /// [`StoreError::UploadSpace`], and those of [`Store::upload_chunk`] if all bytes of an earlier upload were
    /// received and only its end failed.
    pub fn upload(&self, hash: [u8; 32], total: u64) -> Result<Upload, StoreError> {
        let size = |expected| StoreError::UploadSize(Mismatch::new(expected, total));
        if total == 0 {
            return Err(size(1));
        }
        loop {
            if let Some(bytes) = self.key_bytes(hash)? {
                return if bytes == total {
                    Ok(complete(bytes))
                } else {
                    Err(size(bytes))
                };
            }
            let uploads = &self.inner().uploads;
            let partial = uploads.begin(hash, total, self.inner().meta.clock())?;
            let mut progress = lock(&partial.state);
            if progress.over {
                continue;
            }
            if partial.total != total {
                return Err(size(partial.total));
            }
            if progress.next == total {
                return self.finish(&partial, &mut progress);
            }
            progress.touched = self.inner().meta.clock();
            if let Err(error) = self.record(&partial, &progress) {
                if progress.next == 0 {
                    self.forget(&partial, &mut progress);
                }
                return Err(error);
            }
            return Ok(Upload {
                next_offset: progress.next,
                complete: false,
            });
        }
    }

    /// Stores the chunk of an upload that begins at `offset`. After the last chunk the hash is tested and the key
    /// becomes an object, which is durable when this returns.
    ///
    /// Bytes that were received before are skipped without a comparison, as the hash of the whole key is tested at the
    /// end. A sender whose call was interrupted can therefore continue while the last chunk of that call is still being
    /// written.
    ///
    /// Received bytes are kept while the process lives. After a crash, at most the last 16 MiB are missing.
    ///
    /// Errors: [`StoreError::NoUpload`], [`StoreError::UploadOffset`], [`StoreError::UploadSize`] for a chunk beyond
    /// the announced length, [`StoreError::UploadSpace`], [`StoreError::UploadHash`], after which the upload is
    /// deleted, and those of disk and bucket.
    pub fn upload_chunk(
        &self,
        hash: [u8; 32],
        offset: u64,
        data: &[u8],
    ) -> Result<Upload, StoreError> {
        let Some(partial) = self.inner().uploads.find(&hash) else {
            let bytes = self.key_bytes(hash)?.ok_or(StoreError::NoUpload(hash))?;
            return Ok(complete(bytes));
        };
        let mut progress = lock(&partial.state);
        if progress.over {
            let bytes = self.key_bytes(hash)?.ok_or(StoreError::NoUpload(hash))?;
            return Ok(complete(bytes));
        }
        let missing = partial.missing(progress.next, offset, data)?;
        let uploads = &self.inner().uploads;
        uploads.check_more(&partial, missing.len() as u64)?;
        progress.write(&partial.path, missing)?;
        partial.received.store(progress.next, Relaxed);
        progress.touched = self.inner().meta.clock();
        if progress.next == partial.total {
            return self.finish(&partial, &mut progress);
        }
        if progress.next - progress.durable >= SYNC_BYTES {
            progress.sync()?;
            self.record(&partial, &progress)?;
        }
        Ok(Upload {
            next_offset: progress.next,
            complete: false,
        })
    }

    /// Returns the bytes received of an unfinished upload, or `None` if there is no such upload.
    pub fn upload_bytes(&self, hash: &[u8; 32]) -> Option<u64> {
        let partial = self.inner().uploads.find(hash)?;
        Some(partial.received.load(Relaxed))
    }

    /// Deletes the uploads that received no chunk for `older_than`, and those that never received one for
    /// `empty_older_than`. Returns their number.
    ///
    /// Only time during which the store was open counts.
    ///
    /// Errors: those of the database and of the disk.
    pub fn purge_uploads(
        &self,
        older_than: Duration,
        empty_older_than: Duration,
    ) -> Result<u64, StoreError> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let [begun_age, empty_age] = [older_than, empty_older_than].map(millis);
        let now = self.inner().meta.clock();
        let live: Vec<_> = lock(&self.inner().uploads.live).values().cloned().collect();
        let mut purged = 0;
        for partial in live {
            // An upload that is being written is not old.
            let Ok(mut progress) = partial.state.try_lock() else {
                continue;
            };
            let age = if progress.next == 0 {
                empty_age
            } else {
                begun_age
            };
            if !progress.over && now.saturating_sub(progress.touched) >= age {
                self.drop_upload(&partial, &mut progress)?;
                purged += 1;
            }
        }
        Ok(purged)
    }

    /// Writes the row of an upload.
    fn record(&self, partial: &Partial, progress: &Progress) -> Result<(), StoreError> {
        let value = pack([partial.total, progress.durable, progress.touched]);
        self.inner().meta.transact(|writing, _| {
            writing.put(UPLOADS, &partial.hash, &value)?;
            Ok(Outcome::Commit(()))
        })
    }

    /// Removes the row and the file of an upload.
    fn drop_upload(&self, partial: &Partial, progress: &mut Progress) -> Result<(), StoreError> {
        self.inner().meta.transact(|writing, _| {
            writing.remove(UPLOADS, &partial.hash)?;
            Ok(Outcome::Commit(()))
        })?;
        self.forget(partial, progress);
        Ok(())
    }

    /// Removes an upload from the map, and its file. The next opening would remove the file as well.
    fn forget(&self, partial: &Partial, progress: &mut Progress) {
        progress.over = true;
        progress.file = None;
        lock(&self.inner().uploads.live).remove(&partial.hash);
        let _ = fs::remove_file(&partial.path);
    }

    /// Makes an object of a file that was received completely.
    fn finish(&self, partial: &Partial, progress: &mut Progress) -> Result<Upload, StoreError> {
        let inner = self.inner();
        let _no_sweep = inner.keep_objects();
        match self.copy(partial, progress) {
            Err(error @ StoreError::UploadHash(_)) => {
                self.drop_upload(partial, progress)?;
                return Err(error);
            }
            other => other?,
        }
        let total = partial.total;
        inner.meta.transact(|writing, _| {
            writing.put(KEYS, &partial.hash, &pack([total]))?;
            writing.remove(UPLOADS, &partial.hash)?;
            Ok(Outcome::Commit(()))
        })?;
        self.forget(partial, progress);
        let mut totals = lock(&inner.totals);
        totals.keys += 1;
        totals.key_bytes += total;
        Ok(complete(total))
    }

    /// Copies a file into its object. The bytes stored are the bytes hashed.
    fn copy(&self, partial: &Partial, progress: &mut Progress) -> Result<(), StoreError> {
        let mut hasher = blake3::Hasher::new();
        let mut writer = self.inner().place.writer(&key_name(&partial.hash))?;
        let mut file = progress.rewind(&partial.path)?.take(partial.total);
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            writer.write(&buffer[..count])?;
        }
        let found = *hasher.finalize().as_bytes();
        if found != partial.hash {
            return Err(StoreError::UploadHash(Mismatch::new(partial.hash, found)));
        }
        writer.finish()
    }
}

fn complete(bytes: u64) -> Upload {
    Upload {
        next_offset: bytes,
        complete: true,
    }
}
