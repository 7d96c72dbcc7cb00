//! The version of a release: that of the workspace, of its tag and of the changelog.

use std::fs;
use std::path::Path;

use super::git;
use crate::error::XtaskError;

/// The workspace's version, which is this program's.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version, if the changelog has it and a tag, where one is given, is its and stands for what is checked out.
pub(super) fn checked(root: &Path, tag: Option<&str>) -> Result<&'static str, XtaskError> {
    let path = root.join("CHANGELOG.md");
    let changes = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    judge(VERSION, tag, &changes)?;
    let Some(tag) = tag else {
        println!("a rehearsal of {VERSION}: `--tag v{VERSION}` makes the release");
        return Ok(VERSION);
    };
    let commit = git(root, &["rev-parse", &format!("{tag}^{{commit}}")])?;
    let found = git(root, &["rev-parse", "HEAD"])?;
    if commit != found {
        return Err(XtaskError::Checkout {
            tag: tag.to_owned(),
            found,
        });
    }
    let changed = git(root, &["status", "--porcelain"])?;
    if changed.is_empty() {
        Ok(VERSION)
    } else {
        Err(XtaskError::Changed { found: changed })
    }
}

/// Whether tag and changelog are of a version; the changelog names the day of what is tagged.
fn judge(version: &str, tag: Option<&str>, changes: &str) -> Result<(), XtaskError> {
    if let Some(tag) = tag
        && tag.strip_prefix('v') != Some(version)
    {
        return Err(XtaskError::Tag {
            expected: format!("v{version}"),
            found: tag.to_owned(),
        });
    }
    let heading = format!("## [{version}] - ");
    let day = changes.lines().find_map(|line| line.strip_prefix(&heading));
    if day.is_some_and(|day| tag.is_none() || is_day(day)) {
        Ok(())
    } else {
        Err(XtaskError::Changelog {
            expected: format!(
                "{heading}{}",
                if tag.is_some() { "YYYY-MM-DD" } else { "..." }
            ),
            found: day.unwrap_or("none").to_owned(),
        })
    }
}

/// Whether a text is a day such as 2026-12-01.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts[..], [year, month, day] if [year.len(), month.len(), day.len()] == [4, 2, 2]
        && [year, month, day].iter().all(|part| digits(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_tag_and_changelog_agree() {
        let changes =
            |day| format!("# Changelog\n\n## [1.2.0] - {day}\n\n## [1.1.0] - 2026-01-01\n");
        let (dated, open) = (changes("2026-12-01"), changes("unreleased"));
        assert!(judge("1.2.0", Some("v1.2.0"), &dated).is_ok());
        assert!(judge("1.2.0", None, &open).is_ok());
        let wrong = judge("1.2.0", Some("v1.1.0"), &dated);
        assert!(matches!(wrong, Err(XtaskError::Tag { found, .. }) if found == "v1.1.0"));
        for (version, tag) in [("1.2.0", Some("v1.2.0")), ("1.3.0", None)] {
            let wrong = judge(version, tag, &open);
            assert!(
                matches!(wrong, Err(XtaskError::Changelog { .. })),
                "{version}"
            );
        }
    }
}
