//! Tests recipients in Kotlin: what UniFFI writes, against a server, by the package in `kotlin/`. Writes Swift, too.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::{built, files, npm};

/// How UniFFI names what it writes, below the root.
const NAMES: &str = "crates/mobile/uniffi.toml";
/// The folder of the tests, below the root.
const TESTS: &str = "kotlin";
/// The folder of the sources, below the root; it has a folder for each language.
const SOURCES: &str = "target/mobile";

/// Writes the sources below `target/`, and runs the tests of those for Kotlin.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    if !["javac", "mvn"].iter().all(npm::starts) {
        return npm::skip("kotlin", "maven");
    }
    let mobile = built::mobile(root)?;
    for language in ["kotlin", "swift"] {
        let out = root.join(SOURCES).join(language);
        files::clear(&out)?;
        let mut write = Command::new(&mobile.bindgen);
        write.args(["generate", "--no-format", "--language", language]);
        write.arg("--config").arg(root.join(NAMES));
        succeed(write.arg("--out-dir").arg(out).arg(&mobile.library))?;
    }
    let mut tests = Command::new("mvn");
    tests
        .current_dir(root.join(TESTS))
        .args(["--batch-mode", "--quiet", "test"])
        .arg(property("omr.target", &root.join("target").join(TESTS))?)
        .arg(property("omr.sources", &root.join(SOURCES).join("kotlin"))?)
        .arg(property(
            "omr.library",
            mobile.library.parent().unwrap_or(root),
        )?)
        .env("OMR_COMMAND", built::command(root)?);
    succeed(&mut tests)
}

/// A property of Maven whose value is a path.
fn property(name: &str, path: &Path) -> Result<OsString, XtaskError> {
    let mut argument = OsString::from(format!("-D{name}="));
    argument.push(files::absolute(path)?);
    Ok(argument)
}
