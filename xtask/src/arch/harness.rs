//! Checks that targets without tests are declared as such: Cargo compiles all others once more, even to run no test.

use std::fs;
use std::path::Path;

use super::Violation;
use super::workspace::{Crate, Root};
use crate::error::XtaskError;

/// The attributes that begin a test.
const TESTS: [&str; 2] = ["#[test]", "#[tokio::test"];
/// The texts behind the opening fence of an example that is compiled.
const EXAMPLES: [&str; 5] = ["", "rust", "no_run", "should_panic", "compile_fail"];

/// Roots whose `test` or `doctest` is other than what their sources hold.
pub(super) fn check(crates: &[Crate]) -> Result<Vec<Violation>, XtaskError> {
    let mut found = Vec::new();
    for root in crates.iter().flat_map(|found| &found.roots) {
        let folder = root.path.parent().unwrap_or(Path::new("."));
        let (mut test, mut doctest) = (false, false);
        let mut look = |text: &str| {
            test |= has_test(text);
            doctest |= has_example(text);
        };
        if !root.library && folder.join("lib.rs").exists() {
            // The other files are the library's.
            look(&fs::read_to_string(&root.path).map_err(XtaskError::io(&root.path))?);
        } else {
            visit(folder, &mut look)?;
        }
        // Programs have no examples that are compiled.
        let doctest = doctest && root.library;
        let keys = [
            ("test", root.test, test),
            ("doctest", root.doctest, doctest),
        ];
        found.extend(wrong(root, keys));
    }
    Ok(found)
}

fn wrong(root: &Root, keys: [(&'static str, bool, bool); 2]) -> impl Iterator<Item = Violation> {
    let wrong = keys.into_iter().filter(|(_, said, held)| said != held);
    wrong.map(|(key, _, expected)| Violation::Harness {
        root: root.path.clone(),
        key,
        expected,
    })
}

fn has_test(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| TESTS.iter().any(|test| line.starts_with(test)))
}

fn has_example(text: &str) -> bool {
    let mut open = false;
    text.lines().map(str::trim_start).any(|line| {
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(kind) = comment.and_then(|text| text.trim().strip_prefix("```")) else {
            return false;
        };
        open = !open;
        open && EXAMPLES.contains(&kind)
    })
}

/// Calls `each` with the text of every Rust file below a folder.
fn visit(folder: &Path, each: &mut dyn FnMut(&str)) -> Result<(), XtaskError> {
    for entry in fs::read_dir(folder).map_err(XtaskError::io(folder))? {
        let path = entry.map_err(XtaskError::io(folder))?.path();
        if path.is_dir() {
            visit(&path, each)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&fs::read_to_string(&path).map_err(XtaskError::io(&path))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_examples_are_found() {
        assert!(has_test("fn a() {}\n    #[test]\n    fn b() {}"));
        assert!(has_test("#[tokio::test(flavor = \"current_thread\")]\n"));
        assert!(!has_test("// #[test] marks a test.\n"));
        assert!(has_example(
            "/// Adds.\n///\n/// ```\n/// add(1);\n/// ```\n"
        ));
        assert!(!has_example(
            "//! ```text\n//! a\n//! ```\n//!\n//! ```ignore\n//! b\n//! ```\n"
        ));
    }

    #[test]
    fn a_root_must_say_what_it_holds() {
        let root = Root {
            path: "a/src/lib.rs".into(),
            library: true,
            test: true,
            doctest: false,
        };
        let keys = |test, doctest| {
            [
                ("test", root.test, test),
                ("doctest", root.doctest, doctest),
            ]
        };
        assert_eq!(wrong(&root, keys(true, false)).count(), 0);
        let found: Vec<Violation> = wrong(&root, keys(false, true)).collect();
        let violation = |key, expected| Violation::Harness {
            root: root.path.clone(),
            key,
            expected,
        };
        assert_eq!(
            found,
            [violation("test", false), violation("doctest", true)]
        );
    }
}
