//! Limits of arguments that several commands take.

use clap::builder::{RangedI64ValueParser, RangedU64ValueParser};
use omr_protocol::request::{MAX_BOUND, MAX_PAYLOAD_BYTES};
use std::ops::RangeInclusive;

/// Pertinent messages that a digest may carry: 1 to [`MAX_BOUND`].
pub fn bound() -> RangedI64ValueParser<u32> {
    between(1..=MAX_BOUND as i64)
}

/// Bytes of a payload: 1 to [`MAX_PAYLOAD_BYTES`].
pub fn payload_bytes() -> RangedI64ValueParser<u32> {
    between(1..=MAX_PAYLOAD_BYTES as i64)
}

/// Numbers of a range, both ends included.
pub fn between(range: RangeInclusive<i64>) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(range)
}

/// Threads to work on: 1 to 1,024.
pub fn threads() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=1024)
}

/// Messages, up to what one digest covers: 1 to 2^32.
pub fn messages() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=1 << 32)
}
