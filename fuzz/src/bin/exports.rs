//! Feeds libFuzzer's bytes to `omr_fuzz::exports`.
#![no_main]
omr_fuzzers::target!(exports);
