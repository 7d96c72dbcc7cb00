//! Feeds libFuzzer's bytes to `omr_fuzz::stores`.
#![no_main]
omr_fuzzers::target!(stores);
