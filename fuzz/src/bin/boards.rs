//! Feeds libFuzzer's bytes to `omr_fuzz::boards`.
#![no_main]
omr_fuzzers::target!(boards);
