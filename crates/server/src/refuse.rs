//! Statuses of refused requests.

use omr_store::{Store, StoreError};
use std::time::Duration;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// The metadata with the time after which the client should try again, in milliseconds.
pub(crate) const RETRY_AFTER: &str = "retry-after-ms";

/// Returns the status of an invalid request.
pub(crate) fn invalid(
    what: &str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Status {
    Status::invalid_argument(format!("{what}: expected {expected}, found {found}"))
}

/// Returns the status of a request that may succeed `after` this time.
pub(crate) fn busy(what: impl Into<String>, after: Duration) -> Status {
    let mut status = Status::resource_exhausted(what);
    let millis = after.as_millis().clamp(1, 3_600_000) as u64;
    let value = MetadataValue::from(millis);
    status.metadata_mut().insert(RETRY_AFTER, value);
    status
}

/// Returns the status of a request beyond the caller's quota, which does not succeed later either.
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

/// Parses an id of 16 bytes.
pub(crate) fn id(what: &str, bytes: &[u8]) -> Result<[u8; 16], Status> {
    bytes
        .try_into()
        .map_err(|_| invalid(what, "16 bytes", bytes.len()))
}

/// Parses a hash of 32 bytes.
pub(crate) fn hash(what: &str, bytes: &[u8]) -> Result<[u8; 32], Status> {
    bytes
        .try_into()
        .map_err(|_| invalid(what, "32 bytes", bytes.len()))
}

/// Parses hashes of 32 bytes each.
pub(crate) fn hashes<B: AsRef<[u8]>>(what: &str, all: &[B]) -> Result<Vec<[u8; 32]>, Status> {
    all.iter().map(|bytes| hash(what, bytes.as_ref())).collect()
}

/// Returns the status for an error of the store, without what clients should not know.
pub(crate) fn store(error: &StoreError) -> Status {
    let text = error.to_string();
    let code = code_of(error);
    match code {
        Code::Internal => tracing::error!(%error, "store"),
        Code::DataLoss | Code::ResourceExhausted => tracing::warn!(%error, "store"),
        _ => {}
    }
    match code {
        // Paths and causes are only in the log.
        Code::Internal => Status::internal("the store failed; see the server's log"),
        Code::ResourceExhausted => busy(text, Duration::from_secs(5)),
        code => Status::new(code, text),
    }
}

/// Runs blocking work on a thread for blocking work.
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

/// Returns the code for an error of the store.
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
