//! Feeds libFuzzer's bytes to `omr_fuzz::keys`.
#![no_main]
omr_fuzzers::target!(keys);
