//! Immutable objects, in a folder or a bucket, by calls that wait.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::runtime::{Builder, Runtime};

use crate::database::{remove_if_present, sync_dir};
use crate::error::{StoreError, hex};
use crate::segment::SEGMENTS_PREFIX;

/// Bytes of a part of a large object; buckets take no less than 5 MiB.
const PART_BYTES: usize = 8 << 20;
/// Bytes that a reader takes at a time.
const READ_BYTES: usize = 1 << 20;
/// The object that names the board.
pub(crate) const MARKER: &str = "board";
pub(crate) const KEYS_PREFIX: &str = "keys";

/// Where the immutable objects are: segments and detection keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objects {
    /// In the folder `objects` of the store.
    Local,
    /// In a bucket.
    Bucket {
        /// `s3://bucket/prefix`.
        url: String,
        /// Options of `object_store`'s S3 client: `endpoint`, `region`, `access_key_id`,
        /// `secret_access_key`, `allow_http` and others.
        options: BTreeMap<String, String>,
    },
}

/// The name of a key's object.
pub(crate) fn key_name(hash: &[u8; 32]) -> String {
    format!("{KEYS_PREFIX}/{}", hex(hash))
}

/// The objects of a store.
#[derive(Debug)]
pub(crate) struct Place {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    /// Present until dropped.
    runtime: Option<Runtime>,
    #[cfg(test)]
    pub(crate) disk: Option<crate::tests::disk::Disk>,
}

impl Drop for Place {
    fn drop(&mut self) {
        // A plain drop waits, and panics inside a runtime of the caller's.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Place {
    /// Opens the place; `folder` is that of local objects, made where absent.
    pub(crate) fn open(objects: &Objects, folder: PathBuf) -> Result<Self, StoreError> {
        match objects {
            Objects::Local => {
                std::fs::create_dir_all(&folder).map_err(StoreError::file)?;
                if let Some(parent) = folder.parent() {
                    sync_dir(parent)?;
                }
                remove_drafts(&folder)?;
                let store = LocalFileSystem::new_with_prefix(&folder)
                    .map_err(|source| failed(&folder.display().to_string(), source))?;
                Self::new(Arc::new(store.with_fsync(true)), String::new())
            }
            Objects::Bucket { url, options } => open_bucket(url, options),
        }
    }

    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: String) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("omr-objects")
            .enable_all()
            .build()?;
        Ok(Self {
            store,
            prefix,
            runtime: Some(runtime),
            #[cfg(test)]
            disk: None,
        })
    }

    /// Runs `future` on the runtime and waits, on whatever thread this is.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().ok_or(StoreError::Suspended)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // Nobody waits any more where this fails.
            let _ = sender.send(future.await);
        });
        receiver.recv().map_err(|_| StoreError::Panicked)
    }

    fn path(&self, name: &str) -> ObjectPath {
        if self.prefix.is_empty() {
            ObjectPath::from(name)
        } else {
            ObjectPath::from(format!("{}/{name}", self.prefix))
        }
    }

    /// Lets a test fail the operation or crash before or after it.
    fn operate(&self, name: &str) -> Result<(), StoreError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.operate_object()
                .map_err(|error| failed(name, generic(error)))?;
        }
        let _ = name;
        Ok(())
    }

    /// Stores an object; it is durable when this returns.
    pub(crate) fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.operate(name)?;
        let (store, path) = (self.store.clone(), self.path(name));
        let put = self.wait(async move { store.put(&path, PutPayload::from(bytes)).await })?;
        put.map_err(|source| failed(name, source))?;
        self.operate(name)
    }

    /// Begins an object that comes in pieces.
    pub(crate) fn writer(&self, name: &str) -> Result<Writer<'_>, StoreError> {
        Ok(Writer {
            place: self,
            name: name.to_owned(),
            upload: None,
            buffer: BytesMut::new(),
        })
    }

    /// A whole object; none where it is missing.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let got = self.wait(async move { store.get(&path).await?.bytes().await })?;
        found(name, got)
    }

    /// A reader of an object; none where it is missing.
    pub(crate) fn reader(self: &Arc<Self>, name: &str) -> Result<Option<Reader>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let got = self.wait(async move { store.get(&path).await })?;
        Ok(found(name, got)?.map(|got| Reader {
            place: self.clone(),
            name: name.to_owned(),
            stream: Some(got.into_stream()),
            bytes: Bytes::new(),
        }))
    }

    /// Names and bytes of the objects below a folder.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(folder));
        let listed: Result<Vec<_>, _> =
            self.wait(async move { store.list(Some(&path)).try_collect().await })?;
        let skip = match self.prefix.len() {
            0 => 0,
            bytes => bytes + 1,
        };
        let name = |path: &ObjectPath| path.as_ref().get(skip..).unwrap_or_default().to_owned();
        let listed = listed.map_err(|source| failed(folder, source))?;
        let named = listed.iter().map(|meta| (name(&meta.location), meta.size));
        Ok(named.collect())
    }

    /// Removes an object; one that is missing is no error.
    pub(crate) fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.operate(name)?;
        let (store, path) = (self.store.clone(), self.path(name));
        let deleted = self.wait(async move { store.delete(&path).await })?;
        found(name, deleted)?;
        self.operate(name)
    }
}

