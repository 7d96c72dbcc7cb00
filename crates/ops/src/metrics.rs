//! The figures of a running service, counted for Prometheus and the status page.

mod families;
mod labels;
mod listed;
mod totals;

use std::sync::Arc;

use prometheus_client::encoding::text;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::process::ProcessCollector;
use families::{BoardFamilies, DetectionFamilies, TrafficFamilies};
use labels::{
    EngineLabel, KindLabel, OutcomeLabel, ReasonLabel, RequestLabel, SchemeLabel, StageLabel,
    StateLabel,
};

pub(crate) use families::register_build;
pub use labels::grpc_code_name;
pub use totals::Totals;

/// The beginning of the names of all metrics but those of the process.
pub(crate) const PREFIX: &str = "omr";

/// Figures of a running service, for Prometheus. Clones count into the same figures.
///
/// Every label but a card's is a name known when the program is compiled.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    traffic: TrafficFamilies,
    board: BoardFamilies,
    detection: DetectionFamilies,
}

/// The size of the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoardSize {
    /// Messages in all.
    pub messages: u64,
    /// Messages that are not in a segment yet.
    pub tail_messages: u64,
    /// Segments.
    pub segments: u64,
}

/// One more of something for as long as it lives: a connection, a subscriber.
#[derive(Debug)]
pub struct Held(Gauge);

impl Held {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Figures of a service of this version and parameter set, all zero.
    pub fn new(version: &str, params_id: &str) -> Self {
        let mut registry = with_process();
        let own = registry.sub_registry_with_prefix(PREFIX);
        families::register_build(own, version, params_id);
        let traffic = TrafficFamilies::register(own);
        let board = BoardFamilies::register(own);
        let detection = DetectionFamilies::register(own);
        Self(Arc::new(Inner {
            registry,
            traffic,
            board,
            detection,
        }))
    }

    /// All figures as OpenMetrics text.
    pub fn encode(&self) -> String {
        encoded(&self.0.registry)
    }

    /// Says what makes digests here: an engine and, where that is one, its card.
    pub fn engine(&self, engine: &'static str, card: Option<&str>) {
        let card = card.unwrap_or_default().to_owned();
        let label = EngineLabel { engine, card };
        self.0.detection.engine.get_or_create(&label).set(1);
    }

    /// Counts a post of `messages` messages that was acknowledged after `seconds` seconds.
    pub fn post(&self, messages: u64, seconds: f64) {
        let board = &self.0.board;
        board.posts.inc();
        board.posted.inc_by(messages);
        board.post_seconds.observe(seconds);
    }

    /// Counts a post that was refused.
    pub fn post_refused(&self, reason: &'static str) {
        self.0.board.refused.inc(ReasonLabel { reason });
    }

    /// Counts a commit of `messages` messages to the disk.
    pub fn commit(&self, messages: u64, seconds: f64) {
        let board = &self.0.board;
        board.commit_seconds.observe(seconds);
        board.commit_messages.observe(messages as f64);
    }

    /// Counts an answered request: its method, the number of its gRPC code, its seconds.
    pub fn request(&self, method: &'static str, code: i32, seconds: f64) {
        let traffic = &self.0.traffic;
        let code = grpc_code_name(code);
        traffic.requests.inc(RequestLabel { method, code });
        traffic
            .request_seconds
            .get_or_create(&labels::MethodLabel { method })
            .observe(seconds);
    }

    /// Counts bytes that came in.
    pub fn received(&self, bytes: u64) {
        self.0.traffic.received.inc_by(bytes);
    }

    /// Counts bytes that went out.
    pub fn sent(&self, bytes: u64) {
        self.0.traffic.sent.inc_by(bytes);
    }

    /// One connection more, until the value is dropped.
    pub fn connection(&self) -> Held {
        Held::new(&self.0.traffic.connections)
    }

    /// Counts a connection that was refused.
    pub fn connection_refused(&self) {
        self.0.traffic.connections_refused.inc();
    }

    /// One subscriber more, until the value is dropped.
    pub fn subscriber(&self) -> Held {
        Held::new(&self.0.traffic.subscribers)
    }

