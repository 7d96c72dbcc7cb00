//! Feeds libFuzzer's bytes to `omr_fuzz::decoding`.
#![no_main]
omr_fuzzers::target!(decoding);
