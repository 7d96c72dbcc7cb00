//! Traces to a collector by OTLP, in builds with the feature `otlp`.

#[cfg_attr(not(feature = "otlp"), path = "traces/left_out.rs")]
mod otlp;

use tracing::Span;

pub(crate) use otlp::Traces;
pub use otlp::in_trace_of_caller;

/// The target of spans of calls.
pub(crate) const CALLS: &str = "omr_calls";

/// Returns the span of a call, which traces contain and lines of the log do not.
#[must_use]
pub fn call_span(method: &'static str) -> Span {
    tracing::info_span!(target: CALLS, "call", otel.name = method, otel.kind = "server")
}
