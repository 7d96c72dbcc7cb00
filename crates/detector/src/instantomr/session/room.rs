//! Sessions with a limited number of messages, whose second layers may be faster.

use crate::DetectorError;
use crate::instantomr::InstantDetector;
use omr_protocol::Mismatch;
use omr_protocol::instantomr::InstantPlan;
use std::ops::Range;

/// The number of messages that a session can cover until it is cut, if it is known, and the messages whose second layer
/// is in double precision. These are the first messages of the last group, because a full group has no room for
/// rounding errors; none, if they are too few to make their key. Whether it is there already may differ after a restart
/// and between machines: digests then decode to the same messages, with other bytes.
#[derive(Clone)]
pub(super) struct Room {
    messages: Option<u64>,
    end: u64,
    doubles: Range<u64>,
}

impl Room {
    /// Makes the room of a session that begins at the start of the plan.
    pub(super) fn new(
        detector: &InstantDetector,
        plan: &InstantPlan,
        messages: Option<u64>,
    ) -> Self {
        let Some(most) = messages else {
            return Self {
                messages,
                end: u64::MAX,
                doubles: 0..0,
            };
        };
        let full = plan.until(plan.range().start.saturating_add(most));
        let last = full.group(full.groups() - 1);
        let most = detector.params.in_double_precision(last.end - last.start);
        let doubles = if detector.evaluation.favours_doubles(most) {
            most
        } else {
            0
        };
        Self {
            messages,
            end: last.end,
            doubles: last.start..last.start + doubles,
        }
    }

    /// Returns the number of messages, if it is known.
    pub(super) fn messages(&self) -> Option<u64> {
        self.messages
    }

    /// Returns the index after the last message that the session can cover.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the numbers of messages in double precision among `count` messages from `first` on.
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
