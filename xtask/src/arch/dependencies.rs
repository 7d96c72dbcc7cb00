//! External crates against the list of their reasons.

use std::collections::BTreeSet;
use std::path::Path;

use super::workspace::Crate;
use super::{Violation, between};
use crate::error::XtaskError;

const OPEN: &str = "<!-- dependencies -->";
const CLOSE: &str = "<!-- /dependencies -->";

/// Reads the crates of the list between the two markers of a Markdown file.
pub(super) fn read(path: &Path) -> Result<BTreeSet<String>, XtaskError> {
    let text = std::fs::read_to_string(path).map_err(XtaskError::io(path))?;
    Ok(parse(between(path, &text, OPEN, CLOSE)?))
}

/// The names of a list's items, each `- name, name: reason` with all names on its first line.
pub(super) fn parse(list: &str) -> BTreeSet<String> {
    let items = list.lines().filter_map(|line| line.strip_prefix("- "));
    let names = items.filter_map(|item| Some(item.split_once(':')?.0));
    let names = names.flat_map(|names| names.split(','));
    names.map(|name| name.trim().to_string()).collect()
}

/// External crates without an item, and items without a crate.
pub(super) fn compare(crates: &[Crate], listed: &BTreeSet<String>) -> Vec<Violation> {
    let used: BTreeSet<&String> = crates.iter().flat_map(|found| &found.external).collect();
    let unexplained = crates.iter().flat_map(|found| {
        let names = found.external.iter().filter(|name| !listed.contains(*name));
        names.map(|name| Violation::Unexplained {
            from: found.name.clone(),
            to: name.clone(),
        })
    });
    let unused = listed
        .iter()
        .filter(|name| !used.contains(name))
        .map(|name| Violation::Unused { name: name.clone() });
    unexplained.chain(unused).collect()
}
