//! Objects in a bucket.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as ObjectPath;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::runtime::{Builder, Runtime};

use super::{Backend, Draft, Pieces, READ_BYTES, Reader, failed};
use crate::error::StoreError;

/// The length of a part of a large object, in bytes. Buckets accept no parts below 5 MiB.
const PART_BYTES: usize = 8 << 20;

/// A bucket, or a stand-in for one.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    runtime: Arc<Background>,
}

/// The runtime that runs the calls to the bucket.
#[derive(Debug)]
struct Background {
    /// The runtime; `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Background {
    fn drop(&mut self) {
        // A plain drop would wait, and would panic inside a runtime of the caller.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Opens the bucket at `s3://bucket/prefix`.
///
/// Errors: those of [`Bucket::open`].
pub(super) fn open(
    url: &str,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn Backend>, StoreError> {
    Ok(Arc::new(Bucket::open(url, options)?))
}

impl Bucket {
    /// Opens the bucket at `s3://bucket/prefix`.
    ///
    /// Errors: [`StoreError::BucketUrl`], [`StoreError::BucketOption`], and those of the client.
    pub(super) fn open(url: &str, options: &BTreeMap<String, String>) -> Result<Self, StoreError> {
        let bad = || StoreError::BucketUrl(url.to_owned());
        let rest = url.strip_prefix("s3://").ok_or_else(bad)?;
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = ObjectPath::parse(path).map_err(|_| bad())?;
        if bucket.is_empty() {
            return Err(bad());
        }
        // The client is built without a crypto library. The call fails harmlessly if the process has chosen one
        // already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
        for (name, value) in options {
            let key = name
                .to_ascii_lowercase()
                .parse::<AmazonS3ConfigKey>()
                .map_err(|_| StoreError::BucketOption(name.clone()))?;
            builder = builder.with_config(key, value);
        }
        let store = builder.build().map_err(|source| failed(url, source))?;
        Self::new(Arc::new(store), prefix.to_string())
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
            runtime: Arc::new(Background {
                runtime: Some(runtime),
            }),
        })
    }

    /// Runs `future` on the runtime and blocks until it is done. May be called on any thread.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let runtime = self.runtime.runtime.as_ref().ok_or(StoreError::Suspended)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // Sending fails only if nobody waits any more.
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
}

impl Backend for Bucket {
    fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let put = self.wait(async move { store.put(&path, PutPayload::from(bytes)).await })?;
        put.map(drop).map_err(|source| failed(name, source))
    }

    fn draft(&self, name: &str) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(Parts {
            bucket: self.clone(),
            name: name.to_owned(),
            upload: None,
            buffer: BytesMut::new(),
        }))
    }

    fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let got = self.wait(async move { store.get(&path).await?.bytes().await })?;
        found(name, got)
    }

    fn reader(&self, name: &str) -> Result<Option<Reader>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let got = self.wait(async move { store.get(&path).await })?;
        Ok(found(name, got)?.map(|got| {
            Box::new(Streamed {
                bucket: self.clone(),
                name: name.to_owned(),
                stream: Some(got.into_stream()),
            }) as Reader
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let (store, path) = (self.store.clone(), self.path(folder));
        let listed: Result<Vec<_>, _> =
            self.wait(async move { store.list(Some(&path)).try_collect().await })?;
        let skip = match self.prefix.len() {
            0 => 0,
            bytes => bytes + 1,
        };
        let objects = listed.map_err(|source| failed(folder, source))?;
        let named = objects.iter().map(|meta| {
            let name = meta.location.as_ref().get(skip..).unwrap_or_default();
            (name.to_owned(), meta.size)
        });
        Ok(named.collect())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let (store, path) = (self.store.clone(), self.path(name));
        let deleted = self.wait(async move { store.delete(&path).await })?;
        found(name, deleted).map(drop)
    }
}

/// Turns the error of a missing object into `None`.
fn found<T>(name: &str, result: object_store::Result<T>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(source) => Err(failed(name, source)),
    }
}

/// An unfinished object that is sent in parts.
#[derive(Debug)]
struct Parts {
    bucket: Bucket,
    name: String,
    /// The upload in parts; `None` while everything fits one part.
    upload: Option<Box<dyn MultipartUpload>>,
    buffer: BytesMut,
}

impl Parts {
    fn send(&mut self, part: Bytes) -> Result<(), StoreError> {
        let upload = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let (store, path) = (self.bucket.store.clone(), self.bucket.path(&self.name));
                self.bucket
                    .wait(async move { store.put_multipart(&path).await })?
                    .map_err(|source| failed(&self.name, source))?
            }
        };
        let (upload, sent) = self.bucket.wait(async move {
            let mut upload = upload;
            let sent = upload.put_part(PutPayload::from(part)).await;
            (upload, sent)
        })?;
        self.upload = Some(upload);
        sent.map_err(|source| failed(&self.name, source))
    }
}

impl Draft for Parts {
    fn write(&mut self, data: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(data);
        while self.buffer.len() > PART_BYTES {
            let part = self.buffer.split_to(PART_BYTES).freeze();
            self.send(part)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        let rest = std::mem::take(&mut self.buffer).freeze();
        if self.upload.is_none() {
            return self.bucket.put(&self.name, rest);
        }
        self.send(rest)?;
        if let Some(upload) = self.upload.take() {
            let done = self.bucket.wait(async move {
                let mut upload = upload;
                upload.complete().await
            })?;
            done.map_err(|source| failed(&self.name, source))?;
        }
        Ok(())
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            // Parts that stay after a failure only cost space.
            let _ = self.bucket.wait(async move {
                let mut upload = upload;
                upload.abort().await
            });
        }
    }
}

/// A reader of an object as it arrives.
struct Streamed {
    bucket: Bucket,
    name: String,
    stream: Option<BoxStream<'static, object_store::Result<Bytes>>>,
}

impl Pieces for Streamed {
    fn next(&mut self) -> Result<Bytes, StoreError> {
        let Some(stream) = self.stream.take() else {
            return Ok(Bytes::new());
        };
        let (rest, taken) = self.bucket.wait(gather(stream))?;
        self.stream = rest;
        taken.map_err(|source| failed(&self.name, source))
    }
}

type Taken = (
    Option<BoxStream<'static, object_store::Result<Bytes>>>,
    object_store::Result<Bytes>,
);

/// Reads about `READ_BYTES` from `stream`, and returns the stream unless it has ended.
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
