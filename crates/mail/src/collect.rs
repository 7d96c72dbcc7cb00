//! The network half of a fetch.

use crate::inbox::{Batches, Form, Job, MAX_LEVELS, Requests, largest_step};
use crate::order;
use crate::send::{board_place, messages_of};
use crate::{Identity, MailError};
use omr_remote::v1::{self, CreateJobRequest, JobState, Limits};
use omr_remote::{Client, RemoteError};
use std::ops::Range;

/// The progress of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for so many others.
    Queued(u64),
    /// The server works: at what, steps done, all steps.
    Running(String, u64, u64),
}

/// Whether a fetch asks for its messages a second and a third time, see [`Collected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spares {
    /// It does.
    Made,
    /// The identity was made without.
    Off,
    /// The server cannot make digests with a step.
    NotServed,
}

/// What a fetch came to, as far as the network half knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Ranges that the server will never serve as they were asked for, with its words. They are kept.
    pub refused: Vec<(Range<u64>, String)>,
    /// Spare requests.
    pub spares: Spares,
    /// The bound of its requests: the identity's, or less where the server allows less.
    pub bound: u32,
    /// Ranges that expired before they were fetched: nothing of them comes any more. They are kept.
    pub missed: Vec<Range<u64>>,
    /// For an identity that takes whole batches: why the server works them when they are asked for, if it does not when
    /// they fill.
    pub ordered: Result<(), String>,
}

/// Asks for digests of all messages from the cursor to the board's length, for the spare digest whose turn it
/// is, and for whatever is open from before, and keeps them undecoded. Bound, scheme and spare requests are
/// the identity's, ranges follow from the board's lengths: what the server sees does not depend on what any
/// digest held. Nothing is acknowledged.
///
/// A request that the server refuses for good, or gave up, does not hold up the others.
///
/// Errors: `NotRegistered`, `OtherBoard`, `OtherParams`, `Shorter`, `Remote`. What was collected stays; the
/// next fetch goes on with the same requests.
pub async fn collect(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    progress: impl FnMut(Stage),
) -> Result<Collected, MailError> {
    identity.registered()?;
    let board = client.board().await?;
    identity.check(&board_place(&board)?)?;
    let limits = client.limits().await?;
    let batches = order::batches(identity, requests)?;
    let (form, spares) = form(identity, &limits, batches)?;
    let missed = requests.plan(messages_of(&board)?, &form)?;
    let ordered = order::place(client, identity, &form, limits.orders).await?;
    let refused = collect_open(client, identity, requests, progress).await?;
    Ok(Collected {
        refused,
        spares,
        bound: form.bound,
        missed,
        ordered,
    })
}

/// The form of all requests of an identity at a server.
pub(crate) fn form(
    identity: &Identity,
    limits: &Limits,
    batches: Option<Batches>,
) -> Result<(Form, Spares), MailError> {
    let levels = identity.profile.spares.min(MAX_LEVELS);
    let spares = match (levels, limits.step >= largest_step(levels)) {
        (0, _) => Spares::Off,
        (_, true) => Spares::Made,
        (_, false) => Spares::NotServed,
    };
    let largest = identity.largest_bound(limits)?;
    let form = Form {
        bound: identity.profile.bound.min(largest),
        most: limits.digest_messages,
        levels: if spares == Spares::Made { levels } else { 0 },
        batches,
    };
    Ok((form, spares))
}

/// Fetches the digests of all open requests; gives those that were refused for good.
pub(crate) async fn collect_open(
    client: &Client,
    identity: &Identity,
    requests: Requests<'_>,
    mut progress: impl FnMut(Stage),
) -> Result<Vec<(Range<u64>, String)>, MailError> {
    let keys = identity.registered()?;
    let mut refused = Vec::new();
    let mut first = None;
    for (number, job) in requests.open()? {
        let request = request(identity, &keys, &job);
        let created = client.create_job(&request).await;
        let was_created = created.is_ok();
        let error = match fetch(client, created, &mut progress).await {
            Ok(digest) => {
                requests.keep(number, &digest)?;
                continue;
            }
            Err(error) => error,
        };
        if error.is_out_of_range() && job.start < client.board().await?.first_index {
            // Expired since the board was asked for: the next fetch asks for what is left.
            continue;
        }
        match &error {
            error if error.is_final() && !was_created => {
                let reason = error.to_string();
                requests.refused(number, &reason)?;
                refused.push((job.start..job.end, reason));
                continue;
            }
            RemoteError::JobFailed(_) => requests.failed(number)?,
            // The same id would meet the same fate.
            RemoteError::JobCancelled | RemoteError::NotFound(..) | RemoteError::Exists(..) => {
                requests.renew(number)?
            }
            // The server, or the way to it: the others would fare no better.
            _ => return Err(error.into()),
        }
        first.get_or_insert(error);
    }
    match first {
        Some(error) => Err(error.into()),
        None => Ok(refused),
    }
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
        step: if job.stride().has_gaps() { job.step } else { 0 },
    }
}

async fn fetch(
    client: &Client,
    created: Result<v1::Job, RemoteError>,
    progress: &mut impl FnMut(Stage),
) -> Result<Vec<u8>, RemoteError> {
    let job = created?;
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
