//! Parsers of arguments that several commands have.

use clap::builder::{RangedI64ValueParser, RangedU64ValueParser};
use omr_protocol::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use std::ops::RangeInclusive;

/// Returns a parser of a bound on the pertinent messages of a digest: 1 to [`MAX_BOUND`].
pub fn bound() -> RangedI64ValueParser<u32> {
    between(1..=MAX_BOUND as i64)
}

/// Returns a parser of the length in bytes of a payload: 1 to [`MAX_PAYLOAD_BYTES`].
pub fn payload_bytes() -> RangedI64ValueParser<u32> {
    between(1..=MAX_PAYLOAD_BYTES as i64)
}

/// Returns a parser of the numbers of a range, including both ends.
pub fn between(range: RangeInclusive<i64>) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(range)
}

/// Returns a parser of a number of threads: 1 to 1,024.
pub fn threads() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=1024)
}

/// Returns a parser of a number of messages that one digest can cover: 1 to 2^32.
pub fn messages() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=1 << 32)
}
