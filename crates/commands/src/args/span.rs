//! A range of messages on the command line.

use std::ops::Range;
use std::str::FromStr;

/// A range of messages: `A..B`, `A..`, `..B` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: Option<u64>,
    end: Option<u64>,
}

/// An invalid range.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SpanError {
    /// The text is not two numbers with two dots between them.
    #[error("expected two indices like 0..65536, found {0:?}")]
    Form(String),
    /// The range has no message.
    #[error("expected a range with at least one message, found {start}..{end}")]
    Empty {
        /// The first message.
        start: u64,
        /// The index after the last message.
        end: u64,
    },
}

impl Span {
    /// Returns the messages of the range, where those of `all` exist.
    pub(crate) fn of(self, all: Range<u64>) -> Range<u64> {
        self.start.unwrap_or(all.start)..self.end.unwrap_or(all.end)
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let form = || SpanError::Form(text.to_owned());
        let (start, end) = text.split_once("..").ok_or_else(form)?;
        let number = |text: &str| match text {
            "" => Ok(None),
            digits => digits.parse::<u64>().map(Some).map_err(|_| form()),
        };
        let (start, end) = (number(start)?, number(end)?);
        match (start.unwrap_or(0), end) {
            (start, Some(end)) if start >= end => Err(SpanError::Empty { start, end }),
            _ => Ok(Self { start, end }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_may_be_left_out() {
        for (text, range) in [("3..7", 3..7), ("3..", 3..9), ("..7", 0..7), ("..", 0..9)] {
            assert_eq!(text.parse::<Span>().unwrap().of(0..9), range, "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "3",
            "3.7",
            "a..b",
            "-1..3",
            "3..7..9",
            "3...7",
            "18446744073709551616..",
        ] {
            assert!(
                matches!(text.parse::<Span>(), Err(SpanError::Form(_))),
                "{text}"
            );
        }
        for text in ["3..3", "7..3", "..0"] {
            assert!(
                matches!(text.parse::<Span>(), Err(SpanError::Empty { .. })),
                "{text}"
            );
        }
    }
}
