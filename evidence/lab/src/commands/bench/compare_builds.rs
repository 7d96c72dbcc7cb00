//! `omr-lab bench compare-builds`.

use super::Output;
use crate::error::LabError;
use crate::measure::{BuildRatio, compare_builds};
use clap::Args;
use omr_detector::Progress;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct CompareBuilds {
    /// The build before: an omr with the developers' commands
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The build now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Command that both run, as after `omr-lab bench`
    #[arg(last = true, value_name = "COMMAND", default_values = ["digest", "--threads", "1"])]
    command: Vec<String>,
}

#[derive(Serialize)]
struct Comparison<'a> {
    old: &'a Path,
    new: &'a Path,
    command: String,
    rounds: u64,
    figures: Vec<BuildRatio>,
}

pub(super) fn run(args: &CompareBuilds, out: &Output<'_>) -> Result<(), LabError> {
    let builds = [args.old.as_path(), args.new.as_path()];
    let figures = out.under_bar(|bar| {
        bar.stage("runs", 2 * args.rounds);
        compare_builds(builds, &args.command, args.rounds as usize, || {
            bar.advance(1)
        })
    })?;
    out.show(&Comparison {
        old: &args.old,
        new: &args.new,
        command: args.command.join(" "),
        rounds: args.rounds,
        figures,
    })
}
