//! The posts of the last minute and of the last hour.

use omr_ops::{Rate, Totals};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// The number of posts and messages since the start, at a moment.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    at: Instant,
    posts: u64,
    messages: u64,
}

impl Sample {
    pub(super) fn of(totals: &Totals, at: Instant) -> Self {
        Self {
            at,
            posts: totals.posts,
            messages: totals.posted_messages,
        }
    }
}

/// The samples of an hour, oldest first; never empty.
pub(super) struct Lately(VecDeque<Sample>);

impl Lately {
    /// Returns the samples of a server that starts now.
    pub(super) fn new(at: Instant) -> Self {
        Self(VecDeque::from([Sample::of(&Totals::default(), at)]))
    }

    pub(super) fn note(&mut self, sample: Sample) {
        self.0.push_back(sample);
        // One sample that is at least an hour old stays, since the last hour begins there.
        while let Some(second) = self.0.get(1)
            && sample.at.saturating_duration_since(second.at) >= HOUR
        {
            self.0.pop_front();
        }
    }

    /// Returns the posts during `time` before a moment: since the last sample that is at least as old, or since the
    /// start.
    pub(super) fn rate(&self, now: Sample, time: Duration) -> Rate {
        let age = |sample: &Sample| now.at.saturating_duration_since(sample.at);
        let old_enough = self.0.iter().rev().find(|sample| age(sample) >= time);
        let Some(from) = old_enough.or(self.0.front()) else {
            return Rate::default();
        };
        Rate {
            milliseconds: age(from).as_millis() as u64,
            posts: now.posts.saturating_sub(from.posts),
            messages: now.messages.saturating_sub(from.messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_and_an_hour_are_counted_and_no_more_is_kept() {
        let start = Instant::now();
        let sample = |seconds: u64| Sample {
            at: start + Duration::from_secs(seconds),
            posts: seconds * 2,
            messages: seconds * 6,
        };
        let mut lately = Lately::new(start);
        // The first seconds are shorter than a minute.
        lately.note(sample(5));
        let rate = lately.rate(sample(7), MINUTE);
        assert_eq!(
            (rate.milliseconds, rate.posts, rate.messages),
            (7000, 14, 42)
        );
        for seconds in (10..=10_000).step_by(5) {
            lately.note(sample(seconds));
        }
        let minute = lately.rate(sample(10_002), MINUTE);
        assert_eq!((minute.milliseconds, minute.posts), (62_000, 124));
        let hour = lately.rate(sample(10_002), HOUR);
        assert_eq!((hour.milliseconds, hour.posts), (3_602_000, 7204));
        assert_eq!(lately.0.len(), 721);
    }
}
