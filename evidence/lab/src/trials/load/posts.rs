//! Posts at a fixed rate. Every post is due at a fixed time, regardless of earlier posts, and its latency counts from
//! then: a stalled server is charged for every waiting post.

use super::ledger::{Ledger, ReadBack};
use super::pool::Pool;
use super::scene::Scene;
use super::{Progress, per_second};
use crate::trials::{TrialError, clients, count};
use clap::Args;
use futures::{StreamExt, stream};
use hdrhistogram::Histogram;
use omr_protocol::ParamSet;
use omr_remote::v1::Part;
use omr_remote::{Client, RemoteError, random_id};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// The number of messages made in advance.
const POOL: usize = 4096;
/// The most unanswered posts of a client; the next post waits, and its latency counts.
const OUTSTANDING: u32 = 512;
/// The time from the end of the preparations to the first post.
const LEAD: Duration = Duration::from_millis(200);

/// The rate and number of posts.
#[derive(Clone, Debug, Args)]
pub struct PostLoad {
    /// Posts a second, of one message each, all clients together
    #[arg(long = "posts-per-second", value_name = "N", default_value_t = 2000, value_parser = count())]
    pub per_second: u32,
    /// Seconds of posting
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = count())]
    pub seconds: u32,
    /// Clients that post, each with a connection and a token of its own
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clients())]
    pub clients: u16,
    /// Post through streams instead of calls
    #[arg(long)]
    pub stream: bool,
}

/// The results of posting.
#[derive(Clone, Debug, Serialize)]
pub struct PostFigures {
    /// The number of clients.
    pub clients: u16,
    /// The call: `PostMessages` or `StreamPosts`.
    pub call: &'static str,
    /// Bytes of a clue.
    pub clue_bytes: u32,
    /// Bytes of a payload.
    pub payload_bytes: u32,
    /// The number of posts per second that were due.
    pub due_per_second: u32,
    /// The number of posts sent.
    pub sent: u64,
    /// The number of posts acknowledged.
    pub acknowledged: u64,
    /// The number of posts that failed, by reason; no post is tried twice.
    pub errors: BTreeMap<String, u64>,
    /// Seconds from the first post's due time to the last answer.
    pub seconds: f64,
    /// The number of acknowledged posts per second.
    pub per_second: f64,
    /// Milliseconds from the due time of a post to its acknowledgement.
    pub latency_ms: Latency,
    /// Seconds of all cores that the server used.
    pub server_cpu_s: f64,
    /// The peak memory of the server.
    pub server_peak_rss_bytes: u64,
    /// Bytes that the server stores for the messages.
    pub disk_bytes: u64,
    /// The result of reading the board.
    pub read_back: ReadBack,
}

/// Quantiles.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Latency {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

impl Latency {
    /// Converts a histogram of microseconds.
    fn new(histogram: &Histogram<u64>) -> Self {
        let millis = |value: u64| value as f64 / 1e3;
        let at = |quantile| millis(histogram.value_at_quantile(quantile));
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: millis(histogram.max()),
        }
    }
}

struct Tally {
    histogram: Histogram<u64>,
    indices: Vec<Option<u64>>,
    sent: u64,
    acknowledged: u64,
    errors: BTreeMap<String, u64>,
}

/// The state of a run that all clients share.
struct Run {
    pool: Arc<Pool>,
    start: Instant,
    load: PostLoad,
    tally: Mutex<Tally>,
}

impl PostLoad {
    fn posts(&self) -> u64 {
        u64::from(self.per_second) * u64::from(self.seconds)
    }

