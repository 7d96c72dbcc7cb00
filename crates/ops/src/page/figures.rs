//! The page's first section: version, board and health.

use std::fmt::{Display, Formatter, Result};
use std::time::{Duration, UNIX_EPOCH};

use super::Escaped;
use crate::status::Status;

/// Version, board and health.
pub(super) struct Overview<'a>(pub(super) &'a Status);

impl Display for Overview<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let status = self.0;
        let (class, word) = if status.health.healthy {
            ("good", "Healthy")
        } else {
            ("bad", "Not healthy")
        };
        f.write_str("<section aria-labelledby=\"overview\">\n<h2 id=\"overview\">Overview</h2>\n")?;
        writeln!(f, "<p class=\"{class}\">{word}</p>")?;
        list(f, |f| {
            pair(f, "Board", &Escaped(&status.board_id))?;
            pair(f, "Parameter set", &Escaped(&status.params_id))?;
            pair(f, "Version", &Version(status))?;
            pair(f, "Build", &Escaped(&status.build))?;
            pair(f, "Running for", &Span(status.uptime_seconds))?;
            pair(f, "Written", &Moment(status.written_unix_seconds))
        })?;
        f.write_str("</section>\n")
    }
}

/// The version, with a way to its source.
struct Version<'a>(&'a Status);

impl Display for Version<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (version, source) = (Escaped(&self.0.version), Escaped(&self.0.source));
        if self.0.source.starts_with("https://") {
            write!(f, "<a href=\"{source}\">{version}</a>")
        } else {
            write!(f, "{version}")
        }
    }
}

/// A list of names and values.
pub(super) fn list(
    f: &mut Formatter<'_>,
    pairs: impl FnOnce(&mut Formatter<'_>) -> Result,
) -> Result {
    f.write_str("<dl>\n")?;
    pairs(f)?;
    f.write_str("</dl>\n")
}

pub(super) fn pair(f: &mut Formatter<'_>, name: &str, value: &dyn Display) -> Result {
    writeln!(f, "<div><dt>{name}</dt><dd>{value}</dd></div>")
}

/// A count with a thin space between groups of three digits, which no line breaks at.
pub(super) struct Grouped(pub(super) u64);

impl Display for Grouped {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str("\u{202f}")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Bytes in the unit that leaves one to three digits before the point.
pub(super) struct Size(pub(super) u64);

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut value = self.0 as f64;
        let mut units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"].into_iter();
        let mut unit = units.next().unwrap_or_default();
        for larger in units {
            if value < 999.5 {
                break;
            }
            value /= 1000.0;
            unit = larger;
        }
        match unit {
            "bytes" => write!(f, "{value:.0} {unit}"),
            _ => write!(f, "{value:.1} {unit}"),
        }
    }
}

/// A length of time.
pub(super) struct Span(pub(super) u64);

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{}",
            humantime::format_duration(Duration::from_secs(self.0))
        )
    }
}

/// A moment in UTC, for readers and for programs.
pub(super) struct Moment(pub(super) u64);

/// The last second of the year 9999: later ones have no four digits for the year.
pub(super) const LAST: u64 = 253_402_300_799;

impl Display for Moment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let moment = UNIX_EPOCH + Duration::from_secs(self.0.min(LAST));
        let text = humantime::format_rfc3339_seconds(moment).to_string();
        let shown = text.replace('T', " ").replace('Z', " UTC");
        write!(f, "<time datetime=\"{text}\">{shown}</time>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_a_person_writes_them() {
        assert_eq!(Grouped(7).to_string(), "7");
        assert_eq!(Grouped(1_234_567).to_string(), "1\u{202f}234\u{202f}567");
        assert_eq!(Size(999).to_string(), "999 bytes");
        assert_eq!(Size(99_741_811).to_string(), "99.7 MB");
        assert_eq!(Size(u64::MAX).to_string(), "18.4 EB");
        assert_eq!(Span(90_061).to_string(), "1day 1h 1m 1s");
        let moment = "<time datetime=\"2026-01-02T03:04:05Z\">2026-01-02 03:04:05 UTC</time>";
        assert_eq!(Moment(1_767_323_045).to_string(), moment);
        assert!(Moment(u64::MAX).to_string().contains("9999-12-31"));
    }
}
