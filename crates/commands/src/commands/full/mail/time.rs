//! Times as text for people.

use chrono::{DateTime, Local, TimeZone};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns a time to the minute, in the time zone of the system or of `TZ`.
pub(super) fn time(seconds: u64) -> String {
    in_zone(seconds, &Local)
}

/// Returns the system's time after `wait`.
pub(super) fn clock(wait: Duration) -> String {
    let now = SystemTime::now() + wait;
    time(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Returns the day, as `2026-11-23`.
pub(super) fn today() -> String {
    Local::now().format("%Y-%m-%d").to_string()
}

fn in_zone<Z: TimeZone>(seconds: u64, zone: &Z) -> String
where
    Z::Offset: std::fmt::Display,
{
    let at = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let shown = |at: DateTime<chrono::Utc>| at.with_timezone(zone).format("%Y-%m-%d %H:%M");
    at.map_or_else(|| "-".into(), |at| shown(at).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::FixedOffset;

    #[test]
    fn times_are_those_of_the_zone() {
        let paris = FixedOffset::east_opt(7200).unwrap();
        for (seconds, utc, there) in [
            (0, "1970-01-01 00:00", "1970-01-01 02:00"),
            (951_782_400, "2000-02-29 00:00", "2000-02-29 02:00"),
            (1_709_251_199, "2024-02-29 23:59", "2024-03-01 01:59"),
            (u64::MAX, "-", "-"),
        ] {
            assert_eq!(in_zone(seconds, &chrono::Utc), utc);
            assert_eq!(in_zone(seconds, &paris), there);
        }
    }
}
