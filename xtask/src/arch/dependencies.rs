//! External crates against the list of their reasons.

use std::collections::BTreeSet;
use std::path::Path;

use super::workspace::Crate;
use super::{Violation, between};
use crate::error::XtaskError;

const OPEN: &str = "<!-- dependencies -->";
const CLOSE: &str = "<!-- /dependencies -->";

/// Reads the crates of the table between the two markers of a Markdown file.
pub(super) fn read(path: &Path) -> Result<BTreeSet<String>, XtaskError> {
    let text = std::fs::read_to_string(path).map_err(XtaskError::io(path))?;
    Ok(parse(between(path, &text, OPEN, CLOSE)?))
}

/// The names in the first column of a table; the two lines of its head are passed over.
pub(super) fn parse(table: &str) -> BTreeSet<String> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.skip(1).filter_map(|row| row.split('|').next());
    let names = cells.flat_map(|cell| cell.split(','));
    names.map(|name| name.trim().to_string()).collect()
}

/// External crates without a row, and rows without a crate.
pub(super) fn compare(crates: &[Crate], listed: &BTreeSet<String>) -> Vec<Violation> {
    let used: BTreeSet<&String> = crates.iter().flat_map(|found| &found.external).collect();
    let unexplained = crates.iter().flat_map(|found| {
        let names = found.external.iter().filter(|name| !listed.contains(*name));
        names.map(|name| Violation::Unexplained {
            from: found.name.clone(),
            to: name.clone(),
        })
    });
    let unused = listed.iter().filter(|name| !used.contains(name));
    let unused = unused.map(|name| Violation::Unused { name: name.clone() });
    unexplained.chain(unused).collect()
}
