//! The page's section on the board: its size, growth and posts.

use std::fmt::{Display, Formatter, Result};

use super::axis::Axis;
use super::chart::Chart;
use super::figures::{Grouped, Moment, list, pair};
use super::tables::{refusals, table};
use crate::status::{Growth, Rate, Status};

/// The board, how it grew, and what is posted.
pub(super) struct Board<'a>(pub(super) &'a Status);

impl Display for Board<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let status = self.0;
        f.write_str("<section aria-labelledby=\"board\">\n<h2 id=\"board\">Board</h2>\n")?;
        list(f, |f| {
            pair(f, "Messages", &Grouped(status.messages))?;
            pair(f, "First message kept", &Grouped(status.first_index))?;
            pair(f, "Messages expire", &Expiry(status.expire_days))?;
            pair(f, "Posts, last minute", &Posts(status.posting.minute))?;
            pair(f, "Posts, last hour", &Posts(status.posting.hour))
        })?;
        growth(f, &status.growth)?;
        let what = "Posts refused since the start";
        refusals(f, "refused-posts", what, &status.posting.refused)?;
        f.write_str("</section>\n")
    }
}

struct Expiry(u64);

impl Display for Expiry {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            0 => f.write_str("never"),
            1 => f.write_str("after a day"),
            days => write!(f, "after {} days", Grouped(days)),
        }
    }
}

/// Posts of some time and how many a second that is.
struct Posts(Rate);

impl Display for Posts {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let rate = self.0;
        let seconds = rate.milliseconds as f64 / 1e3;
        let a_second = if seconds > 0.0 {
            rate.posts as f64 / seconds
        } else {
            0.0
        };
        write!(
            f,
            "{a_second:.2} a second: {} posts of {} messages in {seconds:.0} s",
            Grouped(rate.posts),
            Grouped(rate.messages)
        )
    }
}

/// Two pictures of the same points, and those in a table.
fn growth(f: &mut Formatter<'_>, points: &[Growth]) -> Result {
    f.write_str("<h3>Growth</h3>\n")?;
    let times = points.iter().map(|point| point.unix_seconds);
    let (Some(start), Some(end)) = (times.clone().min(), times.max()) else {
        return f.write_str("<p>No growth measured yet.</p>\n");
    };
    if points.len() < 2 {
        return f.write_str("<p>No growth measured yet.</p>\n");
    }
    let rates = rates(points);
    f.write_str("<div class=\"charts\">\n")?;
    write!(f, "{}", lengths(points, start, end))?;
    write!(f, "{}", speeds(&rates, start, end))?;
    f.write_str("</div>\n<details>\n<summary>Growth as a table</summary>\n")?;
    let cell =
        |at: Option<f64>| at.map_or_else(|| "\u{2013}".to_owned(), |rate| format!("{rate:.3}"));
    // Of the time since the line before.
    let before = std::iter::once(None).chain(rates.iter().map(|(_, _, rate)| *rate));
    let row = |(point, rate): (&Growth, Option<f64>)| {
        vec![
            Moment(point.unix_seconds).to_string(),
            Grouped(point.messages).to_string(),
            cell(rate),
        ]
    };
    let rows: Vec<_> = points.iter().zip(before).map(row).collect();
    let columns = [
        ("Time", false),
        ("Messages", true),
        ("Posts a second", true),
    ];
    table(
        f,
        "Messages on the board, and posts since the line before",
        &columns,
        &rows,
    )?;
    f.write_str("</details>\n")
}

/// Returns for each pair of points their times and the posts a second between them; `None` where the clock stood still
/// or went back, or the service was restarted.
fn rates(points: &[Growth]) -> Vec<(u64, u64, Option<f64>)> {
    let of = |pair: &[Growth]| {
        let (from, to) = (pair[0], pair[1]);
        let seconds = to.unix_seconds.checked_sub(from.unix_seconds);
        let posts = to.posts.checked_sub(from.posts);
        let rate = seconds
            .zip(posts)
            .filter(|(seconds, _)| *seconds > 0)
            .map(|(seconds, posts)| posts as f64 / seconds as f64);
        (from.unix_seconds, to.unix_seconds, rate)
    };
    points.windows(2).map(of).collect()
}

fn lengths(points: &[Growth], start: u64, end: u64) -> Chart<'static> {
    let counts = points.iter().map(|point| point.messages);
    let (low, high) = (counts.clone().min(), counts.max());
    let first = points.first().copied().unwrap_or_default();
    let last = points.last().copied().unwrap_or_default();
    let point = |point: &Growth| (point.unix_seconds as f64, point.messages as f64);
    Chart {
        id: "length",
        title: "Messages on the board over time",
        unit: "messages",
        across: Axis::times(start, end),
        up: Axis::counts(low.unwrap_or(0), high.unwrap_or(0)),
        points: points.iter().map(point).collect(),
        text: format!(
            "Messages on the board: from {} to {}, {} more, between {} and {}.",
            Grouped(first.messages),
            Grouped(last.messages),
            Grouped(last.messages.saturating_sub(first.messages)),
            Moment(first.unix_seconds),
            Moment(last.unix_seconds),
        ),
    }
}

fn speeds(rates: &[(u64, u64, Option<f64>)], start: u64, end: u64) -> Chart<'static> {
    let known = || {
        rates
            .iter()
            .filter_map(|(from, to, rate)| Some((*from, *to, (*rate)?)))
    };
    let most = known().map(|(_, _, rate)| rate).fold(0.0, f64::max);
    let posts: f64 = known()
        .map(|(from, to, rate)| rate * (to - from) as f64)
        .sum();
    let seconds: u64 = known().map(|(from, to, _)| to - from).sum();
    let step = |(from, to, rate): (u64, u64, f64)| [(from as f64, rate), (to as f64, rate)];
    Chart {
        id: "speed",
        title: "Posts a second over time",
        unit: "posts a second",
        across: Axis::times(start, end),
        up: Axis::rates(most),
        points: known().flat_map(step).collect(),
        text: format!(
            "Posts a second, on average of five minutes each: {:.3} in all, {most:.3} at most.",
            posts / seconds.max(1) as f64
        ),
    }
}
