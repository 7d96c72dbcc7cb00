//! The metric families, registered under their documented names, units and buckets.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

use super::labels::{
    EngineLabel, KindLabel, MethodLabel, OutcomeLabel, ReasonLabel, RequestLabel, SchemeLabel,
    StageLabel, StateLabel,
};
use super::listed::Listed;

type Seconds = Counter<f64, AtomicU64>;
type Histograms<S> = Family<S, Histogram, fn() -> Histogram>;

/// Half a millisecond to 16 s.
fn io_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
}

/// A millisecond to an hour and more: requests may be streams.
fn request_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 12))
}

/// A tenth of a second to 15 hours.
fn work_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.1, 2.0, 20))
}

/// One message to 65,536.
fn messages() -> Histogram {
    Histogram::new(exponential_buckets(1.0, 4.0, 9))
}

/// One recipient to 8.
fn recipients() -> Histogram {
    Histogram::new((1..=8).map(f64::from))
}

pub(crate) fn register_build(registry: &mut Registry, version: &str, params_id: &str) {
    let labels = vec![
        ("version", version.to_owned()),
        ("params", params_id.to_owned()),
    ];
    registry.register("build", "Version and parameter set", Info::new(labels));
}

/// Registers a clone of a metric and returns the metric.
fn counted<M>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M
where
    M: Clone + prometheus_client::registry::Metric,
{
    registry.register(name, help, metric.clone());
    metric
}

/// Registers a clone of a metric with a unit, which ends its name, and returns the metric.
fn measured<M>(registry: &mut Registry, name: &str, help: &str, unit: Unit, metric: M) -> M
where
    M: Clone + prometheus_client::registry::Metric,
{
    registry.register_with_unit(name, help, unit, metric.clone());
    metric
}

/// Metrics of requests, connections and bytes.
#[derive(Debug)]
pub(super) struct TrafficFamilies {
    pub(super) requests: Listed<RequestLabel>,
    pub(super) request_seconds: Histograms<MethodLabel>,
    pub(super) received: Counter,
    pub(super) sent: Counter,
    pub(super) connections: Gauge,
    pub(super) connections_refused: Counter,
    pub(super) subscribers: Gauge,
}

impl TrafficFamilies {
    pub(super) fn register(r: &mut Registry) -> Self {
        let seconds = Family::new_with_constructor(request_seconds as fn() -> Histogram);
        Self {
            requests: Listed::register(r, "requests", "Requests answered"),
            request_seconds: measured(r, "request", "Time of a request", Unit::Seconds, seconds),
            received: measured(
                r,
                "received",
                "Bytes received",
                Unit::Bytes,
                Counter::default(),
            ),
            sent: measured(r, "sent", "Bytes sent", Unit::Bytes, Counter::default()),
            connections: counted(r, "connections", "Open connections", Gauge::default()),
            connections_refused: counted(
                r,
                "connections_refused",
                "Connections refused, as their address or all together had too many",
                Counter::default(),
            ),
            subscribers: counted(r, "subscribers", "Open subscriptions", Gauge::default()),
        }
    }
}

/// The board and its disk.
#[derive(Debug)]
pub(super) struct BoardFamilies {
    pub(super) posts: Counter,
    pub(super) posted: Counter,
    pub(super) refused: Listed<ReasonLabel>,
    pub(super) post_seconds: Histogram,
    pub(super) commit_seconds: Histogram,
    pub(super) commit_messages: Histogram,
    pub(super) messages: Gauge,
    pub(super) tail_messages: Gauge,
    pub(super) segments: Gauge,
    pub(super) disk: Family<KindLabel, Gauge>,
    pub(super) damaged: Family<KindLabel, Counter>,
}

