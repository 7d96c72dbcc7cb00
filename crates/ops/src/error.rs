//! The errors of setting up logs and traces.

/// Why a service cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpsError {
    /// The filter of log lines is no list of directives such as `info,omr_server=debug`.
    #[error(
        "log filter: expected directives such as `info,omr_server=debug`, found `{found}`: {source}"
    )]
    Filter {
        /// The value that was given.
        found: String,
        /// The error of the value.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Traces are to go to this endpoint, and this build sends none.
    #[error(
        "traces: this build of omr cannot send them to `{0}`: build it with the feature `otlp`"
    )]
    LeftOut(String),
    /// The address for traces is no endpoint of OTLP over gRPC.
    #[cfg(feature = "otlp")]
    #[error(
        "traces: expected an endpoint such as `http://127.0.0.1:4317`, found `{found}`: {source}"
    )]
    Endpoint {
        /// The value that was given.
        found: String,
        /// The error of the value.
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// Logs are set up already: once a process is all there is.
    #[error("logs: expected a process without a subscriber, found one")]
    AlreadySetUp,
    /// Spans that were left could not be sent.
    #[cfg(feature = "otlp")]
    #[error("traces: {0}")]
    Flush(#[from] opentelemetry_sdk::error::OTelSdkError),
}
