//! Digests that many recipients request at once, over the same messages.

use super::Progress;
use super::keys::{Registered, register};
use super::pool::{Pool, Writer};
use super::scene::Scene;
use crate::trials::{TrialError, clients};
use clap::Args;
use omr_client::decode;
use omr_protocol::{ParamSet, Response};
use omr_remote::v1::{Board, CreateJobRequest, Job, JobState, KeyKind, Message, Scheme};
use omr_remote::{Client, random_id};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

/// The number of strangers' messages made in advance.
const POOL: usize = 2048;
/// The number of messages to each recipient.
const PERTINENT: u64 = 5;
/// The bound of every digest.
const BOUND: u32 = 50;
/// The number of messages posted at a time.
const TOGETHER: u64 = 512;
/// The first number of strangers' messages here; those of other posts are lower.
const NUMBERS: u64 = 1 << 40;

/// Recipients who ask at once.
#[derive(Clone, Debug, Args)]
pub struct JobLoad {
    /// Recipients who ask for a digest at once
    #[arg(long = "jobs", value_name = "N", default_value_t = 8, value_parser = clients())]
    pub recipients: u16,
    /// Messages of the range that they ask for
    #[arg(long = "job-messages", value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub messages: u64,
}

/// The results of digests.
#[derive(Clone, Debug, Serialize)]
pub struct JobFigures {
    /// The number of messages in the range.
    pub messages: u64,
    /// The bound of the digests.
    pub bound: u32,
    /// The number of messages to each recipient.
    pub pertinent: u64,
    /// The times of each recipient's digest, in the order in which they ran.
    pub jobs: Vec<JobTimes>,
    /// Seconds of the first run, which does the board's share of the work.
    pub first_s: f64,
    /// The mean seconds of all later runs, which share this work.
    pub further_mean_s: Option<f64>,
    /// The ratio of this mean to the first.
    pub further_over_first: Option<f64>,
    /// Seconds from the first request to the last digest.
    pub seconds: f64,
    /// Seconds of all cores that the server used.
    pub server_cpu_s: f64,
    /// The peak memory of the server.
    pub server_peak_rss_bytes: u64,
}

/// The times of one recipient's digest.
#[derive(Clone, Debug, Serialize)]
pub struct JobTimes {
    /// Seconds from the request to the start of its run.
    pub wait_s: f64,
    /// Seconds from its start to its end.
    pub run_s: f64,
    /// Seconds from the request to the last byte of the digest.
    pub total_s: f64,
    /// Bytes of the digest.
    pub digest_bytes: u64,
    /// True if it decodes to exactly the recipient's messages, bit for bit.
    pub exact: bool,
    /// The fault, if it does not.
    pub error: Option<String>,
}

struct Recipient {
    client: Client,
    key: Registered,
    /// The recipient's messages by index.
    expected: BTreeMap<u64, Vec<u8>>,
}

impl JobLoad {
    /// Fills the board, then lets all recipients ask.
    ///
    /// Errors: those of the server, `Own`, `Io`.
    pub(super) fn run(
        &self,
        scene: &Scene,
        set: &ParamSet,
        tokens: &[String],
        progress: &Progress<'_>,
    ) -> Result<JobFigures, TrialError> {
        let mut recipients = Vec::new();
        for token in tokens {
            progress("keys", recipients.len() as u64, tokens.len() as u64);
            let client = scene.client(token)?;
            recipients.push(Recipient {
                key: register(scene, set, KeyKind::Bulk, &client, None)?,
                client,
                expected: BTreeMap::new(),
            });
        }
        let range = self.fill(scene, set, &mut recipients, progress)?;
        scene.forget_peak();
        let before = scene.usage();
        let start = Instant::now();
        progress("digests", 0, recipients.len() as u64);
        let asked = recipients
            .iter()
            .map(|recipient| ask(&recipient.client, recipient.key.hash, range.clone()));
        let answers = scene.runtime.block_on(futures::future::join_all(asked));
        let seconds = start.elapsed().as_secs_f64();
        let after = scene.usage();
        let mut jobs = Vec::new();
        for (recipient, answer) in recipients.iter().zip(answers) {
            let (mut times, digest) = answer?;
            times.error = judge(set, recipient, &digest).err();
            times.exact = times.error.is_none();
            jobs.push(times);
        }
        let mut figures = self.figures(jobs, seconds);
        figures.server_cpu_s = after.cpu_s - before.cpu_s;
        figures.server_peak_rss_bytes = after.peak_rss_bytes;
        Ok(figures)
    }

    fn figures(&self, mut jobs: Vec<JobTimes>, seconds: f64) -> JobFigures {
        jobs.sort_by(|a, b| a.wait_s.total_cmp(&b.wait_s));
        let first_s = jobs.first().map_or(0.0, |job| job.run_s);
        let further = &jobs[1.min(jobs.len())..];
        let sum: f64 = further.iter().map(|job| job.run_s).sum();
        let further_mean_s = (!further.is_empty()).then(|| sum / further.len() as f64);
        JobFigures {
            messages: self.messages,
            bound: BOUND,
            pertinent: PERTINENT,
            jobs,
            first_s,
            further_mean_s,
            further_over_first: further_mean_s.map(|mean| mean / first_s),
            seconds,
            server_cpu_s: 0.0,
            server_peak_rss_bytes: 0,
        }
    }

