//! Traces to a collector by OTLP, in builds with the feature `otlp`.

#[cfg(not(feature = "otlp"))]
mod left_out;
#[cfg(feature = "otlp")]
mod otlp;

#[cfg(not(feature = "otlp"))]
pub(crate) use left_out::Traces;
#[cfg(feature = "otlp")]
pub(crate) use otlp::Traces;
