//! Feeds libFuzzer's bytes to `omr_fuzz::frames`.
#![no_main]
omr_fuzzers::target!(frames);
