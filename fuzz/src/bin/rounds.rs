//! Feeds libFuzzer's bytes to `omr_fuzz::rounds`.
#![no_main]
omr_fuzzers::target!(rounds);
