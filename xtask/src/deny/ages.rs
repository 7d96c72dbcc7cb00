//! A version is used when it has been published for two weeks: until then others find that a package was taken over.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::ci::{printed, start_error};
use crate::error::XtaskError;
use crate::{files, npm};

/// The time before which a version must have been published, for `date`.
const COOL_DOWN: &str = "14 days ago";

/// The index of crates.io.
const INDEX: &str = "https://index.crates.io";

/// A version in the index.
#[derive(Deserialize)]
struct Version {
    vers: String,
    #[serde(default)]
    pubtime: Option<String>,
}

/// A package of `Cargo.lock` that comes from crates.io.
#[derive(Debug, PartialEq)]
struct Locked<'a> {
    name: &'a str,
    version: &'a str,
}

/// Checks the time of publication of every version in `Cargo.lock`.
pub(super) fn check(root: &Path) -> Result<(), XtaskError> {
    let path = root.join("Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    let locked = locked(&lock);
    let folder = root.join("target/index");
    files::clear(&folder)?;
    fs::create_dir_all(&folder).map_err(XtaskError::io(&folder))?;
    if !fetch(&locked, &folder)? {
        return npm::skip("ages", "crates.io");
    }
    let mut date = Command::new("date");
    let before = printed(date.args(["--utc", "--date", COOL_DOWN, "+%FT%TZ"]))?;
    let before = String::from_utf8_lossy(&before).trim().to_owned();
    for package in locked {
        let path = folder.join(package.name);
        let index = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
        judge(&package, &index, &before)?;
    }
    Ok(())
}

/// The packages of a lock file, in its order.
fn locked(lock: &str) -> Vec<Locked<'_>> {
    let mut found = Vec::new();
    for package in lock.split("[[package]]") {
        let value = |key| {
            package
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_suffix('"'))
        };
        let (name, version) = (value("name = \""), value("version = \""));
        if let (Some(name), Some(version), Some(_)) = (name, version, value("source = \"")) {
            found.push(Locked { name, version });
        }
    }
    found
}

/// Downloads the index of packages into files of their names. Returns whether it could be reached.
fn fetch(packages: &[Locked<'_>], folder: &Path) -> Result<bool, XtaskError> {
    let mut config = String::new();
    for package in packages {
        let _ = writeln!(config, "url = {INDEX}/{}", place(package.name));
        let _ = writeln!(config, "output = {}", folder.join(package.name).display());
    }
    let mut command = Command::new("curl");
    command
        .args([
            "--silent",
            "--fail",
            "--compressed",
            "--retry",
            "2",
            "--max-time",
            "60",
        ])
        .args(["--parallel", "--parallel-max", "20", "--config", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut curl) = command.spawn() else {
        return Ok(false);
    };
    if let Some(mut input) = curl.stdin.take() {
        input
            .write_all(config.as_bytes())
            .map_err(XtaskError::io(folder))?;
    }
    let status = curl
        .wait()
        .map_err(|source| start_error(&command, source))?;
    Ok(status.success())
}

/// The path of a package in the index, by the length of its name.
fn place(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        1 => format!("1/{name}"),
        2 => format!("2/{name}"),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

/// Whether a version was published before a time. Times are texts of one form, which sort as they follow each other.
fn judge(package: &Locked<'_>, index: &str, before: &str) -> Result<(), XtaskError> {
    for line in index.lines() {
        let version: Version = serde_json::from_str(line)?;
        if version.vers != package.version {
            continue;
        }
        return match version.pubtime {
            Some(found) if found.as_str() > before => Err(XtaskError::Young {
                package: format!("{} {}", package.name, package.version),
                before: before.to_owned(),
                found,
            }),
            _ => Ok(()),
        };
    }
    Err(XtaskError::Young {
        package: format!("{} {}", package.name, package.version),
        before: before.to_owned(),
        found: "no such version".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"version = 4

[[package]]
name = "omr"
version = "0.1.0"

[[package]]
name = "serde"
version = "1.0.2"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = [
 "serde_core",
]
"#;

    #[test]
    fn packages_of_the_registry_alone_have_an_age() {
        let expected = Locked {
            name: "serde",
            version: "1.0.2",
        };
        assert_eq!(locked(LOCK), [expected]);
        let places = ["a", "ab", "abc", "Serde"].map(place);
        assert_eq!(places, ["1/a", "2/ab", "3/a/abc", "se/rd/serde"]);
    }

    #[test]
    fn a_version_of_yesterday_is_refused() {
        let index = concat!(
            r#"{"vers": "1.0.1", "pubtime": "2026-11-01T00:00:00Z"}"#,
            "\n",
            r#"{"vers": "1.0.2", "pubtime": "2026-11-28T00:00:00Z"}"#
        );
        let judged = |version, before| {
            judge(
                &Locked {
                    name: "serde",
                    version,
                },
                index,
                before,
            )
        };
        assert!(judged("1.0.1", "2026-11-15T00:00:00Z").is_ok());
        assert!(judged("1.0.2", "2026-11-29T00:00:00Z").is_ok());
        let young = judged("1.0.2", "2026-11-15T00:00:00Z");
        assert!(
            matches!(young, Err(XtaskError::Young { package, .. }) if package == "serde 1.0.2")
        );
        assert!(judged("2.0.0", "2026-11-15T00:00:00Z").is_err());
    }
}
