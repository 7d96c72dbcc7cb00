//! Feeds libFuzzer's bytes to `omr_fuzz::secrets`.
#![no_main]
omr_fuzzers::target!(secrets);
