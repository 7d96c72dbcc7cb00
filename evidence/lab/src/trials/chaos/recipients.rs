//! Recipients: digests of ranges by jobs, and cuts of sessions.

use super::people::RECIPIENTS;
use super::work::{Work, pause};
use crate::trials::TrialError;
use bytes::Bytes;
use chacha20::ChaCha20Rng;
use omr_remote::v1::{CreateJobRequest, OpenSessionRequest};
use omr_remote::{Client, RemoteError};
use rand_core::Rng;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tonic::Code;

/// The most messages of a digest by SophOMR.
const BULK: u64 = 600;
/// The most messages of a digest by InstantOMR.
const INSTANT: u64 = 60;
/// The bound of every digest, which is far above the number of pertinent messages.
const BOUND: u32 = 96;

/// Uploads and registers a key; returns its hash.
pub(crate) async fn register(client: &Client, key: &Path) -> Result<[u8; 32], TrialError> {
    let hash = client.upload_key(key, |_, _| ()).await?;
    client.register_key(hash).await?;
    Ok(hash)
}

/// The number of consecutive jobs, or of a recipient's sessions, that kills may end.
const GIVEN_UP: u32 = 5;

/// Requests digests of random ranges until the trial ends.
///
/// Errors: a refusal.
pub(crate) async fn jobs(work: Arc<Work>, owner: usize) -> Result<(), TrialError> {
    let client = work.patient()?;
    let mut rng = work.rng(100 + owner as u64);
    let person = &work.people.recipients[owner];
    let bulk = register(&client, &person.bulk).await?;
    let instant = register(&client, &person.instant).await?;
    loop {
        let ending = work.is_ending();
        let len = client.board().await?.messages;
        if len > 0 {
            let (keys, most) = match rng.next_u64() % 3 {
                0 => (vec![bulk, instant], BULK),
                1 => (vec![bulk], BULK),
                _ => (vec![instant], INSTANT),
            };
            digest(&work, &client, owner, &keys, most.min(len), &mut rng).await?;
        }
        if ending {
            return Ok(());
        }
        pause(&mut rng, 10..200).await;
    }
}

async fn digest(
    work: &Arc<Work>,
    client: &Client,
    owner: usize,
    keys: &[[u8; 32]],
    most: u64,
    rng: &mut ChaCha20Rng,
) -> Result<(), TrialError> {
    let len = client.board().await?.messages;
    let count = 1 + rng.next_u64() % most;
    let start = rng.next_u64() % (len - count + 1);
    let mut request = CreateJobRequest {
        request_id: omr_remote::random_id().to_vec().into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start,
        end: start + count,
        bound: BOUND,
        ..Default::default()
    };
    let mut given_up = 0;
    let bytes = loop {
        match digest_of(client, &request).await {
            // Kills during three of its runs end a job: an inbox then asks with another id.
            Err(TrialError::Remote(RemoteError::JobFailed(_))) if given_up < GIVEN_UP => {
                given_up += 1;
                request.request_id = omr_remote::random_id().to_vec().into();
            }
            other => break other?,
        }
    };
    work.jobs.fetch_add(1, Ordering::Relaxed);
    let range = take(work, owner, None, bytes).await;
    if range.is_some_and(|range| range != (start..start + count)) {
        work.digests.fault("a digest is of another range".into());
    }
    Ok(())
}

/// Requests a digest and waits for it.
pub(crate) async fn digest_of(
    client: &Client,
    request: &CreateJobRequest,
) -> Result<Vec<u8>, TrialError> {
    let job = client.create_job(request).await?;
    client.watch_job(&job.job_id, |_| ()).await?;
    Ok(client.fetch_digest(&job.job_id).await?)
}

/// Decodes on a thread for blocking work.
async fn take(
    work: &Arc<Work>,
    owner: usize,
    session: Option<u64>,
    bytes: Vec<u8>,
) -> Option<std::ops::Range<u64>> {
    let own = work.clone();
    let taken =
        tokio::task::spawn_blocking(move || own.digests.take(&own.people, owner, session, &bytes));
    taken.await.ok().flatten()
}

/// Cuts digests off a session until it has covered the board at the trial's end.
///
/// Errors: a refusal.
pub(crate) async fn session(work: Arc<Work>, owner: usize) -> Result<(), TrialError> {
    let client = work.patient()?;
    let mut rng = work.rng(200 + owner as u64);
    let key = &work.people.recipients[owner].instant;
    let hash = register(&client, key).await?;
    let from = |start| OpenSessionRequest {
        request_id: omr_remote::random_id().to_vec().into(),
        key_hash: hash.to_vec().into(),
        start,
        bound: BOUND,
        indices_only: false,
        room: 0,
    };
    let mut id: Bytes = client.open_session(&from(0)).await?.session_id;
    let (mut number, mut covered) = (0, 0);
    let (mut ended, mut given_up) = (false, 0);
    while covered < work.len.load(Ordering::Relaxed) {
        if ended {
            given_up += 1;
            if given_up > GIVEN_UP {
                let text = format!("{given_up} sessions of a recipient ended by kills");
                work.digests.fault(text);
                return Ok(());
            }
            // Kills ended too many of its attempts: as in an inbox, another session continues.
            client.close_session(&id).await?;
            id = client.open_session(&from(covered)).await?.session_id;
            (number, ended) = (0, false);
        }
        let seen = client.session(&id).await?;
        if !seen.error.is_empty() {
            ended = true;
            continue;
        }
        if seen.cuts != number {
            let text = format!("a session of {number} cuts reports {} cuts", seen.cuts);
            work.digests.fault(text);
            return Ok(());
        }
        if seen.next > covered {
            let bytes = match client.cut_session(&id, number).await {
                Ok(cut) => cut.digest,
                // A kill occurred in between, and was one too many.
                Err(RemoteError::Refused {
                    code: Code::FailedPrecondition,
                    ..
                }) => {
                    ended = true;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let session = Some((owner % RECIPIENTS) as u64);
            let Some(range) = take(&work, owner, session, bytes).await else {
                return Ok(());
            };
            covered = range.end;
            number += 1;
            work.covered[owner].store(covered, Ordering::Relaxed);
        }
        pause(&mut rng, 10..300).await;
    }
    Ok(client.close_session(&id).await?)
}
