//! Feeds libFuzzer's bytes to `omr_fuzz::queries`.
#![no_main]
omr_fuzzers::target!(queries);
