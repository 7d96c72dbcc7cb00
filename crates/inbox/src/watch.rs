//! The times of fetches: multiples of an interval, and nothing else.

use rand_core::Rng;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Ticks at whole multiples of an interval since 1970. A slow fetch skips ticks; they never bunch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    every: Duration,
}

impl Grid {
    /// Returns a grid; an interval below a millisecond becomes one.
    #[must_use]
    pub fn new(every: Duration) -> Self {
        Self {
            every: every.max(Duration::from_millis(1)),
        }
    }

    /// Returns the first tick after `now`.
    #[must_use]
    pub fn after(&self, now: SystemTime) -> SystemTime {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let passed = since.as_nanos() / self.every.as_nanos();
        let next = (passed + 1) * self.every.as_nanos();
        let seconds = u64::try_from(next / 1_000_000_000).unwrap_or(u64::MAX);
        UNIX_EPOCH + Duration::new(seconds, (next % 1_000_000_000) as u32)
    }

    /// Returns the time from `now` to the next tick.
    #[must_use]
    pub fn wait(&self, now: SystemTime) -> Duration {
        self.after(now).duration_since(now).unwrap_or(self.every)
    }
}

/// Returns a random time to the next canary, with `rate` canaries a day on average. It is exponentially distributed, so
/// that no moment is more likely than another, whatever came before.
#[must_use]
pub fn next_canary(rate: f64, rng: &mut impl Rng) -> Duration {
    // The value is in (0, 1], so its logarithm is finite.
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let days = -uniform.ln() / rate;
    Duration::try_from_secs_f64(days * 86_400.0).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(ms)
    }

    #[test]
    fn ticks_lie_on_the_grid_and_are_skipped_not_bunched() {
        let grid = Grid::new(Duration::from_secs(60));
        for (now, next) in [
            (0, 60_000),
            (1, 60_000),
            (59_999, 60_000),
            (60_000, 120_000),
        ] {
            assert_eq!(grid.after(at(now)), at(next));
        }
        // After a fetch from 60 s to 200 s the next one is at 240 s.
        assert_eq!(grid.after(at(200_000)), at(240_000));
        assert_eq!(grid.wait(at(200_000)), Duration::from_secs(40));
        assert!(grid.wait(at(240_000)) == Duration::from_secs(60));
    }

    #[test]
    fn canaries_come_at_the_rate() {
        let mut rng = omr_client::os_rng();
        let draws = 20_000;
        let total: f64 = (0..draws)
            .map(|_| next_canary(4.0, &mut rng).as_secs_f64())
            .sum();
        let mean = total / f64::from(draws) / 86_400.0;
        // Six standard deviations of a mean of exponentials.
        assert!(
            (mean - 0.25).abs() < 0.25 * 6.0 / f64::from(draws).sqrt(),
            "{mean}"
        );
    }
}