    /// Says how much is on the board.
    pub fn board(&self, size: BoardSize) {
        let board = &self.0.board;
        set(&board.messages, size.messages);
        set(&board.tail_messages, size.tail_messages);
        set(&board.segments, size.segments);
    }

    /// Says how many bytes a kind of files takes.
    pub fn disk(&self, kind: &'static str, bytes: u64) {
        set(&self.0.board.disk.get_or_create(&KindLabel { kind }), bytes);
    }

    /// Counts damaged objects of a kind that a check found.
    pub fn damaged(&self, kind: &'static str, objects: u64) {
        let label = KindLabel { kind };
        self.0.board.damaged.get_or_create(&label).inc_by(objects);
    }

    /// Counts a key that arrived whole.
    pub fn upload(&self) {
        self.0.detection.uploads.inc();
    }

    /// Says how many keys are registered.
    pub fn keys(&self, registered: u64) {
        set(&self.0.detection.keys, registered);
    }

    /// Says how many jobs wait and how many run.
    pub fn jobs(&self, queued: u64, running: u64) {
        for (state, jobs) in [("queued", queued), ("running", running)] {
            let label = StateLabel { state };
            set(&self.0.detection.jobs.get_or_create(&label), jobs);
        }
    }

    /// Says how many units workers elsewhere are at.
    pub fn leases(&self, live: u64) {
        let state = "working";
        let working = self.0.detection.leases.get_or_create(&StateLabel { state });
        set(&working, live);
    }

    /// One worker elsewhere that waits for work more, until the value is dropped.
    pub fn waiting_worker(&self) -> Held {
        let state = "waiting";
        Held::new(&self.0.detection.leases.get_or_create(&StateLabel { state }))
    }

    /// Counts a lease that ran out.
    pub fn lease_expired(&self) {
        self.0.detection.leases_expired.inc();
    }

    /// Counts a job that ended.
    pub fn job_finished(&self, outcome: &'static str) {
        self.0.detection.finished.inc(OutcomeLabel { outcome });
    }

    /// Counts the seconds for which a job waited before it ran.
    pub fn queue_wait(&self, seconds: f64) {
        self.0.detection.wait_seconds.observe(seconds);
    }

    /// Counts a digest and its seconds.
    pub fn digest(&self, scheme: &'static str, seconds: f64) {
        let label = SchemeLabel { scheme };
        self.0
            .detection
            .digest_seconds
            .get_or_create(&label)
            .observe(seconds);
    }

    /// Counts a run and the recipients whose digests it made.
    pub fn run(&self, recipients: u64) {
        let observed = &self.0.detection.run_recipients;
        observed.observe(recipients as f64);
    }

    /// Counts seconds of a stage of a digest; negative or not finite ones are left out.
    pub fn stage(&self, stage: &'static str, seconds: f64) {
        if seconds.is_finite() && seconds >= 0.0 {
            let label = StageLabel { stage };
            let counter = self.0.detection.stage_seconds.get_or_create(&label);
            counter.inc_by(seconds);
        }
    }

    /// Counts number-theoretic transforms done.
    pub fn ntts(&self, scheme: &'static str, transforms: u64) {
        let label = SchemeLabel { scheme };
        self.0
            .detection
            .ntts
            .get_or_create(&label)
            .inc_by(transforms);
    }

    /// Says how many sessions are open and by how many messages the slowest is behind the board.
    pub fn sessions(&self, open: u64, lag_messages: u64) {
        set(&self.0.detection.sessions, open);
        set(&self.0.detection.session_lag, lag_messages);
    }

    /// Counts messages that sessions looked at.
    pub fn session_messages(&self, messages: u64) {
        self.0.detection.session_messages.inc_by(messages);
    }
}

/// Returns a registry with the standard metrics of a process, whose names have no prefix.
pub(crate) fn with_process() -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ProcessCollector::new()));
    registry
}

/// Returns all figures of a registry as OpenMetrics text.
pub(crate) fn encoded(registry: &Registry) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail; collectors here return no errors of their own.
    let _ = text::encode(&mut out, registry);
    out
}

/// Gauges are signed; no count here reaches their end.
fn set(gauge: &Gauge, value: u64) {
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
}
