//! Axes of charts: their ranges and round ticks.

use std::time::{Duration, UNIX_EPOCH};

use super::figures::{Grouped, LAST};

/// Ticks that an axis has at most.
const MOST: f64 = 5.0;
const DAY: u64 = 86_400;
/// Seconds between ticks of an axis of time.
const STEPS: [u64; 16] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    2 * 60,
    5 * 60,
    10 * 60,
    15 * 60,
    30 * 60,
    3600,
    2 * 3600,
    6 * 3600,
    12 * 3600,
];

/// A place on an axis and what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// The range of an axis, and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
}

impl Axis {
    /// Counts from `low` to `high`: it begins and ends with a tick.
    pub(super) fn counts(low: u64, high: u64) -> Self {
        let (low, high) = (low as f64, high.max(low.saturating_add(1)) as f64);
        Self::even(low, high, round_step((high - low) / (MOST - 1.0)).max(1.0))
    }

    /// Rates from 0 to `high`.
    pub(super) fn rates(high: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        Self::even(0.0, high, round_step(high / (MOST - 1.0)))
    }

    fn even(low: f64, high: f64, step: f64) -> Self {
        let (first, last) = ((low / step).floor() as u64, (high / step).ceil() as u64);
        let tick = |i: u64| Tick {
            at: i as f64 * step,
            label: label(i as f64 * step, step),
        };
        Self {
            low: first as f64 * step,
            high: last as f64 * step,
            ticks: (first..=last).map(tick).collect(),
        }
    }

    /// Moments from `start` to `end`, seconds since 1970, with ticks at whole minutes, hours or the like, in UTC.
    pub(super) fn times(start: u64, end: u64) -> Self {
        let end = end.max(start.saturating_add(1));
        let fits = |step: &u64| (end - start) as f64 / *step as f64 <= MOST - 1.0;
        let mut days = std::iter::successors(Some(DAY), |days| Some(days.saturating_mul(2)));
        let step = STEPS
            .into_iter()
            .find(|step| fits(step))
            .or_else(|| days.find(fits))
            .unwrap_or(DAY);
        let first = start.div_ceil(step).saturating_mul(step);
        let all = std::iter::successors(Some(first), |at| at.checked_add(step));
        let tick = |at: u64| Tick {
            at: at as f64,
            label: moment(at, step),
        };
        Self {
            low: start as f64,
            high: end as f64,
            ticks: all.take_while(|at| *at <= end).map(tick).collect(),
        }
    }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powi(least.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    // Rounding of the logarithm must not leave it below.
    steps
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(10.0 * power)
}

/// A number with as many decimals as its step has.
fn label(value: f64, step: f64) -> String {
    if step >= 1.0 {
        return Grouped(value.round() as u64).to_string();
    }
    let decimals = (-step.log10()).ceil().clamp(1.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

/// The clock in UTC; the day where ticks are days apart.
fn moment(at: u64, step: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_secs(at.min(LAST));
    let text = humantime::format_rfc3339_seconds(moment).to_string();
    let part = match step {
        _ if step >= DAY => 5..10,
        _ if step >= 60 => 11..16,
        _ => 11..19,
    };
    text.get(part).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| &*tick.label).collect()
    }

    #[test]
    fn counts_begin_and_end_with_round_ticks() {
        let axis = Axis::counts(1_234_000, 1_234_567);
        assert_eq!((axis.low, axis.high), (1_234_000.0, 1_234_600.0));
        let thin = |text: &str| text.replace(' ', "\u{202f}");
        let expected = ["1 234 000", "1 234 200", "1 234 400", "1 234 600"].map(thin);
        assert_eq!(labels(&axis), expected);
        assert_eq!(labels(&Axis::counts(0, 3)), ["0", "1", "2", "3"]);
        assert_eq!(labels(&Axis::counts(5, 5)), ["5", "6"]);
    }

    #[test]
    fn rates_begin_at_0_and_have_the_decimals_they_need() {
        assert_eq!(labels(&Axis::rates(0.0)), ["0.0", "0.5", "1.0"]);
        assert_eq!(
            labels(&Axis::rates(0.07)),
            ["0.00", "0.02", "0.04", "0.06", "0.08"]
        );
        assert_eq!(
            labels(&Axis::rates(730.0)),
            ["0", "200", "400", "600", "800"]
        );
    }

    #[test]
    fn times_are_those_of_a_clock() {
        // 2026-01-02 00:04:05 UTC.
        let at = 1_767_312_245;
        assert_eq!(
            labels(&Axis::times(at, at + 3 * 3600)),
            ["01:00", "02:00", "03:00"]
        );
        assert_eq!(
            labels(&Axis::times(at, at + 86_400)),
            ["06:00", "12:00", "18:00", "00:00"]
        );
        assert_eq!(labels(&Axis::times(at, at + 9)), ["00:04:05", "00:04:10"]);
        assert_eq!(labels(&Axis::times(at, at)).len(), 2);
        assert_eq!(labels(&Axis::times(at, at + 3 * 86_400)).len(), 3);
    }

    #[test]
    fn nothing_makes_an_axis_of_many_ticks_or_none() {
        for span in (0..62).map(|bits| 1u64 << bits) {
            for axis in [Axis::counts(3, 3 + span), Axis::rates(span as f64 / 1e6)] {
                assert!((2..=7).contains(&axis.ticks.len()), "{axis:?}");
                assert!(axis.low < axis.high, "{axis:?}");
            }
            assert!(Axis::times(3, 3 + span).ticks.len() <= 6);
        }
        Axis::times(u64::MAX, u64::MAX);
        Axis::times(0, u64::MAX);
    }
}
