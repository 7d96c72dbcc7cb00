//! Feeds libFuzzer's bytes to `omr_fuzz::clues`.
#![no_main]
omr_fuzzers::target!(clues);
