//! Answers that say no, and why.

use omr_store::{Store, StoreError};
use std::time::Duration;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata that says when to try again.
pub(crate) const RETRY_AFTER: &str = "retry-after-ms";

/// A request that is wrong in itself.
pub(crate) fn invalid(
    what: &str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Status {
    Status::invalid_argument(format!("{what}: expected {expected}, found {found}"))
}

/// Too much for now.
pub(crate) fn busy(what: impl Into<String>, after: Duration) -> Status {
    let mut status = Status::resource_exhausted(what);
    let millis = after.as_millis().clamp(1, 3_600_000) as u64;
    let value = MetadataValue::from(millis);
    status.metadata_mut().insert(RETRY_AFTER, value);
    status
}

/// More than the caller may have at all: no use in trying again.
pub(crate) fn over_quota(what: &str, limit: impl std::fmt::Display) -> Status {
    Status::failed_precondition(format!(
        "{what}: expected at most {limit}, found as many already"
    ))
}

/// Checks that messages from `start` on have not expired.
///
/// Errors: OUT_OF_RANGE.
pub(crate) fn expired(store: &Store, start: u64) -> Result<(), Status> {
    let first = store.first();
    if start < first {
        Err(Status::out_of_range(format!(
            "messages {start}..{first} expired: the board begins at {first}"
        )))
    } else {
        Ok(())
    }
}

/// An id of 16 bytes.
pub(crate) fn id(what: &str, bytes: &[u8]) -> Result<[u8; 16], Status> {
    bytes
        .try_into()
        .map_err(|_| invalid(what, "16 bytes", bytes.len()))
}

/// A hash of 32 bytes.
pub(crate) fn hash(what: &str, bytes: &[u8]) -> Result<[u8; 32], Status> {
    bytes
        .try_into()
        .map_err(|_| invalid(what, "32 bytes", bytes.len()))
}

/// Hashes of 32 bytes each.
pub(crate) fn hashes<B: AsRef<[u8]>>(what: &str, all: &[B]) -> Result<Vec<[u8; 32]>, Status> {
    all.iter().map(|bytes| hash(what, bytes.as_ref())).collect()
}

/// What went wrong in the store, as far as a client should know.
pub(crate) fn store(error: &StoreError) -> Status {
    let text = error.to_string();
    let code = code_of(error);
    match code {
        Code::Internal => tracing::error!(%error, "store"),
        Code::DataLoss | Code::ResourceExhausted => tracing::warn!(%error, "store"),
        _ => {}
    }
    match code {
        // Paths and causes stay in the log.
        Code::Internal => Status::internal("the store failed; the server's log says why"),
        Code::ResourceExhausted => busy(text, Duration::from_secs(5)),
        code => Status::new(code, text),
    }
}

/// Runs work that waits for a disk on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a task died");
            Err(Status::internal("a task died; please report it"))
        }
    }
}

/// The code of an error of the store.
fn code_of(error: &StoreError) -> Code {
    match error {
        StoreError::Damaged { .. } | StoreError::Row { .. } => Code::DataLoss,
        StoreError::DiskFull(_) | StoreError::Suspended | StoreError::UploadSpace(_) => {
            Code::ResourceExhausted
        }
        StoreError::OutOfRange { .. }
        | StoreError::Expired { .. }
        | StoreError::UploadOffset(_) => Code::OutOfRange,
        StoreError::Size { .. }
        | StoreError::PostLength { .. }
        | StoreError::UploadSize(_)
        | StoreError::UploadHash(_) => Code::InvalidArgument,
        StoreError::NoKey(_) | StoreError::NoUpload(_) => Code::NotFound,
        StoreError::OtherHistory { .. } => Code::FailedPrecondition,
        _ => Code::Internal,
    }
}
