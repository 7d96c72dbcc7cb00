//! Immutable objects in a folder or a bucket. Calls block until they are done.

#[cfg_attr(not(feature = "s3"), path = "objects/no_bucket.rs")]
pub(crate) mod bucket;
mod folder;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::StoreError;
use folder::Folder;
use omr_errors::hex;

/// The number of bytes that a reader reads at a time.
const READ_BYTES: usize = 1 << 20;
/// The name of the object that contains the board's configuration.
pub(crate) const MARKER: &str = "board";
pub(crate) const KEYS_PREFIX: &str = "keys";

/// The place of the immutable objects, which are segments and detection keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objects {
    /// The folder `objects` of the store.
    Local,
    /// A bucket, in builds with the feature `s3`.
    Bucket {
        /// The address, `s3://bucket/prefix`.
        url: String,
        /// The options of `object_store`'s S3 client: `endpoint`, `region`, `access_key_id`, `secret_access_key`,
        /// `allow_http` and others.
        options: BTreeMap<String, String>,
    },
}

/// Returns the name of a key's object.
pub(crate) fn key_name(hash: &[u8; 32]) -> String {
    format!("{KEYS_PREFIX}/{}", hex(hash))
}

/// A store of objects. Names are paths with `/` between their parts.
pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Stores an object. It is durable when this returns.
    fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError>;

    /// Begins an object that is written in pieces.
    fn draft(&self, name: &str) -> Result<Box<dyn Draft>, StoreError>;

    /// Returns a whole object, or `None` if it is missing.
    fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError>;

    /// Returns a reader of an object from its start to its end, or `None` if it is missing.
    fn reader(&self, name: &str) -> Result<Option<Reader>, StoreError>;

    /// Returns the names and lengths in bytes of the objects below a folder.
    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError>;

    /// Removes an object. A missing object is not an error.
    fn delete(&self, name: &str) -> Result<(), StoreError>;
}

/// An unfinished object. It is invisible before it is finished, and is removed if it never is.
pub(crate) trait Draft {
    fn write(&mut self, data: &[u8]) -> Result<(), StoreError>;

    /// Completes the object. It is durable when this returns.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// The bytes of an object, in pieces.
pub(crate) trait Pieces: Send {
    /// Returns the next bytes; empty at the end.
    fn next(&mut self) -> Result<Bytes, StoreError>;
}

/// A reader of an object from its start to its end.
pub(crate) type Reader = Box<dyn Pieces>;

/// The objects of a store.
#[derive(Debug)]
pub(crate) struct Place {
    backend: Arc<dyn Backend>,
    #[cfg(test)]
    pub(crate) disk: Option<crate::tests::disk::Disk>,
}

impl Place {
    /// Opens the place of the objects. `folder` is the folder of local objects, which is created if it does not exist.
    pub(crate) fn open(objects: &Objects, folder: PathBuf) -> Result<Self, StoreError> {
        Ok(Self::new(match objects {
            Objects::Local => Arc::new(Folder::open(folder)?),
            Objects::Bucket { url, options } => bucket::open(url, options)?,
        }))
    }

    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            #[cfg(test)]
            disk: None,
        }
    }

    /// Lets a test fail the operation, or crash before or after it.
    fn operate(&self, name: &str) -> Result<(), StoreError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.operate_object().map_err(|error| failed(name, error))?;
        }
        let _ = name;
        Ok(())
    }

    /// Stores an object. It is durable when this returns.
    pub(crate) fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.operate(name)?;
        self.backend.put(name, bytes)?;
        self.operate(name)
    }

    /// Begins an object that is written in pieces.
    pub(crate) fn writer(&self, name: &str) -> Result<Writer<'_>, StoreError> {
        Ok(Writer {
            place: self,
            name: name.to_owned(),
            draft: self.backend.draft(name)?,
        })
    }

    /// Returns a whole object, or `None` if it is missing.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.backend.get(name)
    }

    /// Returns a reader of an object, or `None` if it is missing.
    pub(crate) fn reader(&self, name: &str) -> Result<Option<Reader>, StoreError> {
        self.backend.reader(name)
    }

    /// Returns the names and lengths in bytes of the objects below a folder.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError> {
        self.backend.list(folder)
    }

    /// Removes an object. A missing object is not an error.
    pub(crate) fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.operate(name)?;
        self.backend.delete(name)?;
        self.operate(name)
    }
}

/// Returns the error of an operation on an object.
fn failed(name: &str, source: impl Error + Send + Sync + 'static) -> StoreError {
    StoreError::Objects {
        object: name.to_owned(),
        source: Box::new(source),
    }
}

/// An unfinished object. It is invisible before [`Writer::finish`].
pub(crate) struct Writer<'a> {
    place: &'a Place,
    name: String,
    draft: Box<dyn Draft>,
}

impl Writer<'_> {
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), StoreError> {
        self.draft.write(data)
    }

    /// Completes the object. It is durable when this returns.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        self.place.operate(&self.name)?;
        self.draft.finish()?;
        self.place.operate(&self.name)
    }
}
