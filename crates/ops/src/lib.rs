//! Watching a service: metrics, traces, logs and the status page.
//!
//! Nothing here knows of detection or storage: the service counts into [`Metrics`] and fills a
//! [`Status`]. Names in labels are known when the program is compiled, so that no recipient, key,
//! token, address or job can become one.
#![forbid(unsafe_code)]

mod error;
mod journal;
mod metrics;
mod page;
mod panics;
mod plain;
mod process;
mod router;
mod status;
mod telemetry;
mod traces;
mod worker;

pub use error::OpsError;
pub use metrics::{BoardSize, Held, Metrics, Totals, grpc_code_name};
pub use page::status_page;
pub use panics::log_panics;
pub use router::{metrics_router, router, serve_metrics};
pub use status::{
    Check, Cost, Count, DiskUse, FinishedDigest, Growth, Health, JobFigures, PostingFigures, Rate,
    RunningJob, SessionFigures, Status, UseFigures,
};
pub use telemetry::{Telemetry, TelemetryConfig, init};
pub use traces::{call_span, in_trace_of_caller};
pub use worker::{WorkerFigures, worker_router};
