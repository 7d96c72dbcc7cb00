//! Feeds libFuzzer's bytes to `omr_fuzz::sessions`.
#![no_main]
omr_fuzzers::target!(sessions);
