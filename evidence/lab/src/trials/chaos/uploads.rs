//! Keys that are repeatedly uploaded, registered and revoked, and files that are no keys.

use super::work::{Work, pause};
use crate::trials::TrialError;
use omr_client::{identity, instantomr};
use omr_remote::{Client, RemoteError};
use rand_core::Rng;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tonic::Code;

/// The value before the first report.
const NOT_BEGUN: u64 = u64::MAX;
/// The time between two attempts.
const REST: Duration = Duration::from_millis(20);

/// Uploads until the trial ends.
///
/// Errors: a refusal of a valid file, or the acceptance of an invalid one.
pub(crate) async fn run(work: Arc<Work>) -> Result<(), TrialError> {
    let (client, once) = (work.patient()?, work.client(Duration::ZERO)?);
    let mut rng = work.rng(300);
    let folder = tempfile::tempdir().map_err(TrialError::io("a folder for uploads"))?;
    let (no_key, key) = (folder.path().join("no-key"), folder.path().join("key"));
    fresh_key(&work, &mut rng, &key)?;
    // The invalid file is as long as a key, because a server accepts nothing longer.
    let length = std::fs::metadata(&key).map_err(TrialError::io("a key's length"))?;
    let mut bytes = vec![0; length.len() as usize];
    loop {
        let ending = work.is_ending();
        rng.fill_bytes(&mut bytes);
        std::fs::write(&no_key, &bytes).map_err(TrialError::io("writing a file"))?;
        let hash = upload(&work, &once, &no_key).await?;
        match client.register_key(hash).await {
            // The first refusal deletes the file, and its answer may have been lost.
            Err(RemoteError::Refused {
                code: Code::InvalidArgument,
                ..
            })
            | Err(RemoteError::NotFound(..)) => {}
            other => {
                let text = format!("random bytes registered as a key: {other:?}");
                return Err(TrialError::Broken(text));
            }
        }
        let hash = upload(&work, &once, &key).await?;
        client.register_key(hash).await?;
        match client.revoke_key(hash).await {
            // The answer to the first call may have been lost.
            Ok(()) | Err(RemoteError::NotFound(..)) => {}
            Err(error) => return Err(error.into()),
        }
        if ending {
            return Ok(());
        }
        pause(&mut rng, 10..300).await;
    }
}

fn fresh_key(work: &Work, rng: &mut chacha20::ChaCha20Rng, path: &Path) -> Result<(), TrialError> {
    let set = &work.people.set;
    let broken = |error: &dyn std::error::Error| TrialError::Broken(error.to_string());
    let params = set.instantomr().map_err(|error| broken(&error))?;
    let (secret, _) = identity(set.clue(), omr_protocol::ClueKind::Bound, rng);
    let key = instantomr::detection_key(params, &secret, rng).map_err(|e| broken(&e))?;
    let mut file = File::create(path).map_err(TrialError::io("writing a key"))?;
    key.write(params, &mut file).map_err(|error| broken(&error))
}

/// Uploads a file by attempts that give up at the first failure, and counts how often an attempt resumed another.
async fn upload(work: &Work, client: &Client, path: &Path) -> Result<[u8; 32], TrialError> {
    loop {
        let begun = AtomicU64::new(NOT_BEGUN);
        let progress = |sent, total| {
            // The first report is the position at which the upload begins.
            if begun.load(Ordering::Relaxed) == NOT_BEGUN {
                begun.store(sent, Ordering::Relaxed);
                work.resumed
                    .fetch_add((0 < sent && sent < total).into(), Ordering::Relaxed);
            }
        };
        match client.upload_key(path, progress).await {
            Ok(hash) => {
                work.uploads.fetch_add(1, Ordering::Relaxed);
                return Ok(hash);
            }
            Err(error) if error.is_passing() => tokio::time::sleep(REST).await,
            Err(error) => return Err(error.into()),
        }
    }
}
