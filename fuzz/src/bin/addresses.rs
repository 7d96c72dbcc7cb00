//! Feeds libFuzzer's bytes to `omr_fuzz::addresses`.
#![no_main]
omr_fuzzers::target!(addresses);
