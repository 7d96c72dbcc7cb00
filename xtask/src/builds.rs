//! The builds of the command that people have: the small one, which shows the demonstration soon, and the full one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::built;
use crate::ci::{cargo, cargo_command, printed};
use crate::error::XtaskError;

/// A build of the command.
struct Build {
    /// The features of the build.
    features: &'static str,
    /// The most crates that the build may consist of, those of the workspace included.
    most: usize,
    /// Crates that no other crate may bring back.
    without: &'static [&'static str],
}

const BUILDS: [Build; 2] = [
    Build {
        features: "",
        most: 153,
        without: &["object_store", "tonic"],
    },
    Build {
        features: "full",
        most: 270,
        without: &["arrow", "object_store", "opentelemetry", "parquet"],
    },
];

/// Crates that only the evidence may depend on.
const EVIDENCE: [&str; 4] = ["plotters", "maud", "tfhe", "tfhe-ntt"];

/// Lints both builds, and counts the crates that they are made of.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    for build in BUILDS {
        let features = build.features;
        let lint = [
            "clippy",
            "--quiet",
            "--profile",
            built::PROFILE,
            "-p",
            "omr-cli",
            "-p",
            "omr-commands",
        ];
        let rest = ["--features", features, "--", "-D", "warnings"];
        cargo(root, &[&lint[..], &rest].concat(), None)?;
        let crates = crates(root, "omr-cli", &["-e", "normal", "--features", features])?;
        println!("omr with features {features:?}: {} crates", crates.len());
        judge(&build, &crates)?;
    }
    Ok(())
}

/// Names and versions of what a build of a package is made of.
pub(crate) fn crates(
    root: &Path,
    package: &str,
    args: &[&str],
) -> Result<BTreeSet<String>, XtaskError> {
    let mut command = cargo_command(root, &["tree", "-p", package, "--prefix", "none"]);
    command.args(args);
    let tree = printed(&mut command)?;
    Ok(parse(&String::from_utf8_lossy(&tree)))
}

/// The first two words of each line of `cargo tree`: name and version.
fn parse(tree: &str) -> BTreeSet<String> {
    let words = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        words.join(" ")
    };
    let lines = tree.lines().filter(|line| !line.trim().is_empty());
    lines.map(words).collect()
}

fn judge(build: &Build, crates: &BTreeSet<String>) -> Result<(), XtaskError> {
    let Build {
        features,
        most,
        without,
    } = *build;
    let name = |one: &String| one.split(' ').next().unwrap_or_default().to_owned();
    if let Some(found) = crates
        .iter()
        .map(name)
        .find(|one| EVIDENCE.contains(&one.as_str()) || without.contains(&one.as_str()))
    {
        return Err(XtaskError::LeftOut { features, found });
    }
    if crates.len() <= most {
        Ok(())
    } else {
        Err(XtaskError::Crates {
            features,
            most,
            found: crates.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
omr-cli v0.1.0 (/src/crates/cli)
omr-commands v0.1.0 (/src/crates/commands)
rayon v1.12.0
rayon v1.12.0 (*)

syn v2.0.1 (proc-macro)
syn v3.0.9 (proc-macro)
";

    fn build(most: usize) -> Build {
        Build {
            features: "",
            most,
            without: &["tokio"],
        }
    }

    #[test]
    fn a_crate_counts_once_a_version() {
        assert_eq!(parse(TREE).len(), 5);
        assert!(judge(&build(5), &parse(TREE)).is_ok());
        let found = judge(&build(4), &parse(TREE));
        assert!(matches!(found, Err(XtaskError::Crates { found: 5, .. })));
    }

    #[test]
    fn evidence_is_no_part_of_the_product_and_no_build_has_what_it_leaves_out() {
        for left_out in ["plotters", "tokio"] {
            let tree = format!("{TREE}{left_out} v0.3.7\n");
            let found = judge(&build(100), &parse(&tree));
            assert!(matches!(found, Err(XtaskError::LeftOut { found, .. }) if found == left_out));
        }
    }
}
