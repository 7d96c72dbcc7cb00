#![no_main]
omr_fuzzers::target!(stores);
