//! The page's section on what is in use: jobs, keys, sessions, memory and disk.

use std::fmt::{Display, Formatter, Result};

use super::Escaped;
use super::figures::{Grouped, Moment, Size, Span, list, pair};
use super::tables::{refusals, table};
use crate::status::{DiskUse, Status, UseFigures};

/// Jobs, keys, sessions, memory and disk.
pub(super) struct InUse<'a>(pub(super) &'a Status);

impl Display for InUse<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let used = &self.0.in_use;
        f.write_str("<section aria-labelledby=\"use\">\n<h2 id=\"use\">In use</h2>\n")?;
        if used.every_seconds > 0 {
            writeln!(
                f,
                "<p>Counted at {}, and again every {}: these figures move when somebody fetches, and nobody should \
                 see when that is.</p>",
                Moment(used.counted_unix_seconds),
                Span(used.every_seconds)
            )?;
        }
        list(f, |f| figures(f, used))?;
        let what = "Calls refused or failed since the start";
        refusals(f, "refused-calls", what, &used.refused)?;
        disk(f, &used.disk)?;
        f.write_str("</section>\n")
    }
}

fn figures(f: &mut Formatter<'_>, used: &UseFigures) -> Result {
    let (jobs, sessions) = (&used.jobs, &used.sessions);
    pair(f, "Jobs waiting", &Grouped(jobs.waiting))?;
    pair(f, "Jobs running", &Grouped(jobs.running))?;
    pair(f, "Jobs done since the start", &Grouped(jobs.done))?;
    pair(f, "Jobs failed", &Grouped(jobs.failed))?;
    pair(f, "Jobs cancelled while running", &Grouped(jobs.cancelled))?;
    let keys = format!("{}, {} in all", Grouped(used.keys), Size(used.key_bytes));
    pair(f, "Keys registered", &keys)?;
    pair(f, "Sessions open", &Grouped(sessions.open))?;
    pair(
        f,
        "Messages that sessions looked at",
        &Grouped(sessions.messages),
    )?;
    pair(
        f,
        "Slowest session behind by",
        &Grouped(sessions.lag_messages),
    )?;
    if let Some(bytes) = used.memory_bytes {
        pair(f, "Memory", &memory(bytes, used.memory_limit_bytes))?;
    }
    match used.disk_free_bytes {
        Some(free) => pair(f, "Free on the disk", &Size(free)),
        None => Ok(()),
    }
}

fn memory(bytes: u64, limit: Option<u64>) -> String {
    match limit.filter(|limit| *limit > 0) {
        Some(limit) => {
            let percent = bytes as f64 / limit as f64 * 100.0;
            format!("{} of {}, {percent:.1} %", Size(bytes), Size(limit))
        }
        None => Size(bytes).to_string(),
    }
}

fn disk(f: &mut Formatter<'_>, parts: &[DiskUse]) -> Result {
    f.write_str("<h3 id=\"disk\">Disk</h3>\n")?;
    let row = |part: &DiskUse| {
        let kind = Escaped(&part.kind).to_string();
        vec![kind, Size(part.bytes).to_string()]
    };
    let rows: Vec<_> = parts.iter().map(row).collect();
    let columns = [("Files", false), ("Size", true)];
    table(f, "What the server's files take", &columns, &rows)
}
