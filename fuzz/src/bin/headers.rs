//! Feeds libFuzzer's bytes to `omr_fuzz::headers`.
#![no_main]
omr_fuzzers::target!(headers);
