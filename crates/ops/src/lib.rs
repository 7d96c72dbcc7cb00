//! Watching a service: metrics, traces, logs and the status page.
#![forbid(unsafe_code)]
