//! Checks the dependencies between crates against the drawing in ARCHITECTURE.md.

mod arrows;
mod dependencies;
mod harness;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::ci::{cargo_command, printed};
use crate::error::XtaskError;
use workspace::{Crate, Use};

/// The only crates with room for `unsafe`: row operations, calls of a card's driver, a number of the allocator, and two lines
/// that speak to valgrind.
const UNSAFE_ROOMS: [&str; 4] = ["cuda", "kernels", "marks", "memory"];
/// The trust boundary: the first crate never reaches the second one, even if arrows were drawn.
const BOUNDARY: (&str, &str) = ("detector", "client");
/// Every external crate with its reason.
const REASONS: &str = "docs/dependencies.md";
const FORBID_UNSAFE: &str = "#![forbid(unsafe_code)]";

/// For each crate, without the prefix `omr-`, the crates that it may depend on.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// A departure from the drawn architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A dependency along no arrow.
    Undrawn { from: String, to: String, dev: bool },
    /// A crate that the drawing lacks.
    Missing { name: String },
    /// A crate that only the drawing has.
    Unknown { name: String },
    /// A crate of the product that depends on one of the evidence.
    Evidence { from: String, to: String },
    /// A path across the trust boundary.
    Boundary { path: Vec<String> },
    /// An external crate without an item in docs/dependencies.md.
    Unexplained { from: String, to: String },
    /// An item there without a crate.
    Unused { name: String },
    /// A root file that does not forbid `unsafe`.
    Unsafe { root: PathBuf },
    /// A root file whose `test` or `doctest` is other than what its folder holds.
    Harness {
        root: PathBuf,
        key: &'static str,
        expected: bool,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undrawn { from, to, dev } => {
                let kind = if *dev { " (for tests)" } else { "" };
                write!(
                    f,
                    "{from} depends on {to}{kind}, expected `{from} <- {to}` in the arrows"
                )
            }
            Self::Missing { name } => write!(f, "expected a line `{name} <-` in the arrows"),
            Self::Unknown { name } => write!(f, "the arrows name `{name}`, found no such crate"),
            Self::Evidence { from, to } => {
                write!(
                    f,
                    "{from} depends on {to}, expected no crate of evidence/ in the product"
                )
            }
            Self::Boundary { path } => {
                write!(f, "the trust boundary is crossed: {}", path.join(" uses "))
            }
            Self::Unexplained { from, to } => {
                write!(f, "{from} depends on {to}, expected its item in {REASONS}")
            }
            Self::Unused { name } => write!(f, "{REASONS} lists `{name}`, found no use of it"),
            Self::Harness {
                root,
                key,
                expected,
            } => write!(
                f,
                "{}: expected `{key} = {expected}` in its Cargo.toml, found otherwise in its files",
                root.display()
            ),
            Self::Unsafe { root } => write!(f, "{}: expected {FORBID_UNSAFE}", root.display()),
        }
    }
}

/// Compares the workspace with the arrows drawn in ARCHITECTURE.md and the reasons in docs/dependencies.md.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let mut command = cargo_command(root, &["metadata", "--no-deps", "--format-version", "1"]);
    command.stderr(std::process::Stdio::inherit());
    let crates = workspace::parse(&printed(&mut command)?)?;
    let arrows = arrows::read(&root.join("ARCHITECTURE.md"))?;
    let mut violations = compare(&crates, &arrows);
    let listed = dependencies::read(&root.join(REASONS))?;
    violations.extend(dependencies::compare(&crates, &listed));
    violations.extend(unsafe_roots(&crates)?);
    violations.extend(harness::check(&crates)?);
    if violations.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Architecture(violations))
    }
}

/// The part of the file at `path` between two markers.
fn between<'a>(
    path: &Path,
    text: &'a str,
    open: &'static str,
    close: &'static str,
) -> Result<&'a str, XtaskError> {
    let marker = |expected| XtaskError::Marker {
        path: path.to_path_buf(),
        expected,
    };
    let (_, rest) = text.split_once(open).ok_or_else(|| marker(open))?;
    let (block, _) = rest.split_once(close).ok_or_else(|| marker(close))?;
    Ok(block)
}

/// Everything in which `crates` depart from `arrows`.
fn compare(crates: &[Crate], arrows: &Arrows) -> Vec<Violation> {
    let mut violations: Vec<_> = crates
        .iter()
        .flat_map(|from| undrawn(from, arrows))
        .chain(crates.iter().flat_map(|from| of_evidence(from, crates)))
        .chain(boundary(crates))
        .collect();
    let exists = |name: &str| crates.iter().any(|found| found.name == name);
    for found in crates
        .iter()
        .filter(|found| found.ours && !arrows.contains_key(&found.name))
    {
        violations.push(Violation::Missing {
            name: found.name.clone(),
        });
    }
    let drawn: BTreeSet<&String> = arrows.keys().chain(arrows.values().flatten()).collect();
    for name in drawn.into_iter().filter(|name| !exists(name)) {
        violations.push(Violation::Unknown { name: name.clone() });
    }
    violations
}

fn undrawn(from: &Crate, arrows: &Arrows) -> Vec<Violation> {
    let drawn = arrows.get(&from.name);
    let allowed = |used: &Use| {
        drawn.is_some_and(|drawn| drawn.contains(&used.name))
            || (used.dev && used.name == from.name)
    };
    let undrawn = from.uses.iter().filter(|used| !allowed(used));
    let violation = |used: &Use| Violation::Undrawn {
        from: from.name.clone(),
        to: used.name.clone(),
        dev: used.dev,
    };
    undrawn.map(violation).collect()
}

/// Dependencies of a crate outside the evidence on crates of it, whatever is drawn.
fn of_evidence(from: &Crate, crates: &[Crate]) -> Vec<Violation> {
    if from.evidence {
        return Vec::new();
    }
    let is_evidence = |used: &&Use| {
        crates
            .iter()
            .any(|found| found.evidence && found.name == used.name)
    };
    let uses = from.uses.iter().filter(is_evidence);
    uses.map(|used| Violation::Evidence {
        from: from.name.clone(),
        to: used.name.clone(),
    })
    .collect()
}

/// A path of dependencies across the trust boundary, if there is one.
fn boundary(crates: &[Crate]) -> Option<Violation> {
    let (start, end) = BOUNDARY;
    let mut paths = vec![vec![start.to_string()]];
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop() {
        let name = &path[path.len() - 1];
        if name == end {
            return Some(Violation::Boundary { path });
        }
        if !seen.insert(name.clone()) {
            continue;
        }
        for from in crates.iter().filter(|from| from.name == *name) {
            // Test dependencies do not travel: only those of the start count.
            let uses = from.uses.iter().filter(|used| !used.dev || name == start);
            paths.extend(uses.map(|used| [path.clone(), vec![used.name.clone()]].concat()));
        }
    }
    None
}

fn unsafe_roots(crates: &[Crate]) -> Result<Vec<Violation>, XtaskError> {
    let mut violations = Vec::new();
    for root in crates
        .iter()
        .filter(|c| !UNSAFE_ROOMS.contains(&c.name.as_str()))
        .flat_map(|c| &c.roots)
        .map(|root| &root.path)
    {
        let text = std::fs::read_to_string(root).map_err(XtaskError::io(root))?;
        if !forbids_unsafe(&text) {
            violations.push(Violation::Unsafe { root: root.clone() });
        }
    }
    Ok(violations)
}

fn forbids_unsafe(root: &str) -> bool {
    root.lines().any(|line| line.trim() == FORBID_UNSAFE)
}

#[cfg(test)]
mod tests;
