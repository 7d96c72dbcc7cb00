//! Reads the arrows between crates from a Markdown file.

use std::path::Path;

use super::{Arrows, between};
use crate::error::XtaskError;

const OPEN: &str = "<!-- arrows -->";
const CLOSE: &str = "<!-- /arrows -->";

/// Reads the arrows between the two markers of a Markdown file.
pub(super) fn read(path: &Path) -> Result<Arrows, XtaskError> {
    let text = std::fs::read_to_string(path).map_err(XtaskError::io(path))?;
    parse(between(path, &text, OPEN, CLOSE)?)
}

/// Parses lines such as `rlwe <- kernels, ring`: rlwe may depend on kernels and ring.
///
/// Blank lines and code fences are skipped; lines for the same crate add up.
pub(super) fn parse(block: &str) -> Result<Arrows, XtaskError> {
    let mut arrows = Arrows::new();
    let lines = block.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("```")) {
        let bad = || XtaskError::Arrow {
            found: line.to_string(),
        };
        let (from, uses) = line.split_once("<-").ok_or_else(bad)?;
        let from = name(from).ok_or_else(bad)?;
        let allowed = arrows.entry(from).or_default();
        if !uses.trim().is_empty() {
            for used in uses.split(',') {
                allowed.insert(name(used).ok_or_else(bad)?);
            }
        }
    }
    Ok(arrows)
}

fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!text.is_empty() && text.bytes().all(plain)).then(|| text.to_string())
}
