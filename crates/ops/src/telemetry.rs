//! Logs and traces: their configuration and installation.

use std::io::IsTerminal;

use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::error::OpsError;
use crate::journal::Lines;
use crate::panics::log_panics;
use crate::traces::{CALLS, Traces};

/// Configuration of logs and traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// Directives such as `info` or `info,omr_server=debug`.
    pub filter: String,
    /// One JSON object a line instead of text.
    pub json: bool,
    /// Address of a collector that takes OTLP over gRPC, such as `http://127.0.0.1:4317`; only builds with the feature
    /// `otlp` send there.
    pub otlp_endpoint: Option<String>,
    /// Name under which traces are filed.
    pub service_name: String,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            json: false,
            otlp_endpoint: None,
            service_name: "omr".to_owned(),
        }
    }
}

/// Keeps traces going; sends what is left when it is shut down or dropped.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<Traces>,
}

impl Telemetry {
    /// Sends the spans that are left, waiting at most some seconds. Blocks: not for a thread of the runtime.
    pub fn shutdown(mut self) -> Result<(), OpsError> {
        match self.traces.take() {
            Some(traces) => traces.shutdown(),
            None => Ok(()),
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            // An error of the collector could not be logged any more.
            let _ = traces.shutdown();
        }
    }
}

/// Sets up logs to the standard error output, panics among them, and, where there is an endpoint, traces.
///
/// Once a process. With an endpoint it must be called within a Tokio runtime of several threads.
pub fn init(config: &TelemetryConfig) -> Result<Telemetry, OpsError> {
    let filter = EnvFilter::try_new(&config.filter).map_err(|source| OpsError::Filter {
        found: config.filter.clone(),
        source,
    })?;
    let but_calls = filter.and(filter_fn(|metadata| metadata.target() != CALLS));
    let traces = match &config.otlp_endpoint {
        Some(endpoint) => Some(Traces::to(endpoint, &config.service_name)?),
        None => None,
    };
    let lines = if config.json {
        fmt::layer()
            .json()
            // It is the last one of the list of spans.
            .with_current_span(false)
            .with_writer(Lines::new())
            .boxed()
    } else {
        fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(Lines::new())
            .boxed()
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(but_calls))
        .with(traces.as_ref().map(Traces::layer))
        .try_init()
        .map_err(|_| OpsError::AlreadySetUp)?;
    log_panics();
    Ok(Telemetry { traces })
}
