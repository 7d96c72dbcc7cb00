//! Detection keys: objects named by the hashes of their contents.

use omr_errors::Mismatch;
use std::io::{self, Read};
use std::sync::TryLockError;

use bytes::{Buf, Bytes};

use super::Store;
use super::objects::{Reader, key_name};
use crate::error::{Evidence, StoreError};
use crate::format::{KEYS, hash_of, numbers};
use crate::meta::{Outcome, lock};
use crate::tables::{List, View};

/// Lists the hash and the length in bytes of every key.
pub(crate) fn list(view: &View) -> Result<List<([u8; 32], u64)>, StoreError> {
    view.list(KEYS, |key, value| {
        let [bytes] = numbers("keys", key, value)?;
        Ok((hash_of("keys", key)?, bytes))
    })
}

impl StoreError {
    /// Returns the error of a key whose content does not have its hash.
    pub(super) fn key(hash: &[u8; 32], evidence: Mismatch<Evidence>) -> Self {
        Self::Damaged {
            object: key_name(hash),
            first: 0,
            end: 0,
            evidence,
        }
    }
}

impl Store {
    /// Returns the length of a complete key in bytes. Returns `None` if there is no such key, or if its row is damaged,
    /// which another upload of the key mends.
    ///
    /// Errors: those of the database.
    pub fn key_bytes(&self, hash: [u8; 32]) -> Result<Option<u64>, StoreError> {
        self.inner().meta.view(|view| match view.get(KEYS, &hash) {
            Err(fault @ StoreError::Row { .. }) => {
                tracing::error!(%fault, "a key is set aside: its owner has to register it again");
                Ok(None)
            }
            Err(other) => Err(other),
            Ok(None) => Ok(None),
            Ok(Some(value)) => {
                let [bytes] = numbers("keys", &hash, &value)?;
                Ok(Some(bytes))
            }
        })
    }

    /// Returns a reader of a key. If the content does not have this hash, the last read fails with
    /// [`StoreError::Damaged`] in an [`io::Error`], and nothing that was read may be used.
    ///
    /// Errors: [`StoreError::NoKey`], [`StoreError::Damaged`] where the object is missing, and those of the database
    /// and of the objects.
    pub fn open_key(&self, hash: [u8; 32]) -> Result<Box<dyn Read + Send>, StoreError> {
        let expected = self.key_bytes(hash)?.ok_or(StoreError::NoKey(hash))?;
        Ok(Box::new(self.key_reader(hash, expected)?))
    }

    pub(crate) fn key_reader(
        &self,
        hash: [u8; 32],
        expected: u64,
    ) -> Result<KeyReader, StoreError> {
        let reader = self.inner().place.reader(&key_name(&hash))?;
        let missing =
            || StoreError::key(&hash, Mismatch::new(Evidence::Present, Evidence::Missing));
        Ok(KeyReader {
            reader: reader.ok_or_else(missing)?,
            hasher: blake3::Hasher::new(),
            hash,
            expected,
            seen: 0,
            bytes: Bytes::new(),
        })
    }

    /// Removes a key. A missing key is not an error. Readers that have the key open may fail.
    ///
    /// Errors: those of the database and of the objects.
    pub fn delete_key(&self, hash: [u8; 32]) -> Result<(), StoreError> {
        let inner = self.inner();
        let Some(bytes) = self.key_bytes(hash)? else {
            return Ok(());
        };
        let removed = inner.meta.transact(|writing, _| {
            let removed = writing.remove(KEYS, &hash)?;
            Ok(if removed {
                Outcome::Commit(true)
            } else {
                Outcome::Nothing(false)
            })
        })?;
        if removed {
            let mut totals = lock(&inner.totals);
            totals.keys -= 1;
            totals.key_bytes -= bytes;
        }
        let _gate = match inner.gate.try_write() {
            Ok(gate) => gate,
            Err(TryLockError::Poisoned(gate)) => gate.into_inner(),
            // A backup may want the object, or the same key may be uploaded again. A later sweep removes the object.
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        if self.key_bytes(hash)?.is_none() {
            inner.place.delete(&key_name(&hash))?;
        }
        Ok(())
    }
}

/// A reader of a key that tests the content at its end.
pub(crate) struct KeyReader {
    reader: Reader,
    hasher: blake3::Hasher,
    hash: [u8; 32],
    expected: u64,
    seen: u64,
    bytes: Bytes,
}

impl KeyReader {
    /// Returns the next bytes; empty at the end, after a test of length and hash.
    ///
    /// Errors: [`StoreError::Damaged`], and those of the objects.
    pub(crate) fn next(&mut self) -> Result<Bytes, StoreError> {
        let bytes = self.reader.next()?;
        self.hasher.update(&bytes);
        self.seen += bytes.len() as u64;
        if !bytes.is_empty() {
            return Ok(bytes);
        }
        let found = *self.hasher.finalize().as_bytes();
        for (expected, found) in [
            (Evidence::Bytes(self.expected), Evidence::Bytes(self.seen)),
            (Evidence::hash(self.hash), Evidence::hash(found)),
        ] {
            if expected != found {
                return Err(StoreError::key(&self.hash, Mismatch::new(expected, found)));
            }
        }
        Ok(bytes)
    }
}

impl Read for KeyReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if self.bytes.is_empty() {
            self.bytes = self.next().map_err(io::Error::other)?;
        }
        let count = self.bytes.len().min(out.len());
        self.bytes.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}
