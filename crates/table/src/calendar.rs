//! Days and seconds as text and back: the Gregorian calendar, extended backwards, years 0001 to 9999.

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

use crate::Domain;

/// 0001-01-01 to 9999-12-31, in days since 1970-01-01.
pub(crate) const DAYS: Domain = Domain::new(-719_162, 2_932_896);
/// 0001-01-01 to 9999-12-31, in seconds since 1970-01-01T00:00:00.
pub(crate) const SECONDS: Domain = Domain::new(DAYS.min * DAY, DAYS.max * DAY + DAY - 1);
const DAY: i64 = 86_400;

/// A moment as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970-01-01T00:00:00, fractions cut off downwards.
    pub(crate) seconds: i64,
    /// Whether there was a fraction other than zero.
    pub(crate) fraction: bool,
}

/// Whether a text that is no date of ours is one in another form, such as `2012/01/31`, `31.1.2012`, ` 2012-01-31` or
/// `Jan 31, 2012`.
pub(crate) fn is_other_date(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let separators = |c: char| c == ' ' || c == ',' || c == '/' || c == '.' || c == '-';
    if parse_date(text.trim()).is_some() {
        return true;
    }
    let parts: Vec<&str> = text
        .split(separators)
        .filter(|part| !part.is_empty())
        .collect();
    let number = |part: &&&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let month = |part: &&&str| {
        let start = part.get(..3).unwrap_or_default().to_ascii_lowercase();
        part.bytes().all(|byte| byte.is_ascii_alphabetic()) && MONTHS.contains(&start.as_str())
    };
    let numbers = parts.iter().filter(number).count();
    let months = parts.iter().filter(month).count();
    let year = parts.iter().any(|part| part.len() == 4);
    let short = text.len() <= 20;
    short && parts.len() == 3 && year && (numbers == 3 || (numbers == 2 && months == 1))
}

/// Whether a text that is no moment of ours is one in another form, such as `31.1.2012 18:20`, `2012-01-31 6:20 PM` or
/// ` 2012-01-31 18:20:00`.
pub(crate) fn is_other_moment(text: &str) -> bool {
    let text = text.trim();
    if parse_timestamp(text).is_some() {
        return true;
    }
    let upper = text.to_ascii_uppercase();
    let text = upper.trim_end_matches(['A', 'P', 'M']).trim_end();
    let Some((date, clock)) = text.rsplit_once([' ', 'T']) else {
        return false;
    };
    let parts: Vec<&str> = clock.split([':', '.']).collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let date = date.trim_end_matches([',', ' ']);
    (2..=4).contains(&parts.len())
        && clock.contains(':')
        && parts.iter().all(is_number)
        && (parse_date(date).is_some() || is_other_date(date))
}

/// Days of `YYYY-MM-DD`.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (
        digits(&bytes[..4])?,
        digits(&bytes[5..7])?,
        digits(&bytes[8..])?,
    );
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    (year > 0).then(|| i64::from(date.to_epoch_days()))
}

/// `YYYY-MM-DD`, alone or followed by a space or `T` and `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`, and then by
/// nothing, `Z` or an offset `+HH:MM`, which is taken off.
pub(crate) fn parse_timestamp(text: &str) -> Option<Moment> {
    let date = parse_date(text.get(..10)?)?;
    let rest = &text[10..];
    if rest.is_empty() {
        return Some(Moment {
            seconds: date * DAY,
            fraction: false,
        });
    }
    let clock = rest.strip_prefix([' ', 'T', 't'])?;
    let (clock, offset) = split_offset(clock)?;
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, is_fraction(clock, fraction)?),
        None => (clock, false),
    };
    let seconds = date * DAY + parse_clock(clock)? - offset;
    in_years(seconds).then_some(Moment { seconds, fraction })
}

/// Returns whether the digits behind a second's point differ from 0; `None` where they are malformed.
fn is_fraction(clock: &str, digits: &str) -> Option<bool> {
    let well_formed =
        clock.len() == 8 && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    well_formed.then(|| digits.bytes().any(|byte| byte != b'0'))
}

/// Seconds of `HH:MM` or `HH:MM:SS`.
fn parse_clock(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if !matches!(bytes.len(), 5 | 8) || bytes[2] != b':' || (bytes.len() == 8 && bytes[5] != b':') {
        return None;
    }
    let second = if bytes.len() == 8 {
        digits(&bytes[6..])?
    } else {
        0
    };
    let (hour, minute) = (digits(&bytes[..2])?, digits(&bytes[3..5])?);
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then(|| i64::from(hour * 3600 + minute * 60 + second))
}

