//! Feeds libFuzzer's bytes to `omr_fuzz::sql`.
#![no_main]
omr_fuzzers::target!(sql);
