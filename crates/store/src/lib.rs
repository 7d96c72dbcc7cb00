//! What a service keeps: the board's log, detection keys, and durable records.
#![forbid(unsafe_code)]
