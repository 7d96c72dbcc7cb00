//! Commands that only measure and print: `omr-lab bench clues`, `decode`, `places`, `stream` and `windows`.

use super::{Output, enough_messages, just_pertinent};
use crate::error::LabError;
use crate::measure::{self, DecodeBench, Start, StreamBench, attacks};
use clap::Args;
use omr_console::{ConsoleError, start_threads};
use omr_protocol::params::{DEFAULT, SOPHOMR, SetSpec};
use omr_protocol::rounds::RoundsParams;
use omr_protocol::{ClueParams, ParamSet, ParamsError};

#[derive(Args)]
pub(crate) struct BenchClues {
    /// Recipients with fresh keys
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    keys: u32,
    /// Seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Parameter set, with SophOMR
    #[arg(long, value_name = "NAME", default_value = SOPHOMR)]
    params: String,
}

#[derive(Args)]
pub(crate) struct BenchWindows {
    /// Clues of each kind
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    clues: u64,
    /// Seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
}

#[derive(Args)]
pub(crate) struct BenchPlaces {
    /// Pages with random seeds; one query of each kind for each
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pages: u64,
    #[command(flatten)]
    start: Start,
    /// Parameter set, with two rounds
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
}

pub(super) fn clues(args: &BenchClues, out: &Output<'_>) -> Result<(), LabError> {
    let set = SetSpec::named(&args.params)?;
    let params = ClueParams::named(&args.params)?;
    let spec = set.sophomr.ok_or_else(|| ParamsError::NoEngine {
        name: args.params.clone(),
        expected: "SophOMR",
    })?;
    out.show(&attacks(&params, &spec, args.keys as usize, args.seed)?)
}

pub(super) fn windows(args: &BenchWindows, out: &Output<'_>) -> Result<(), LabError> {
    let set = ParamSet::named(&args.params)?;
    out.show(&measure::windows(set.instantomr()?, args.clues, args.seed)?)
}

pub(super) fn places(args: &BenchPlaces, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(args.start.threads)?;
    let params = RoundsParams::named(&args.params)?;
    out.show(&measure::places(&params, args.pages, args.start.seed))
}

pub(super) fn decode(bench: &DecodeBench, out: &Output<'_>) -> Result<(), LabError> {
    enough_messages(bench.setting.messages, bench.setting.shape.bound + 1)?;
    start_threads(bench.setting.start.threads)?;
    out.show(&out.under_bar(|bar| bench.run(bar))?)
}

pub(super) fn stream(bench: &StreamBench, out: &Output<'_>) -> Result<(), LabError> {
    let steady = |x: f64| x.is_finite() && x > 0.0;
    if !steady(bench.rate) || !steady(bench.seconds) || bench.rate * bench.seconds > 1e8 {
        return Err(LabError::Rate);
    }
    start_threads(bench.start.threads)?;
    let parent = bench.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("omr-stream-")
        .tempdir_in(&parent)
        .map_err(|error| ConsoleError::write(&parent, error))?;
    let figures = out.under_bar(|bar| bench.run(&folder.path().join("session"), bar))?;
    out.show(&figures)?;
    just_pertinent(figures.pertinent, figures.exact, figures.false_positives)
}
