//! The network half of a fetch.

use crate::inbox::{Job, Requests};
use crate::send::board_place;
use crate::{Identity, MailError};
use omr_remote::v1::{self, CreateJobRequest, JobState};
use omr_remote::{Client, RemoteError};

/// How far a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for so many others.
    Queued(u64),
    /// The server works: at what, steps done, all steps.
    Running(String, u64, u64),
}

/// Asks for digests of all messages from the cursor to the board's length, and of whatever is open from
/// before, and keeps them undecoded. Bound and scheme are the identity's, ranges follow from the board's
/// length: what the server sees does not depend on what any digest held. Nothing is acknowledged.
///
/// Errors: `NotRegistered`, `OtherBoard`, `OtherParams`, `Shorter`, `Remote`. What was collected stays; the
/// next fetch goes on with the same requests.
pub async fn collect(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    mut progress: impl FnMut(Stage),
) -> Result<(), MailError> {
    let keys = identity.registered()?;
    let board = client.board().await?;
    identity.check(&board_place(&board)?)?;
    let most = client.limits().await?.digest_messages;
    requests.plan(board.messages, identity.profile.bound, most)?;
    for (number, job) in requests.open()? {
        let request = request(identity, &keys, &job);
        let digest = fetch(client, &request, &mut progress).await;
        match digest {
            Ok(digest) => requests.keep(number, &digest)?,
            Err(error) => {
                if is_lost(&error) {
                    requests.renew(number)?;
                }
                return Err(error.into());
            }
        }
    }
    Ok(())
}

/// Whether the same id would meet the same fate.
fn is_lost(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::JobFailed { .. } | RemoteError::JobCancelled | RemoteError::NotFound { .. }
    )
}

fn request(identity: &Identity, keys: &[[u8; 32]], job: &Job) -> CreateJobRequest {
    CreateJobRequest {
        request_id: job.request_id.to_vec().into(),
        key_hashes: keys.iter().map(|hash| hash.to_vec().into()).collect(),
        start: job.start,
        end: job.end,
        bound: job.bound,
        indices_only: false,
        scheme: identity.profile.scheme.into(),
    }
}

async fn fetch(
    client: &Client,
    request: &CreateJobRequest,
    progress: &mut impl FnMut(Stage),
) -> Result<Vec<u8>, RemoteError> {
    let job = client.create_job(request).await?;
    let changed = |job: &v1::Job| match job.state() {
        JobState::Queued => progress(Stage::Queued(job.jobs_ahead)),
        JobState::Running => {
            let stage = job.stage.clone();
            progress(Stage::Running(stage, job.stage_done, job.stage_total));
        }
        _ => {}
    };
    client.watch_job(&job.job_id, changed).await?;
    client.fetch_digest(&job.job_id).await
}
