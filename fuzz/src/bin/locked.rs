//! Feeds libFuzzer's bytes to `omr_fuzz::locked`.
#![no_main]
omr_fuzzers::target!(locked);
