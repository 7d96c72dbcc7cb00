//! The workspace's crates and dependencies, read from Cargo's metadata.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::XtaskError;

/// Prefix of the crates that the drawing is about, and the name of the one without it.
const PREFIX: &str = "omr-";
const FACADE: &str = "omr";
/// The folder of crates that measure, test and compare.
const EVIDENCE: &str = "evidence";

/// A member of the workspace.
#[derive(Debug)]
pub(super) struct Crate {
    /// The name without its prefix.
    pub(super) name: String,
    /// Whether the crate has the prefix, so has to be drawn.
    pub(super) ours: bool,
    /// Whether the crate lies in the folder of the evidence.
    pub(super) evidence: bool,
    /// Dependencies on crates with the prefix.
    pub(super) uses: Vec<Use>,
    /// Other crates that it names.
    pub(super) external: BTreeSet<String>,
    /// Root files of the library and the commands.
    pub(super) roots: Vec<Root>,
}

/// The root file of a library or a command, and whether Cargo looks for tests and examples in it.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) library: bool,
    pub(super) test: bool,
    pub(super) doctest: bool,
}

#[derive(Debug)]
pub(super) struct Use {
    pub(super) name: String,
    /// Whether only tests, benches and examples have the dependency.
    pub(super) dev: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
    test: bool,
    doctest: bool,
}

/// Reads the output of `cargo metadata --no-deps`.
pub(super) fn parse(metadata: &[u8]) -> Result<Vec<Crate>, XtaskError> {
    let metadata: Metadata = serde_json::from_slice(metadata)?;
    Ok(metadata.packages.into_iter().map(Crate::from).collect())
}

impl From<Target> for Root {
    fn from(target: Target) -> Self {
        Self {
            library: target.kind.iter().any(|kind| kind == "lib"),
            path: target.src_path,
            test: target.test,
            doctest: target.doctest,
        }
    }
}

/// The name of one of our crates in the drawing.
fn drawn(name: &str) -> Option<&str> {
    if name == FACADE {
        Some(name)
    } else {
        name.strip_prefix(PREFIX)
    }
}

impl From<Package> for Crate {
    fn from(package: Package) -> Self {
        let short = drawn(&package.name);
        let other = |name: &String| drawn(name).is_none();
        let names = package.dependencies.iter().map(|found| found.name.clone());
        let external = names.filter(other).collect();
        let uses = package.dependencies.iter().filter_map(|found| {
            let name = drawn(&found.name)?.to_string();
            Some(Use {
                name,
                dev: found.kind.as_deref() == Some("dev"),
            })
        });
        let is_root = |target: &Target| {
            target
                .kind
                .iter()
                .any(|kind| kind == "lib" || kind == "bin")
        };
        let targets = package.targets.into_iter().filter(is_root);
        Self {
            name: short.unwrap_or(&package.name).to_string(),
            ours: short.is_some(),
            evidence: package
                .manifest_path
                .components()
                .rev()
                .nth(2)
                .is_some_and(|folder| folder.as_os_str() == EVIDENCE),
            uses: uses.collect(),
            external,
            roots: targets.map(Root::from).collect(),
        }
    }
}
