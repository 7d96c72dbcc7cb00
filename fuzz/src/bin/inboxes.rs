//! Feeds libFuzzer's bytes to `omr_fuzz::inboxes`.
#![no_main]
omr_fuzzers::target!(inboxes);
