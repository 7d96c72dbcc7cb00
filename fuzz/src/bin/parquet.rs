//! Feeds libFuzzer's bytes to `omr_fuzz::parquet`.
#![no_main]
omr_fuzzers::target!(parquet);
