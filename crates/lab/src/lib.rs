//! The evidence beside the product: measurements whose figures the documentation quotes, and trials of
//! the service with real processes.
#![forbid(unsafe_code)]

pub mod measure;
pub mod trials;
