//! Feeds libFuzzer's bytes to `omr_fuzz::sealed`.
#![no_main]
omr_fuzzers::target!(sealed);
