//! Examples of omr's libraries: `cargo run --release --example retrieval`, or `mail`, `query`, `stream`. Cargo asks every
//! package for a library; this one is empty.
#![forbid(unsafe_code)]
