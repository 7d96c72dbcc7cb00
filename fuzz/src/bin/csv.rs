//! Feeds libFuzzer's bytes to `omr_fuzz::csv`.
#![no_main]
omr_fuzzers::target!(csv);
