//! Feeds libFuzzer's bytes to `omr_fuzz::service`.
#![no_main]
omr_fuzzers::target!(service);
