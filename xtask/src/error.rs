//! The error of development tasks.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::arch::Violation;
use crate::pages::Fault;
use crate::sizes::Large;

/// Why a development task failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum XtaskError {
    #[error("unknown command `{found}`\n\n{}", crate::USAGE)]
    Usage { found: String },
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot start `{command}`: {source}")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error("`{command}`: expected success, found {status}")]
    Failed { command: String, status: ExitStatus },
    #[error("expected a module of WebAssembly for JavaScript: {reason}")]
    Bindings { reason: String },
    #[error("cargo metadata: {0}")]
    Metadata(#[from] serde_json::Error),
    #[error("{}: expected what `cargo xtask cuda --write`, `go --write`, `gpu --page`, `figures` or `web --real` writes, found another text", path.display())]
    Stale { path: PathBuf },
    #[error("expected Go files as gofmt writes them, found others: {found}")]
    Unformatted { found: String },
    #[error("{}: expected CUDA's compiler below it, found none", path.display())]
    NoCompiler { path: PathBuf },
    #[error("{}: expected the line `{expected}`", path.display())]
    Marker {
        path: PathBuf,
        expected: &'static str,
    },
    #[error("figures: expected the figure {name}, found none")]
    Figure { name: String },
    #[error("expected an arrow such as `ring <- kernels`, found `{found}`")]
    Arrow { found: String },
    #[error("{}", list(.0))]
    Architecture(Vec<Violation>),
    #[error("{}", list(.0))]
    Pages(Vec<Fault>),
    #[error("{}", list(.0))]
    Large(Vec<Large>),
    #[error(
        "omr with features {features:?}: expected at most {most} crates, found {found}: cargo tree shows them"
    )]
    Crates {
        features: &'static str,
        most: usize,
        found: usize,
    },
    #[error(
        "omr with features {features:?}: expected that it leaves {found} out, found it: cargo tree -i {found} shows why"
    )]
    LeftOut {
        features: &'static str,
        found: String,
    },
    #[error("the list of crates: expected {expected}, found none")]
    Unlisted { expected: String },
    #[error("the wheel: expected at most {most} bytes, found {found}")]
    Wheel { most: u64, found: u64 },
    #[error("the wheel: {0}")]
    Zip(#[from] zip::result::ZipError),
    #[error("OMR_REQUIRE: expected {absent}, found none")]
    Required { absent: &'static str },
    #[error(
        "{}: the protocol has grown since it was accepted, and breaks no client: `cargo xtask proto --accept` renews it",
        path.display()
    )]
    Baseline { path: PathBuf },
    #[error("buf breaking: expected it to find a changed field number, found {status}")]
    BreakNotFound { status: ExitStatus },
    #[error("cargo build: expected the executable `{expected}`, found none")]
    NotBuilt { expected: &'static str },
    #[error("tests: expected a line within {} s, found none; the last line names what hangs", limit.as_secs())]
    Silent { limit: std::time::Duration },
    #[error("expected one of the targets {known}, found `{found}`")]
    Target { known: String, found: String },
    #[error("rustc -vV: expected a line `host:`, found none")]
    Host,
    #[error("inputs that break a target; each runs again by\n  {}", found.join("\n  "))]
    Fuzz { found: Vec<String> },
    #[error("{name}: expected a licence in its manifest or beside it, found none")]
    NoLicence { name: String },
    #[error("packaging/helm/omr/Chart.yaml: expected the line `{expected}`")]
    Chart { expected: String },
    #[error("{}: expected that its signature is refused, as it was changed, found it accepted", path.display())]
    Unsigned { path: PathBuf },
    #[error("{package}: expected {expected}, found none")]
    Incomplete { package: String, expected: String },
    #[error("{package}, packed: expected {expected}, found {found}")]
    Packed {
        package: String,
        expected: String,
        found: String,
    },
    #[error(
        "{package}: expected a version that was published before {before}, found {found}; `cargo update -p NAME --precise VERSION` takes an older one"
    )]
    Young {
        package: String,
        before: String,
        found: String,
    },
    #[error("tag: expected {expected}, as in Cargo.toml, found {found}")]
    Tag { expected: String, found: String },
    #[error("CHANGELOG.md: expected the line `{expected}`, found {found}")]
    Changelog { expected: String, found: String },
    #[error("expected that {tag} is checked out, found {found}")]
    Checkout { tag: String, found: String },
    #[error("expected what was committed and nothing else, found\n{found}")]
    Changed { found: String },
    #[error("no test ran")]
    NoTests,
    #[error("{}: expected two hexadecimal digits a byte, found otherwise at digit {at}", path.display())]
    Hex { path: PathBuf, at: usize },
    #[error("{}: expected a copy of {expected}, found none; is the registry reachable?", path.display())]
    NoSource {
        path: PathBuf,
        expected: &'static str,
    },
    #[error("{}: expected {expected} bytes as from the origin, found {found} or others", path.display())]
    DataDiffers {
        path: PathBuf,
        expected: usize,
        found: usize,
    },
}

impl XtaskError {
    /// For `map_err`: names the file that an input or output error is about.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        |source| Self::Io { path, source }
    }
}

fn list(found: &[impl std::fmt::Display]) -> String {
    found.iter().map(|one| format!("\n  {one}")).collect()
}