impl BoardFamilies {
    pub(super) fn register(r: &mut Registry) -> Self {
        let post = "Time of a post, from its arrival to its acknowledgement";
        let per_commit = "Messages of a commit";
        let tail = "Messages on the board that are in no segment yet";
        let damaged = "Objects found damaged";
        Self {
            posts: counted(r, "posts", "Posts acknowledged", Counter::default()),
            posted: counted(r, "posted_messages", "Messages posted", Counter::default()),
            refused: Listed::register(r, "posts_refused", "Posts refused"),
            post_seconds: measured(r, "post", post, Unit::Seconds, io_seconds()),
            commit_seconds: measured(r, "commit", "Time of a commit", Unit::Seconds, io_seconds()),
            commit_messages: counted(r, "commit_messages", per_commit, messages()),
            messages: counted(
                r,
                "board_messages",
                "Messages on the board",
                Gauge::default(),
            ),
            tail_messages: counted(r, "board_tail_messages", tail, Gauge::default()),
            segments: counted(
                r,
                "board_segments",
                "Segments of the board",
                Gauge::default(),
            ),
            disk: measured(
                r,
                "disk",
                "Bytes on the disk",
                Unit::Bytes,
                Family::default(),
            ),
            damaged: counted(r, "damaged_objects", damaged, Family::default()),
        }
    }
}

/// Keys, jobs and sessions.
#[derive(Debug)]
pub(super) struct DetectionFamilies {
    pub(super) uploads: Counter,
    pub(super) keys: Gauge,
    pub(super) jobs: Family<StateLabel, Gauge>,
    pub(super) leases: Family<StateLabel, Gauge>,
    pub(super) leases_expired: Counter,
    pub(super) finished: Listed<OutcomeLabel>,
    pub(super) wait_seconds: Histogram,
    pub(super) digest_seconds: Histograms<SchemeLabel>,
    pub(super) run_recipients: Histogram,
    pub(super) stage_seconds: Family<StageLabel, Seconds>,
    pub(super) engine: Family<EngineLabel, Gauge>,
    pub(super) ntts: Family<SchemeLabel, Counter>,
    pub(super) sessions: Gauge,
    pub(super) session_messages: Counter,
    pub(super) session_lag: Gauge,
}

impl DetectionFamilies {
    pub(super) fn register(r: &mut Registry) -> Self {
        let digests = Family::new_with_constructor(work_seconds as fn() -> Histogram);
        let workers = "Workers elsewhere that wait for work, and units that others are at";
        let expired = "Leases that ran out, whose worker fell silent";
        let looked_at = "Messages that sessions looked at";
        let lag = "Messages by which the slowest session is behind the board";
        let wait = "Time that a job waited before it ran";
        let together = "Recipients whose digests one run made";
        let engine = "What makes digests and sessions on this server";
        let ntts = "Number-theoretic transforms done";
        Self {
            uploads: counted(
                r,
                "key_uploads",
                "Keys that arrived whole",
                Counter::default(),
            ),
            keys: counted(r, "keys_registered", "Keys registered", Gauge::default()),
            jobs: counted(r, "jobs", "Jobs that are not finished", Family::default()),
            leases: counted(r, "workers", workers, Family::default()),
            leases_expired: counted(r, "leases_expired", expired, Counter::default()),
            finished: Listed::register(r, "jobs_finished", "Jobs finished"),
            wait_seconds: measured(r, "queue_wait", wait, Unit::Seconds, work_seconds()),
            digest_seconds: measured(r, "digest", "Time of a digest", Unit::Seconds, digests),
            run_recipients: counted(r, "run_recipients", together, recipients()),
            stage_seconds: measured(
                r,
                "stage",
                "Time by stage",
                Unit::Seconds,
                Family::default(),
            ),
            engine: counted(r, "engine_info", engine, Family::default()),
            ntts: counted(r, "ntts", ntts, Family::default()),
            sessions: counted(r, "sessions_open", "Open sessions", Gauge::default()),
            session_messages: counted(r, "session_messages", looked_at, Counter::default()),
            session_lag: counted(r, "session_lag_messages", lag, Gauge::default()),
        }
    }
}
