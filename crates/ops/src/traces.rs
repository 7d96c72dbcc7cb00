//! Traces to a collector by OTLP, in builds with the feature `otlp`.

#[cfg_attr(not(feature = "otlp"), path = "traces/left_out.rs")]
mod otlp;

pub(crate) use otlp::Traces;
