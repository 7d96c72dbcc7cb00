//! The page's tables: jobs, digests, configured costs and health checks.

use std::fmt::{Display, Formatter, Result};

use super::Escaped;
use super::figures::Grouped;
use crate::status::{Count, RunningJob, Status};

/// The page's tables: single digests where they are listed, the configured costs, and the health
/// checks.
pub(super) struct Tables<'a>(pub(super) &'a Status);

impl Display for Tables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let status = self.0;
        if status.lists_digests {
            running(f, &status.running_jobs)?;
            digests(f, status)?;
        }
        costs(f, status)?;
        checks(f, status)
    }
}

/// A column: its head and whether it holds numbers.
pub(super) type Column = (&'static str, bool);

/// A table, or a word where it has no rows.
pub(super) fn table(
    f: &mut Formatter<'_>,
    caption: &str,
    columns: &[Column],
    rows: &[Vec<String>],
) -> Result {
    if rows.is_empty() {
        return f.write_str("<p>None.</p>\n");
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
    f.write_str("</tbody>\n</table>\n")
}

/// The texts at the head of a section with a table.
struct Heads {
    id: &'static str,
    heading: &'static str,
    caption: &'static str,
}

/// Writes a table in a section of its own.
fn section(
    f: &mut Formatter<'_>,
    heads: Heads,
    columns: &[Column],
    rows: &[Vec<String>],
) -> Result {
    let Heads {
        id,
        heading,
        caption,
    } = heads;
    write!(
        f,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>\n"
    )?;
    table(f, caption, columns, rows)?;
    f.write_str("</section>\n")
}

fn class(number: bool) -> &'static str {
    if number { " class=\"number\"" } else { "" }
}

fn text(text: &str) -> String {
    Escaped(text).to_string()
}

/// Writes a table of the refused requests, kind by kind, in words.
pub(super) fn refusals(f: &mut Formatter<'_>, id: &str, heading: &str, counts: &[Count]) -> Result {
    writeln!(f, "<h3 id=\"{id}\">{heading}</h3>")?;
    let row = |Count { kind, count }: &Count| {
        let name = text(kind);
        let words = words(kind).map_or_else(|| name.clone(), |words| format!("{words} ({name})"));
        vec![words, Grouped(*count).to_string()]
    };
    let rows: Vec<_> = counts.iter().map(row).collect();
    table(f, "By kind", &[("Kind", false), ("Count", true)], &rows)
}

/// Returns the meaning of a gRPC code in this service.
fn words(code: &str) -> Option<&'static str> {
    Some(match code {
        "invalid_argument" => "wrong in itself",
        "unauthenticated" => "no token, or an unknown one",
        "permission_denied" => "a token without the right",
        "not_found" => "no such thing of this caller",
        "already_exists" => "an id or a one-time key that was used before",
        "out_of_range" => "a range or place that is not there",
        "failed_precondition" => "a quota that is used up, or too early",
        "resource_exhausted" => "over a rate, or no room",
        "deadline_exceeded" => "a client that fell silent",
        "unimplemented" => "not offered here",
        "unavailable" => "the server was stopping",
        "data_loss" => "damage in what arrived or is stored",
        "internal" => "a fault of the server",
        _ => return None,
    })
}

fn running(f: &mut Formatter<'_>, jobs: &[RunningJob]) -> Result {
    let columns = [
        ("Scheme", false),
        ("Stage", false),
        ("Done", true),
        ("Seconds", true),
    ];
    let row = |job: &RunningJob| {
        let done = format!(
            "{} of {}",
            Grouped(job.stage_done),
            Grouped(job.stage_total)
        );
        let seconds = format!("{:.1}", job.seconds);
        vec![text(&job.scheme), text(&job.stage), done, seconds]
    };
    let rows: Vec<_> = jobs.iter().map(row).collect();
    let heads = Heads {
        id: "running",
        heading: "Running jobs",
        caption: "Jobs that run and what they do",
    };
    section(f, heads, &columns, &rows)
}

fn digests(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Scheme", false), ("Messages", true), ("Seconds", true)];
    let digests = status.digests.iter().map(|digest| {
        vec![
            text(&digest.scheme),
            Grouped(digest.messages).to_string(),
            format!("{:.2}", digest.seconds),
        ]
    });
    let heads = Heads {
        id: "digests",
        heading: "Last digests",
        caption: "Digests that were made, newest first",
    };
    section(f, heads, &columns, &digests.collect::<Vec<_>>())
}

fn costs(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Scheme", false), ("Milliseconds a message", true)];
    let costs = status.configured_costs.iter().map(|cost| {
        let milliseconds = format!("{:.3}", cost.milliseconds_a_message);
        vec![text(&cost.scheme), milliseconds]
    });
    let heads = Heads {
        id: "costs",
        heading: "Configured costs",
        caption: "What a message costs the detector by the configuration, not measured here. Where a hybrid digest is \
                  split, and which job is next, follows from it",
    };
    section(f, heads, &columns, &costs.collect::<Vec<_>>())
}

fn checks(f: &mut Formatter<'_>, status: &Status) -> Result {
    let columns = [("Check", false), ("State", false), ("Found", false)];
    let checks = status.health.checks.iter().map(|check| {
        let state = if check.good {
            "<span class=\"good\">good</span>"
        } else {
            "<span class=\"bad\">bad</span>"
        };
        vec![text(&check.name), state.to_owned(), text(&check.found)]
    });
    let heads = Heads {
        id: "health",
        heading: "Health",
        caption: "What was looked at",
    };
    section(f, heads, &columns, &checks.collect::<Vec<_>>())
}