    /// Posts, then reads all messages.
    ///
    /// Errors: those of the server outside the posts; `Own`, `Io`.
    pub(super) fn run(
        &self,
        scene: &Scene,
        set: &ParamSet,
        tokens: &[String],
        progress: &Progress<'_>,
    ) -> Result<PostFigures, TrialError> {
        let reader = scene.client(&tokens[0])?;
        let board = scene.runtime.block_on(reader.board())?;
        progress("making clues", 0, POOL as u64);
        let count = self.posts().min(POOL as u64) as usize;
        let pool = Arc::new(Pool::new(set, &board, count)?);
        let clients = connected(scene, tokens)?;
        scene.forget_peak();
        let (before, disk) = (scene.usage(), scene.disk_bytes()?);
        let (tally, seconds) = scene
            .runtime
            .block_on(self.post(pool.clone(), clients, progress));
        let after = scene.usage();
        let disk_bytes = scene.disk_bytes()?.saturating_sub(disk);
        let ledger = Ledger::new(tally.indices);
        let read = read_back(&reader, board.messages, ledger, &pool, progress);
        let read_back = scene.runtime.block_on(read)?;
        Ok(PostFigures {
            clients: self.clients,
            call: ["PostMessages", "StreamPosts"][usize::from(self.stream)],
            clue_bytes: board.clue_bytes,
            payload_bytes: board.payload_bytes,
            due_per_second: self.per_second,
            sent: tally.sent,
            acknowledged: tally.acknowledged,
            errors: tally.errors,
            seconds,
            per_second: per_second(tally.acknowledged, seconds),
            latency_ms: Latency::new(&tally.histogram),
            server_cpu_s: after.cpu_s - before.cpu_s,
            server_peak_rss_bytes: after.peak_rss_bytes,
            disk_bytes,
            read_back,
        })
    }

    /// Makes all posts; returns the seconds from the first one's due time to the last answer.
    async fn post(
        &self,
        pool: Arc<Pool>,
        clients: Vec<Client>,
        progress: &Progress<'_>,
    ) -> (Tally, f64) {
        let total = self.posts();
        let run = Arc::new(Run {
            pool,
            start: Instant::now() + LEAD,
            load: self.clone(),
            tally: Mutex::new(Tally::new(total)),
        });
        let drive = |(first, client)| {
            let run = run.clone();
            tokio::spawn(async move {
                if run.load.stream {
                    run.stream(client, first as u64).await
                } else {
                    run.calls(client, first as u64).await
                }
            })
        };
        let driven: Vec<_> = clients.into_iter().enumerate().map(drive).collect();
        let all = futures::future::join_all(driven);
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        tokio::pin!(all);
        loop {
            tokio::select! {
                _ = &mut all => break,
                _ = tick.tick() => progress("posting", run.tally().acknowledged, total),
            }
        }
        let seconds = run.start.elapsed().as_secs_f64();
        let empty = Tally::new(0);
        (std::mem::replace(&mut *run.tally(), empty), seconds)
    }
}

impl Tally {
    fn new(posts: u64) -> Self {
        // The histogram grows by itself, so no time is truncated.
        let histogram = Histogram::new(3).expect("1 to 5 digits are possible");
        Self {
            histogram,
            indices: vec![None; posts as usize],
            sent: 0,
            acknowledged: 0,
            errors: BTreeMap::new(),
        }
    }
}

impl Run {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_secs_f64(number as f64 / f64::from(self.load.per_second))
    }

    /// Returns the numbers of a client's posts.
    fn numbers(&self, first: u64) -> impl Iterator<Item = u64> + Send + use<> {
        (first..self.load.posts()).step_by(self.load.clients.into())
    }

    /// Makes a call for each post, regardless of the number of unanswered ones.
    async fn calls(self: Arc<Self>, client: Client, first: u64) {
        let room = Arc::new(Semaphore::new(OUTSTANDING as usize));
        for number in self.numbers(first) {
            sleep_until(self.due(number)).await;
            let Ok(permit) = room.clone().acquire_owned().await else {
                return;
            };
            let (run, client) = (self.clone(), client.clone());
            tokio::spawn(async move {
                run.tally().sent += 1;
                let message = run.pool.message(number);
                let answer = client.post_as(random_id(), vec![message]).await;
                run.note(number, answer);
                drop(permit);
            });
        }
        // All calls are answered when all permits are free.
        let _ = room.acquire_many(OUTSTANDING).await;
    }

    /// Makes one stream for all posts of a client.
    async fn stream(self: Arc<Self>, client: Client, first: u64) {
        let run = self.clone();
        let posts = stream::iter(self.numbers(first)).then(move |number| {
            let run = run.clone();
            async move {
                sleep_until(run.due(number)).await;
                run.tally().sent += 1;
                vec![run.pool.message(number)]
            }
        });
        let mut answers = Box::pin(client.post_stream(posts));
        let mut numbers = self.numbers(first);
        while let (Some(answer), Some(number)) = (answers.next().await, numbers.next()) {
            let first = answer.map(|posted| posted.ranges.first().cloned().unwrap_or_default());
            self.note(number, first);
        }
        for _ in numbers {
            // The stream ended before they were answered.
            *self.tally().errors.entry("unanswered".into()).or_default() += 1;
        }
    }

    fn note(&self, number: u64, answer: Result<Range<u64>, RemoteError>) {
        let waited = self.due(number).elapsed();
        let mut tally = self.tally();
        match answer {
            Ok(range) => {
                tally.acknowledged += 1;
                tally.indices[number as usize] = Some(range.start);
                let micros = waited.as_micros().max(1) as u64;
                // Recording fails only if memory does.
                let _ = tally.histogram.record(micros);
            }
            Err(error) => *tally.errors.entry(reason(&error)).or_default() += 1,
        }
    }
}

