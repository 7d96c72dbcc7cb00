//! Writes the table of figures in docs/web.md.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::XtaskError;
use crate::figures::MARKERS;
use crate::files;

const PAGE: &str = "docs/web.md";
/// The figures that the table is made of.
pub(super) const FIGURES: &str = "docs/web.json";
/// The figures of `web/test`, and the commit that `cargo xtask web --real` adds.
#[derive(Deserialize)]
struct Figures {
    commit: String,
    date: String,
    cpu: String,
    cores: usize,
    ready_s: f64,
    page_bytes: f64,
    messages: f64,
    scan_bytes: f64,
    answer_bytes: f64,
    opened_ms: f64,
    later_ms: f64,
    sealed_ms: f64,
    closed: usize,
    queries: Queries,
    gzip: Gzip,
}

/// The figures of private queries.
#[derive(Deserialize)]
struct Queries {
    rows: f64,
    first_s: f64,
    later_s: f64,
    page_bytes: f64,
}

/// Bytes of the page's files after gzip.
#[derive(Deserialize)]
struct Gzip {
    #[serde(flatten)]
    letters: Part,
    queries: Part,
}

#[derive(Deserialize)]
struct Part {
    module: f64,
    scripts: f64,
}

/// Compares the table with the figures that were taken over last, or writes it; it is empty where there were none.
pub(crate) fn page(root: &Path, writes: bool) -> Result<(), XtaskError> {
    let figures = root.join(FIGURES);
    if !figures.exists() {
        return files::section(&root.join(PAGE), MARKERS, "", writes);
    }
    let text = fs::read_to_string(&figures).map_err(XtaskError::io(&figures))?;
    let table = table(&serde_json::from_str(&text)?);
    files::section(&root.join(PAGE), MARKERS, &table, writes)
}

fn table(figures: &Figures) -> String {
    let Figures {
        commit,
        date,
        cpu,
        cores,
        queries,
        ..
    } = figures;
    let mega = |bytes: f64| format!("{:.0} MB", bytes / 1e6);
    let kilo = |bytes: f64| format!("{:.0} KB", bytes / 1e3);
    let files = |part: &Part| format!("{}; {}", kilo(part.module), kilo(part.scripts));
    let rows = [
        (
            "identity ready: keys made, uploaded, registered".to_owned(),
            format!("{:.1} s", figures.ready_s),
        ),
        (
            "memory of the page meanwhile, at most".to_owned(),
            mega(figures.page_bytes),
        ),
        (
            format!(
                "both rounds of {} messages opened by a new page; later a second round alone",
                figures.messages
            ),
            format!("{:.0} ms; {:.0} ms", figures.opened_ms, figures.later_ms),
        ),
        (
            "their scan; their answer".to_owned(),
            format!(
                "{}; {}",
                kilo(figures.scan_bytes),
                kilo(figures.answer_bytes)
            ),
        ),
        (
            "a letter sealed with its clue".to_owned(),
            format!("{:.1} ms", figures.sealed_ms),
        ),
        (
            format!("letters lost or doubled in {} closed pages", figures.closed),
            "0".to_owned(),
        ),
        (
            format!("private query over {} rows: first; later", queries.rows),
            format!("{:.1} s; {:.1} s", queries.first_s, queries.later_s),
        ),
        (
            "memory of the page meanwhile, at most".to_owned(),
            mega(queries.page_bytes),
        ),
        (
            "after gzip: module; scripts".to_owned(),
            files(&figures.gzip.letters),
        ),
        (
            "after gzip, loaded only for private queries: module; scripts".to_owned(),
            files(&figures.gzip.queries),
        ),
    ];
    let mut text = format!(
        "\n{cpu}, {cores} cores, with a server compiled for tests; commit `{commit}`, {date}.\n\n\
         | the sets that servers have | |\n|---|---|\n"
    );
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_has_the_figures() {
        let figures = json!({
            "commit": "0123456789ab", "date": "2026-11-27", "cpu": "A processor", "cores": 2,
            "ready_s": 1.26, "page_bytes": 62.4e6, "messages": 65536, "scan_bytes": 236824, "answer_bytes": 51432,
            "opened_ms": 148.6, "later_ms": 48.6, "sealed_ms": 0.92, "closed": 40,
            "queries": {"rows": 65536, "first_s": 9.21, "later_s": 3.68, "page_bytes": 4.1e8},
            "gzip": {"module": 410_000, "scripts": 61_000, "queries": {"module": 683_000, "scripts": 42_000}}
        });
        let table = table(&serde_json::from_value(figures).unwrap());
        for row in [
            "\nA processor, 2 cores, with a server compiled for tests; commit `0123456789ab`, 2026-11-27.\n\n",
            "| identity ready: keys made, uploaded, registered | 1.3 s |",
            "| both rounds of 65536 messages opened by a new page; later a second round alone | 149 ms; 49 ms |",
            "| their scan; their answer | 237 KB; 51 KB |",
            "| letters lost or doubled in 40 closed pages | 0 |",
            "| private query over 65536 rows: first; later | 9.2 s; 3.7 s |",
            "| after gzip, loaded only for private queries: module; scripts | 683 KB; 42 KB |",
        ] {
            assert!(table.contains(row), "{row} not in {table}");
        }
    }
}
