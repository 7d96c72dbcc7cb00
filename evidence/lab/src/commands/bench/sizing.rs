//! `omr-lab bench sizing`.

use super::Output;
use crate::error::LabError;
use crate::measure::sizing::{Load, MeasuredCosts, Sizing};
use clap::Args;
use omr_console::args::threads;
use omr_console::{ConsoleError, start_threads};
use omr_protocol::ParamSet;
use omr_protocol::params::DEFAULT;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The costs of the machine of docs/performance.md.
const COSTS: &str = include_str!("measured.json");
/// The file of these costs.
const COSTS_PATH: &str = "docs/measured.json";

#[derive(Args)]
pub(crate) struct BenchSizing {
    #[command(flatten)]
    load: Load,
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
    /// Costs measured before, as --save writes them; docs/measured.json unless given
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    costs: Option<PathBuf>,
    /// Measure the costs on this machine: about a minute
    #[arg(long)]
    measure: bool,
    /// Write the measured costs into this file
    #[arg(long, value_name = "FILE", requires = "measure")]
    save: Option<PathBuf>,
    /// The yardstick on the target machine, in microseconds: times are scaled by it
    #[arg(long, value_name = "US", conflicts_with = "measure")]
    yardstick_us: Option<f64>,
    /// Threads to measure with
    #[arg(long, value_name = "T", default_value_t = 1, requires = "measure", value_parser = threads())]
    threads: u16,
}

pub(super) fn run(args: &BenchSizing, out: &Output<'_>) -> Result<(), LabError> {
    if args.measure {
        // First, because threads are started only once.
        start_threads(Some(args.threads))?;
    }
    let set = ParamSet::named(&args.params)?;
    let costs = match (args.measure, &args.costs) {
        (true, _) => measure(args, &set, out)?,
        (false, Some(path)) => read(
            path,
            &std::fs::read_to_string(path)
                .map_err(|source| LabError::Unread(path.clone(), source))?,
            &set,
        )?,
        (false, None) => read(Path::new(COSTS_PATH), COSTS, &set)?,
    };
    let slower = slower(args, &costs)?;
    out.show(&Sizing::new(&set, args.load, costs, slower)?)
}

fn read(path: &Path, text: &str, set: &ParamSet) -> Result<MeasuredCosts, LabError> {
    let other = || LabError::Sizing {
        path: path.to_owned(),
        expected: set.name().to_owned(),
    };
    let costs: MeasuredCosts = serde_json::from_str(text).map_err(|_| other())?;
    if costs.is_sound() && costs.params == set.name() {
        Ok(costs)
    } else {
        Err(other())
    }
}

fn measure(
    args: &BenchSizing,
    set: &ParamSet,
    out: &Output<'_>,
) -> Result<MeasuredCosts, LabError> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let command = format!(
        "omr-lab bench sizing --measure --params {} --threads {}",
        set.name(),
        args.threads
    );
    let measured = out.under_bar(|bar| MeasuredCosts::measure(set, command, now, 1, bar))?;
    if let Some(path) = &args.save {
        let text =
            serde_json::to_string_pretty(&measured).map_err(|e| ConsoleError::Output(e.into()))?;
        omr_console::write_result(path, (text + "\n").as_bytes())?;
    }
    Ok(measured)
}

/// Returns the factor by which the target machine is slower.
fn slower(args: &BenchSizing, costs: &MeasuredCosts) -> Result<f64, LabError> {
    let Some(there) = args.yardstick_us else {
        return Ok(1.0);
    };
    let path = args.costs.as_deref().unwrap_or(Path::new(COSTS_PATH));
    match costs.yardstick_us {
        Some(here) if there.is_finite() && there > 0.0 => Ok(there / here),
        _ => Err(LabError::NoYardstick(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> ParamSet {
        ParamSet::named(DEFAULT).expect("published")
    }

    #[test]
    fn the_costs_of_the_documentation_are_sound() {
        let costs = read(Path::new(COSTS_PATH), COSTS, &set()).expect("costs");
        assert_eq!(costs.params, DEFAULT);
        assert!(costs.batch_core_s > costs.message_core_s);
    }

    #[test]
    fn other_costs_are_refused() {
        for (from, to) in [
            (DEFAULT, "insecure-tiny-v4"),
            ("costs 1", "costs 2"),
            ("18.39", "-1"),
            ("{", "["),
        ] {
            let text = COSTS.replacen(from, to, 1);
            assert_ne!(text, COSTS);
            let refused = read(Path::new("costs.json"), &text, &set());
            assert!(matches!(refused, Err(LabError::Sizing { .. })));
        }
    }
}
