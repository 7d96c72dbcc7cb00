//! Feeds libFuzzer's bytes to `omr_fuzz::settings`.
#![no_main]
omr_fuzzers::target!(settings);
