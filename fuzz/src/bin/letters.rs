//! Feeds libFuzzer's bytes to `omr_fuzz::letters`.
#![no_main]
omr_fuzzers::target!(letters);