    /// Posts the range: the recipients' messages are spread over it, with strangers' in between.
    fn fill(
        &self,
        scene: &Scene,
        set: &ParamSet,
        recipients: &mut [Recipient],
        progress: &Progress<'_>,
    ) -> Result<Range<u64>, TrialError> {
        let client = recipients[0].client.clone();
        let board = scene.runtime.block_on(client.board())?;
        let places = self.places(recipients.len() as u64)?;
        let mut own = own_messages(set, &board, recipients, &places)?;
        let pool = Pool::new(set, &board, POOL.min(self.messages as usize))?;
        let mut at = 0;
        while at < self.messages {
            progress("filling", at, self.messages);
            let end = self.messages.min(at + TOGETHER);
            let message = |place| {
                let own = own.remove(&place);
                own.unwrap_or_else(|| pool.message(NUMBERS + place))
            };
            let messages: Vec<Message> = (at..end).map(message).collect();
            let posted = scene.runtime.block_on(client.post(messages))?;
            // Nobody else posts, so the messages are at their intended positions.
            let first = posted.ranges.first().map(|range| range.start);
            if first != Some(board.messages + at) {
                return Err(TrialError::Broken(format!(
                    "expected a post at {}, acknowledged at {first:?}",
                    board.messages + at
                )));
            }
            at = end;
        }
        for recipient in recipients {
            let shifted = std::mem::take(&mut recipient.expected).into_iter();
            recipient.expected = shifted
                .map(|(place, payload)| (board.messages + place, payload))
                .collect();
        }
        Ok(board.messages..board.messages + self.messages)
    }

    /// Returns positions in the range for all recipients' messages, far from each other.
    fn places(&self, recipients: u64) -> Result<Vec<u64>, TrialError> {
        let all = recipients * PERTINENT;
        if self.messages >= all {
            Ok((0..all).map(|i| i * self.messages / all).collect())
        } else {
            Err(TrialError::Broken(format!(
                "expected at least {all} messages for {recipients} recipients, found {}",
                self.messages
            )))
        }
    }
}

/// Returns the messages to the recipients by position, and stores them with each recipient.
fn own_messages(
    set: &ParamSet,
    board: &Board,
    recipients: &mut [Recipient],
    places: &[u64],
) -> Result<BTreeMap<u64, Message>, TrialError> {
    let mut all = BTreeMap::new();
    let count = recipients.len();
    for (who, recipient) in recipients.iter_mut().enumerate() {
        let writer = Writer::new(set, board, &recipient.key.clue)?;
        for place in places.iter().skip(who).step_by(count) {
            let message = writer.message()?;
            recipient.expected.insert(*place, message.payload.to_vec());
            all.insert(*place, message);
        }
    }
    Ok(all)
}

fn request(hash: [u8; 32], range: Range<u64>) -> CreateJobRequest {
    CreateJobRequest {
        request_id: random_id().to_vec().into(),
        key_hashes: vec![hash.to_vec().into()],
        start: range.start,
        end: range.end,
        bound: BOUND,
        scheme: Scheme::Sophomr.into(),
        ..CreateJobRequest::default()
    }
}

/// Requests a digest, waits for it and fetches it.
async fn ask(
    client: &Client,
    hash: [u8; 32],
    range: Range<u64>,
) -> Result<(JobTimes, Vec<u8>), TrialError> {
    let start = Instant::now();
    let job = client.create_job(&request(hash, range)).await?;
    let (mut running, mut done) = (None, None);
    let note = |job: &Job| {
        let now = start.elapsed().as_secs_f64();
        match job.state() {
            JobState::Running => running = running.or(Some(now)),
            JobState::Done => done = Some(now),
            _ => {}
        }
    };
    client.watch_job(&job.job_id, note).await?;
    let digest = client.fetch_digest(&job.job_id).await?;
    let total_s = start.elapsed().as_secs_f64();
    let done = done.unwrap_or(total_s);
    // A job that was too short to be seen running.
    let running = running.unwrap_or(done);
    let times = JobTimes {
        wait_s: running,
        run_s: done - running,
        total_s,
        digest_bytes: digest.len() as u64,
        exact: false,
        error: None,
    };
    Ok((times, digest))
}

/// Checks a digest.
///
/// Errors: a description of the fault.
fn judge(set: &ParamSet, recipient: &Recipient, digest: &[u8]) -> Result<(), String> {
    let digest = Response::from_bytes(set, digest).map_err(|error| error.to_string())?;
    let found: BTreeMap<u64, Vec<u8>> = decode(set, &recipient.key.secret, &digest)
        .map_err(|error| error.to_string())?
        .into_iter()
        .map(|message| (message.index, message.payload.unwrap_or_default()))
        .collect();
    let expected = &recipient.expected;
    let exact = found
        .iter()
        .filter(|(at, payload)| expected.get(at) == Some(payload))
        .count();
    if exact == expected.len() && found.len() == exact {
        Ok(())
    } else {
        Err(format!(
            "expected {} messages, found {exact} of them and {} others",
            expected.len(),
            found.len() - exact
        ))
    }
}

impl JobFigures {
    /// Returns descriptions of all faults.
    pub(super) fn faults(&self) -> Vec<String> {
        self.jobs
            .iter()
            .filter_map(|job| Some(format!("a digest is wrong: {}", job.error.as_ref()?)))
            .collect()
    }
}