fn connected(scene: &Scene, tokens: &[String]) -> Result<Vec<Client>, TrialError> {
    tokens.iter().map(|token| scene.impatient(token)).collect()
}

/// Returns an error by its code.
fn reason(error: &RemoteError) -> String {
    match error {
        RemoteError::Exhausted(..) => "RESOURCE_EXHAUSTED".into(),
        RemoteError::Unreachable { last, .. } => format!("UNAVAILABLE: {last}"),
        RemoteError::Unauthenticated(..) => "UNAUTHENTICATED".into(),
        RemoteError::Denied(..) => "PERMISSION_DENIED".into(),
        RemoteError::NotFound(..) => "NOT_FOUND".into(),
        RemoteError::Exists(..) => "ALREADY_EXISTS".into(),
        RemoteError::Refused { code, .. } => format!("{code:?}"),
        other => other.to_string(),
    }
}

/// Reads the board from `start` on and checks every message.
async fn read_back(
    reader: &Client,
    start: u64,
    mut ledger: Ledger,
    pool: &Pool,
    progress: &Progress<'_>,
) -> Result<ReadBack, TrialError> {
    let end = reader.board().await?.messages;
    let began = Instant::now();
    let mut pieces = Box::pin(reader.read(start..end, Part::Unspecified));
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        progress("reading back", piece.first_index - start, end - start);
        for (index, message) in (piece.first_index..).zip(&piece.messages) {
            ledger.take(index, message, |number| pool.message(number));
        }
    }
    let mut found = ledger.finish();
    found.seconds = began.elapsed().as_secs_f64();
    Ok(found)
}

impl PostFigures {
    /// Returns descriptions of all faults.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = self.read_back.faults();
        let failed: u64 = self.errors.values().sum();
        if failed > 0 {
            faults.push(format!("{failed} of {} posts failed", self.sent));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_any_length_count() {
        let mut tally = Tally::new(0);
        for millis in 1..=1000 {
            tally.histogram.record(millis * 1000).unwrap();
        }
        tally.histogram.record(3_600_000_000).unwrap();
        let latency = Latency::new(&tally.histogram);
        assert!((latency.p50 - 501.0).abs() < 1.0, "{latency:?}");
        assert!((latency.p99 - 991.0).abs() < 2.0, "{latency:?}");
        assert!(
            (latency.max / 3_600_000.0 - 1.0).abs() < 0.001,
            "{latency:?}"
        );
    }

    #[test]
    fn errors_are_named_by_their_codes() {
        let call = "PostMessages";
        let message = String::from("busy");
        assert_eq!(
            reason(&RemoteError::Exhausted(call, message)),
            "RESOURCE_EXHAUSTED"
        );
        let last = String::from("connection refused");
        let waited = Duration::ZERO;
        let gone = RemoteError::Unreachable {
            call,
            url: String::new(),
            waited,
            last,
        };
        assert_eq!(reason(&gone), "UNAVAILABLE: connection refused");
    }
}
