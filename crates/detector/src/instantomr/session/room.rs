//! Sessions of so many messages at most, and what is cheaper in them.

use crate::DetectorError;
use omr_protocol::Mismatch;
use omr_protocol::instantomr::{InstantParams, InstantPlan};
use std::ops::Range;

/// How many messages a session takes until it is cut, if that is known, and which of them have their
/// second layer in double precision: the first ones of the last group, because a full group has no room
/// for rounding errors. They are told by their numbers alone, so that shares and files know them too.
#[derive(Clone)]
pub(super) struct Room {
    messages: Option<u64>,
    end: u64,
    doubles: Range<u64>,
}

impl Room {
    /// For a session of this plan, which begins where the plan does.
    pub(super) fn new(params: &InstantParams, plan: &InstantPlan, messages: Option<u64>) -> Self {
        let Some(most) = messages else {
            return Self {
                messages,
                end: u64::MAX,
                doubles: 0..0,
            };
        };
        let full = plan.until(plan.range().start.saturating_add(most));
        let last = full.group(full.groups() - 1);
        let doubles = params.in_double_precision(last.end - last.start);
        Self {
            messages,
            end: last.end,
            doubles: last.start..last.start + doubles,
        }
    }

    /// The most messages, if that is known.
    pub(super) fn messages(&self) -> Option<u64> {
        self.messages
    }

    /// Behind the last message that it takes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Those in double precision of `count` messages from `first` on, by their number among them.
    ///
    /// Errors: `Full`.
    pub(super) fn doubles(&self, first: u64, count: usize) -> Result<Range<usize>, DetectorError> {
        let end = first.saturating_add(count as u64);
        if end > self.end {
            return Err(DetectorError::Full(Mismatch::new(self.end, end)));
        }
        let number = |index: u64| (index.clamp(first, end) - first) as usize;
        Ok(number(self.doubles.start)..number(self.doubles.end))
    }
}