/// Turns a missing object into none.
fn found<T>(name: &str, result: object_store::Result<T>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(source) => Err(failed(name, source)),
    }
}

fn failed(name: &str, source: object_store::Error) -> StoreError {
    StoreError::Objects {
        object: name.to_owned(),
        source: Box::new(source),
    }
}

#[cfg(test)]
fn generic(source: io::Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "objects",
        source: Box::new(source),
    }
}

/// Removes what a crash left of objects under way: `object_store` writes under names with `#`,
/// which it does not list.
fn remove_drafts(folder: &Path) -> Result<(), StoreError> {
    for folder in [
        folder.to_owned(),
        folder.join(SEGMENTS_PREFIX),
        folder.join(KEYS_PREFIX),
    ] {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(StoreError::file)?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains('#') {
                remove_if_present(&entry.path())?;
            }
        }
    }
    Ok(())
}

fn open_bucket(url: &str, options: &BTreeMap<String, String>) -> Result<Place, StoreError> {
    let bad = || StoreError::BucketUrl {
        found: url.to_owned(),
    };
    let rest = url.strip_prefix("s3://").ok_or_else(bad)?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = ObjectPath::parse(prefix).map_err(|_| bad())?;
    if bucket.is_empty() {
        return Err(bad());
    }
    // Built without a crypto library of its own; somebody else may have chosen one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
    for (name, value) in options {
        let key = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>();
        let key = key.map_err(|_| StoreError::BucketOption {
            found: name.clone(),
        })?;
        builder = builder.with_config(key, value);
    }
    let store = builder.build().map_err(|source| failed(url, source))?;
    Place::new(Arc::new(store), prefix.to_string())
}

/// An object under way; nothing of it shows before [`Writer::finish`].
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    place: &'a Place,
    name: String,
    /// Absent while all fits one part.
    upload: Option<Box<dyn MultipartUpload>>,
    buffer: BytesMut,
}

impl Writer<'_> {
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(data);
        while self.buffer.len() > PART_BYTES {
            let part = self.buffer.split_to(PART_BYTES).freeze();
            self.send(part)?;
        }
        Ok(())
    }

    fn send(&mut self, part: Bytes) -> Result<(), StoreError> {
        let upload = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let (store, path) = (self.place.store.clone(), self.place.path(&self.name));
                let begun = self
                    .place
                    .wait(async move { store.put_multipart(&path).await })?;
                begun.map_err(|source| failed(&self.name, source))?
            }
        };
        let (upload, sent) = self.place.wait(async move {
            let mut upload = upload;
            let sent = upload.put_part(PutPayload::from(part)).await;
            (upload, sent)
        })?;
        self.upload = Some(upload);
        sent.map_err(|source| failed(&self.name, source))
    }

    /// Stores what came; it is durable when this returns.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        let rest = std::mem::take(&mut self.buffer).freeze();
        if self.upload.is_none() {
            return self.place.put(&self.name, rest);
        }
        self.place.operate(&self.name)?;
        self.send(rest)?;
        if let Some(upload) = self.upload.take() {
            let done = self.place.wait(async move {
                let mut upload = upload;
                upload.complete().await
            })?;
            done.map_err(|source| failed(&self.name, source))?;
        }
        self.place.operate(&self.name)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            // Parts left behind cost space only.
            let _ = self.place.wait(async move {
                let mut upload = upload;
                upload.abort().await
            });
        }
    }
}

/// Reads an object from its start to its end.
pub(crate) struct Reader {
    place: Arc<Place>,
    name: String,
    stream: Option<BoxStream<'static, object_store::Result<Bytes>>>,
    bytes: Bytes,
}

impl Reader {
    /// The next bytes, some at a time; empty at the end.
    pub(crate) fn next(&mut self) -> Result<Bytes, StoreError> {
        if !self.bytes.is_empty() {
            return Ok(std::mem::take(&mut self.bytes));
        }
        let Some(stream) = self.stream.take() else {
            return Ok(Bytes::new());
        };
        let (stream, taken) = self.place.wait(gather(stream))?;
        self.stream = stream;
        taken.map_err(|source| failed(&self.name, source))
    }
}

type Taken = (
    Option<BoxStream<'static, object_store::Result<Bytes>>>,
    object_store::Result<Bytes>,
);

/// Takes about `READ_BYTES` off `stream`; gives it back unless it has ended.
async fn gather(mut stream: BoxStream<'static, object_store::Result<Bytes>>) -> Taken {
    let mut out = BytesMut::new();
    while out.len() < READ_BYTES {
        match stream.next().await {
            None => return (None, Ok(out.freeze())),
            Some(Ok(bytes)) => out.extend_from_slice(&bytes),
            Some(Err(error)) => return (None, Err(error)),
        }
    }
    (Some(stream), Ok(out.freeze()))
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.bytes = self.next().map_err(io::Error::other)?;
        }
        let count = self.bytes.len().min(out.len());
        out[..count].copy_from_slice(&self.bytes.split_to(count));
        Ok(count)
    }
}
