//! Feeds libFuzzer's bytes to `omr_fuzz::partials`.
#![no_main]
omr_fuzzers::target!(partials);