/// A clock without its offset, and the offset in seconds.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(place) = text.find(['+', '-']) else {
        return Some((text, 0));
    };
    let offset = &text[place + 1..];
    if offset.len() != 5 {
        return None;
    }
    let seconds = parse_clock(offset)?;
    let sign = if text.as_bytes()[place] == b'-' {
        -1
    } else {
        1
    };
    Some((&text[..place], sign * seconds))
}

fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u32::from(byte - b'0'))
    })
}

pub(crate) fn in_years(seconds: i64) -> bool {
    (SECONDS.min..=SECONDS.max).contains(&seconds)
}

/// `YYYY-MM-DD`; `None` outside the years 0001 to 9999.
pub(crate) fn date_text(days: i64) -> Option<String> {
    if !(DAYS.min..=DAYS.max).contains(&days) {
        return None;
    }
    let date = NaiveDate::from_epoch_days(i32::try_from(days).ok()?)?;
    Some(format!(
        "{:04}-{:02}-{:02}",
        date.year(),
        date.month(),
        date.day()
    ))
}

/// `YYYY-MM-DD HH:MM:SS`; `None` outside the years 0001 to 9999.
pub(crate) fn timestamp_text(seconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp(seconds, 0)?.time();
    let date = date_text(seconds.div_euclid(DAY))?;
    Some(format!(
        "{date} {:02}:{:02}:{:02}",
        time.hour(),
        time.minute(),
        time.second()
    ))
}

/// Returns a day of any year, for errors: years of more than four digits have a sign.
pub(crate) fn far_date_text(days: i64) -> String {
    let date = i32::try_from(days)
        .ok()
        .and_then(NaiveDate::from_epoch_days);
    date.map_or_else(
        || format!("{days} days since 1970-01-01"),
        |date| date.to_string(),
    )
}

/// Returns a second of any year, for errors.
pub(crate) fn far_timestamp_text(seconds: i64) -> String {
    DateTime::from_timestamp(seconds, 0).map_or_else(
        || format!("{seconds} seconds since 1970-01-01 00:00:00"),
        |moment| moment.naive_utc().to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_calendar_are_days_of_it() {
        assert_eq!(parse_date("0001-01-01"), Some(DAYS.min));
        assert_eq!(parse_date("9999-12-31"), Some(DAYS.max));
        assert_eq!(date_text(DAYS.min).as_deref(), Some("0001-01-01"));
        assert_eq!(date_text(DAYS.max + 1), None);
        assert_eq!(
            timestamp_text(SECONDS.max).as_deref(),
            Some("9999-12-31 23:59:59")
        );
        assert_eq!(timestamp_text(i64::MIN), None);
    }

    #[test]
    fn moments_are_read_as_written() {
        let whole = |text: &str| parse_timestamp(text).map(|moment| moment.seconds);
        assert_eq!(whole("2001-01-10 18:20:00"), Some(979_150_800));
        assert_eq!(whole("2001-01-10T18:20"), Some(979_150_800));
        assert_eq!(whole("2001-01-10T18:20:00Z"), Some(979_150_800));
        assert_eq!(whole("2001-01-10T20:20:00+02:00"), Some(979_150_800));
        assert_eq!(whole("2001-01-10"), Some(979_084_800));
        assert_eq!(whole("1969-12-31 23:59:59.5"), Some(-1));
        assert!(parse_timestamp("1969-12-31 23:59:59.5").unwrap().fraction);
        assert!(!parse_timestamp("1969-12-31 23:59:59.0").unwrap().fraction);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "2001-02-29",
            "2001-1-10",
            "20010110",
            "0000-01-01",
            "2001-01-10x",
            "",
            "2001-01-10 24:00:00",
            "2001-01-10 18",
            "2001-01-10 18:20:00.",
            "2001-01-10 18:20.5",
            "2001-01-10 18:20:00+2",
            "2001-01-1é",
            "9999-12-31 23:59:59-01:00",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn dates_in_other_forms() {
        for text in [
            "2012/01/31",
            "31.1.2012",
            "1/31/2012",
            "Jan 31, 2012",
            "31 January 2012",
            " 2012-01-31",
        ] {
            assert!(is_other_date(text), "{text}");
        }
        for text in [
            "31.1.2012 18:20",
            "1/31/2012 6:20:00 PM",
            "Jan 31, 2012, 6:20 am",
            "2012-01-31 6:20",
            "2012-01-31 18:20:00 ",
        ] {
            assert!(is_other_moment(text), "{text}");
        }
        for text in [
            "",
            "18:20",
            "Ann 18:20",
            "2012/01/31",
            "2012/01/31 18",
            "ratio 3:2:1",
        ] {
            assert!(!is_other_moment(text), "{text}");
        }
        for text in [
            "",
            "Ann",
            "10.0.0.1",
            "1 2 3",
            "may 2012",
            "555-1234",
            "Main St 2012",
            "12-31",
        ] {
            assert!(!is_other_date(text), "{text}");
        }
    }
}
