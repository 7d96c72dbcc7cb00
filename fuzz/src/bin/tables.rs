//! Feeds libFuzzer's bytes to `omr_fuzz::tables`.
#![no_main]
omr_fuzzers::target!(tables);
