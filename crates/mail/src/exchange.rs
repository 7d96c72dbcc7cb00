//! Makes the calls of an exchange.

use crate::inbox::Requests;
use crate::periods::check_clock;
use crate::send::{board_history, board_mark, board_place};
use crate::{MailError, Stage};
use omr_inbox::{Answer, Asking, Board, Call, Exchange, Failed, Failure, Limits, Log, Step};
use omr_inbox::{JobRequest, OrderRequest, SessionRequest};
use omr_remote::v1::{self, JobState};
use omr_remote::{Client, RemoteError};

/// Runs an exchange to its end. An interrupted exchange continues when it is started again. `ask` makes queries with
/// [`omr_inbox::Inbox::ask`].
pub(crate) async fn run<X: Exchange<RemoteError>>(
    client: &Client,
    mut exchange: X,
    requests: Requests<'_>,
    ask: impl Fn(&Asking) -> Result<(), MailError>,
    mut progress: impl FnMut(Stage),
) -> Result<X::Done, MailError> {
    let mut step = exchange.begin(requests)?;
    loop {
        let call = match step {
            Step::Call(call) => call,
            Step::Ask(asking) => {
                ask(&asking)?;
                step = exchange.answer(requests, Ok(Answer::Asked))?;
                continue;
            }
            Step::Done(done) => return Ok(done),
        };
        let answer = match perform(client, call, &mut progress).await {
            Ok(answer) => Ok(answer),
            Err(MailError::Remote(error)) => Err(Failed {
                kind: kind(&error),
                error,
            }),
            Err(error) => return Err(error),
        };
        step = exchange.answer(requests, answer).map_err(keys_gone)?;
    }
}

/// Turns the error about an unknown key into `KeysGone`: the identity is no longer registered.
fn keys_gone(error: MailError) -> MailError {
    match error {
        MailError::Remote(RemoteError::NotFound(
            "CreateJob" | "CreateOrder" | "OpenSession",
            _,
        )) => MailError::KeysGone,
        error => error,
    }
}

async fn perform(
    client: &Client,
    call: Call,
    progress: &mut impl FnMut(Stage),
) -> Result<Answer, MailError> {
    match call {
        Call::Board(lengths) => {
            let (board, hashes) = client.board_and_hashes(&lengths).await?;
            check_clock(&board)?;
            let known = lengths.into_iter().zip(hashes);
            let log = Log {
                hash: board_mark(&board)?.hash,
                history: board_history(&board)?,
                hashes: known.filter_map(|(at, hash)| Some((at, hash?))).collect(),
            };
            let place = board_place(&board)?;
            let (first, end) = (board.first_index, board.messages);
            let described = Board::new(place, first, end, log)?;
            Ok(Answer::Board(described.at(board.time)))
        }
        Call::Limits => Ok(Answer::Limits(limits(&client.limits().await?))),
        Call::Seeds(range) => Ok(Answer::Seeds(client.seeds(range).await?)),
        Call::CreateOrder(order) => {
            let placed = client.create_order(&create_order(&order)).await?;
            Ok(Answer::Order(placed.batch_messages))
        }
        Call::CreateJob(job) => {
            let created = client.create_job(&create_job(&job)).await?;
            Ok(Answer::Job {
                log_hash: omr_remote::log_hash("CreateJob", &created.log_hash)?,
                id: created.job_id.to_vec(),
            })
        }
        Call::WatchJob(id) => {
            let changed = |job: &v1::Job| progress_of(job).into_iter().for_each(&mut *progress);
            client.watch_job(&id.into(), changed).await?;
            Ok(Answer::Watched)
        }
        Call::FetchDigest(id) => Ok(Answer::Digest(client.fetch_digest(&id.into()).await?)),
        Call::OpenSession(session) => {
            let opened = client.open_session(&open_session(&session)).await?;
            Ok(Answer::Session(opened.session_id.to_vec()))
        }
        Call::CutSession { session_id, number } => {
            let id = session_id.to_vec().into();
            let omr_remote::Cut { digest, log_hash } = client.cut_session(&id, number).await?;
            Ok(Answer::Cut { digest, log_hash })
        }
        Call::CloseSession(id) => {
            client.close_session(&id.to_vec().into()).await?;
            Ok(Answer::Closed)
        }
    }
}

fn progress_of(job: &v1::Job) -> Option<Stage> {
    match job.state() {
        JobState::Queued => Some(Stage::Queued(job.jobs_ahead)),
        // A short job may be done before its first report.
        JobState::Running | JobState::Done => {
            let stage = job.stage.clone();
            Some(Stage::Running(stage, job.stage_done, job.stage_total))
        }
        _ => None,
    }
}

fn limits(limits: &v1::Limits) -> Limits {
    Limits {
        digest_messages: limits.digest_messages,
        bound: limits.bound,
        step: limits.step,
        orders: limits.orders,
        fetch_messages: limits.fetch_messages,
    }
}

fn hashes<T: From<Vec<u8>>>(hashes: &[[u8; 32]]) -> Vec<T> {
    hashes.iter().map(|hash| hash.to_vec().into()).collect()
}

fn create_job(job: &JobRequest) -> v1::CreateJobRequest {
    v1::CreateJobRequest {
        request_id: job.request_id.to_vec().into(),
        key_hashes: hashes(&job.key_hashes),
        start: job.start,
        end: job.end,
        bound: job.bound,
        indices_only: false,
        scheme: job.scheme.into(),
        step: job.step,
        query: job.query.clone().into(),
    }
}

fn create_order(order: &OrderRequest) -> v1::CreateOrderRequest {
    v1::CreateOrderRequest {
        request_id: order.request_id.to_vec().into(),
        key_hashes: hashes(&order.key_hashes),
        start: order.start,
        bound: order.bound,
        indices_only: false,
        scheme: order.scheme.into(),
    }
}

fn open_session(session: &SessionRequest) -> v1::OpenSessionRequest {
    v1::OpenSessionRequest {
        request_id: session.request_id.to_vec().into(),
        key_hash: session.key_hash.to_vec().into(),
        start: session.start,
        bound: session.bound,
        indices_only: false,
        room: session.room,
    }
}

fn kind(error: &RemoteError) -> Failure {
    match error {
        error if error.is_out_of_range() => Failure::OutOfRange,
        error if error.is_final() => Failure::Final,
        RemoteError::Refused { .. } => Failure::Refused,
        RemoteError::Exists(..) => Failure::Exists,
        RemoteError::NotFound(..) => Failure::NotFound,
        RemoteError::JobFailed(_) => Failure::JobFailed,
        RemoteError::JobCancelled => Failure::JobCancelled,
        _ => Failure::Other,
    }
}
