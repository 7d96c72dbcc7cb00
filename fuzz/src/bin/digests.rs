//! Feeds libFuzzer's bytes to `omr_fuzz::digests`.
#![no_main]
omr_fuzzers::target!(digests);
