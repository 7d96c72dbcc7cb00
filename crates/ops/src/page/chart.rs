use std::fmt::{Display, Formatter, Result};

use super::figures::{Grouped, Moment};
use crate::status::Growth;

/// The board's growth as a picture, a sentence and a table.
pub(super) struct Chart<'a>(pub(super) &'a [Growth]);

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;
/// Room for half of the curve's width.
const MARGIN: f64 = 4.0;

impl Display for Chart<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("<section aria-labelledby=\"growth\">\n<h2 id=\"growth\">Growth</h2>\n")?;
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) if self.0.len() > 1 => self.picture(f, first, last)?,
            _ => f.write_str("<p>No growth measured yet.</p>\n")?,
        }
        f.write_str("</section>\n")
    }
}

impl Chart<'_> {
    fn picture(&self, f: &mut Formatter<'_>, first: &Growth, last: &Growth) -> Result {
        let grown = last.messages.saturating_sub(first.messages);
        f.write_str("<figure>\n")?;
        write!(
            f,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"chart-name\" \
             aria-describedby=\"chart-text\"><title id=\"chart-name\">Messages on the board over time\
             </title><path class=\"axis\" d=\"M0 {0} H{WIDTH}\"/><polyline class=\"curve\" points=\"",
            HEIGHT - 1.0,
        )?;
        self.points(f)?;
        f.write_str("\"/></svg>\n")?;
        writeln!(
            f,
            "<figcaption id=\"chart-text\">From {} to {} messages, {} more, between {} and {}.\
             </figcaption>\n</figure>",
            Grouped(first.messages),
            Grouped(last.messages),
            Grouped(grown),
            Moment(first.unix_seconds),
            Moment(last.unix_seconds),
        )?;
        self.table(f)
    }

    fn points(&self, f: &mut Formatter<'_>) -> Result {
        let times = self.0.iter().map(|point| point.unix_seconds);
        let counts = self.0.iter().map(|point| point.messages);
        let (start, end) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let (low, high) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        for (i, point) in self.0.iter().enumerate() {
            let x = share(point.unix_seconds, start, end) * WIDTH;
            let y = HEIGHT - MARGIN - share(point.messages, low, high) * (HEIGHT - 2.0 * MARGIN);
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{x:.1},{y:.1}")?;
        }
        Ok(())
    }

    fn table(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("<details>\n<summary>Growth as a table</summary>\n<table>\n")?;
        f.write_str("<caption>Messages on the board</caption>\n<thead><tr><th scope=\"col\">")?;
        f.write_str(
            "Time</th><th scope=\"col\" class=\"number\">Messages</th></tr></thead>\n<tbody>\n",
        )?;
        for point in self.0 {
            writeln!(
                f,
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>",
                Moment(point.unix_seconds),
                Grouped(point.messages)
            )?;
        }
        f.write_str("</tbody>\n</table>\n</details>\n")
    }
}

/// Where a value lies between two others, 0 to 1; 0 where they are one.
fn share(value: u64, low: u64, high: u64) -> f64 {
    if high <= low {
        return 0.0;
    }
    (value - low) as f64 / (high - low) as f64
}
