//! A client of the service: posts, keys, digests, sessions, with retries.
#![forbid(unsafe_code)]
