//! A board and a detector behind a network.
#![forbid(unsafe_code)]
