//! `omr-lab bench compare`.

use super::Output;
use crate::error::LabError;
use crate::measure::{Compared, Report};
use clap::Args;
use omr_console::files;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The size limit of a report, which none reaches.
const LIMIT: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct BenchCompare {
    /// Earlier output of `omr-lab bench all --json`; - is standard input
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// Present output of this command
    #[arg(value_name = "NEW")]
    new: PathBuf,
}

#[derive(Serialize)]
struct Comparison<'a> {
    old: &'a str,
    new: &'a str,
    figures: &'a [Compared],
}

pub(super) fn run(args: &BenchCompare, out: &Output<'_>) -> Result<(), LabError> {
    let (old, new) = (report(&args.old)?, report(&args.new)?);
    out.show(&Comparison {
        old: &old.build,
        new: &new.build,
        figures: &old.compare(&new)?,
    })
}

/// Reads the output of `omr-lab bench all --json`.
///
/// Errors: `Console`; `Report`.
pub(crate) fn report(path: &Path) -> Result<Report, LabError> {
    let bytes = files::read_file(path, LIMIT)?;
    serde_json::from_slice(&bytes).map_err(|source| LabError::Report(path.to_owned(), source))
}
