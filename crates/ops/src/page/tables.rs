use std::fmt::{Display, Formatter, Result};

use super::Escaped;
use super::figures::{Grouped, Size};
use crate::status::{RunningJob, Status};

/// Everything else, a table each.
pub(super) struct Tables<'a>(pub(super) &'a Status);

impl Display for Tables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let status = self.0;
        if status.lists_digests {
            running(f, &status.running_jobs)?;
            digests(f, status)?;
        }
        costs(f, status)?;
        sessions(f, status)?;
        disk(f, status)?;
        checks(f, status)
    }
}

/// A column: its head and whether it holds numbers.
type Column = (&'static str, bool);

/// One table under a heading, or a sentence where it has no rows.
fn table(
    f: &mut Formatter<'_>,
    (id, heading, caption): (&str, &str, &str),
    columns: &[Column],
    rows: &[Vec<String>],
) -> Result {
    write!(
        f,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n"
    )?;
    if rows.is_empty() {
        return f.write_str("<p>None.</p>\n</section>\n");
    }
    write!(f, "<table>\n<caption>{caption}</caption>\n<thead><tr>")?;
    for (name, number) in columns {
        write!(f, "<th scope=\"col\"{}>{name}</th>", class(*number))?;
    }
    f.write_str("</tr></thead>\n<tbody>\n")?;
    for row in rows {
        f.write_str("<tr>")?;
        for (i, (cell, (_, number))) in row.iter().zip(columns).enumerate() {
            match i {
                0 => write!(f, "<th scope=\"row\">{cell}</th>")?,
                _ => write!(f, "<td{}>{cell}</td>", class(*number))?,
            }
        }
        f.write_str("</tr>\n")?;
    }
    f.write_str("</tbody>\n</table>\n</section>\n")
}

fn class(number: bool) -> &'static str {
    if number { " class=\"number\"" } else { "" }
}

fn text(text: &str) -> String {
    Escaped(text).to_string()
}

fn running(f: &mut Formatter<'_>, jobs: &[RunningJob]) -> Result {
    let columns = [
        ("Scheme", false),
        ("Stage", false),
        ("Done", true),
        ("Seconds", true),
    ];
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            vec![
                text(&job.scheme),
                text(&job.stage),
                format!(
                    "{} of {}",
                    Grouped(job.stage_done),
                    Grouped(job.stage_total)
                ),
                format!("{:.1}", job.seconds),
            ]
        })
        .collect();
    table(
        f,
        ("running", "Running jobs", "Jobs that run and what they do"),
        &columns,
        &rows,
    )
}

fn digests(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Scheme", false), ("Messages", true), ("Seconds", true)];
    let rows: Vec<_> = status
        .digests
        .iter()
        .map(|digest| {
            vec![
                text(&digest.scheme),
                Grouped(digest.messages).to_string(),
                format!("{:.2}", digest.seconds),
            ]
        })
        .collect();
    table(
        f,
        (
            "digests",
            "Last digests",
            "Digests that were made, newest first",
        ),
        &columns,
        &rows,
    )
}

fn costs(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Scheme", false), ("Milliseconds", true)];
    let rows: Vec<_> = status
        .costs
        .iter()
        .map(|cost| {
            vec![
                text(&cost.scheme),
                format!("{:.3}", cost.milliseconds_a_message),
            ]
        })
        .collect();
    table(
        f,
        (
            "costs",
            "Cost of a message",
            "Time of the detector a message",
        ),
        &columns,
        &rows,
    )
}

fn sessions(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [
        ("Open", true),
        ("Messages looked at", true),
        ("Messages behind", true),
    ];
    let sessions = status.sessions;
    let rows = [vec![
        Grouped(sessions.open).to_string(),
        Grouped(sessions.messages).to_string(),
        Grouped(sessions.lag_messages).to_string(),
    ]];
    table(
        f,
        (
            "sessions",
            "Sessions",
            "Sessions in sum; the slowest is so far behind",
        ),
        &columns,
        &rows,
    )
}

fn disk(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Files", false), ("Size", true)];
    let rows: Vec<_> = status
        .disk
        .iter()
        .map(|part| vec![text(&part.kind), Size(part.bytes).to_string()])
        .collect();
    table(
        f,
        ("disk", "Disk", "What lies on the disk"),
        &columns,
        &rows,
    )
}

fn checks(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Check", false), ("State", false), ("Found", false)];
    let rows: Vec<_> = status
        .health
        .checks
        .iter()
        .map(|check| {
            let state = match check.good {
                true => "<span class=\"good\">good</span>",
                false => "<span class=\"bad\">bad</span>",
            };
            vec![text(&check.name), state.to_owned(), text(&check.found)]
        })
        .collect();
    table(
        f,
        ("health", "Health", "What was looked at"),
        &columns,
        &rows,
    )
}
