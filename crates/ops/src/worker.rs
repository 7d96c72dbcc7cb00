//! The metrics of a worker.

use crate::metrics::{PREFIX, encoded, register_build, with_process};
use crate::router::text_router;
use axum::Router;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use std::fmt::{Debug, Error, Formatter};
use std::sync::Arc;

/// The figures of a worker since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerFigures {
    /// Whether it works at a unit now.
    pub working: bool,
    /// The number of digests that the server took.
    pub digests: u64,
    /// The number of jobs that failed here.
    pub failures: u64,
    /// The seconds of all runs.
    pub run_seconds: f64,
}

/// Reads figures when they are asked for.
struct Reader<F>(F);

impl<F> Debug for Reader<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result<(), Error> {
        f.write_str("Reader")
    }
}

impl<F: Fn() -> WorkerFigures + Send + Sync + 'static> Collector for Reader<F> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let figures = (self.0)();
        let counts = [
            ("digests", "Digests that the server took", figures.digests),
            ("failures", "Jobs that failed here", figures.failures),
        ];
        for (name, help, count) in counts {
            let counter = ConstCounter::new(count);
            let kind = counter.metric_type();
            counter.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        let seconds = ConstCounter::new(figures.run_seconds);
        let (kind, unit) = (seconds.metric_type(), Some(&Unit::Seconds));
        seconds.encode(encoder.encode_descriptor("run", "Time of all runs", unit, kind)?)?;
        let working = ConstGauge::new(i64::from(figures.working));
        let (kind, help) = (working.metric_type(), "Whether it works at a unit now");
        working.encode(encoder.encode_descriptor("working", help, None, kind)?)
    }
}

/// Returns `/metrics` of a worker of this version and parameter set.
pub fn worker_router(
    version: &str,
    params_id: &str,
    figures: impl Fn() -> WorkerFigures + Send + Sync + 'static,
) -> Router {
    let mut registry = with_process();
    let own = registry.sub_registry_with_prefix(PREFIX);
    register_build(own, version, params_id);
    own.sub_registry_with_prefix("worker")
        .register_collector(Box::new(Reader(figures)));
    let registry = Arc::new(registry);
    text_router(move || encoded(&registry))
}
