//! `omr-lab bench cluster`.

use super::Output;
use crate::commands::chart::{COLOURS, Chart, Line, SeriesLabelPosition, side_by_side};
use crate::commands::output::write_picture;
use crate::error::LabError;
use crate::measure::cluster::{ClusterCosts, Load, Nodes, Policy, Prices, Real, Simulation};
use crate::measure::{Shape, Start};
use clap::{Args, Subcommand};
use omr_console::{ConsoleError, start_threads};
use omr_protocol::ParamSet;
use omr_protocol::params::DEFAULT;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The number of batches of the board on which costs are measured.
const BATCHES: usize = 2;

#[derive(Subcommand)]
pub(crate) enum BenchCluster {
    /// The costs of units of work on this machine: about six minutes of a core at full size
    Measure(Measure),
    /// Nodes, queues, network, storage and prices for a load, run by run, from measured costs
    Simulate(Simulate),
    /// Real queues with one worker, beside the simulation's prediction
    Compare(Compare),
}

/// The subject of the measurement.
#[derive(Args)]
struct Subject {
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    start: Start,
    /// Parameter set with SophOMR
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
    /// Recipients of one run
    #[arg(long, value_name = "T", default_value_t = 8, value_parser = clap::value_parser!(u8).range(2..=8))]
    together: u8,
}

#[derive(Args)]
pub(crate) struct Measure {
    #[command(flatten)]
    subject: Subject,
    /// Write the costs into this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    nodes: Nodes,
    #[command(flatten)]
    prices: Prices,
    /// Costs as `measure --save` writes them
    #[arg(long, value_name = "FILE")]
    costs: PathBuf,
    /// When digests are made; all policies unless given
    #[arg(long, value_enum)]
    policy: Vec<Policy>,
    /// Seed of the times at which recipients ask
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Draw cores over recipients into this file
    #[arg(long, value_name = "SVG")]
    svg: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    subject: Subject,
    /// Recipients of the queues
    #[arg(long, value_name = "R", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=256))]
    recipients: u16,
    /// Batches of the queues
    #[arg(long, value_name = "B", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    batches: u16,
    /// Costs as `measure --save` writes them; measured before unless given
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
}

pub(super) fn run(command: &BenchCluster, out: &Output<'_>) -> Result<(), LabError> {
    match command {
        BenchCluster::Measure(args) => measure(args, out),
        BenchCluster::Simulate(args) => simulate(args, out),
        BenchCluster::Compare(args) => compare(args, out),
    }
}

impl Subject {
    fn costs(&self, out: &Output<'_>) -> Result<ClusterCosts, LabError> {
        let set = ParamSet::named(&self.params)?;
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let command = format!(
            "omr-lab bench cluster measure --params {} --threads {} --together {}",
            set.name(),
            rayon::current_num_threads(),
            self.together
        );
        let recipients = self.together.into();
        let costs = out.under_bar(|bar| {
            let mut real = Real::new(&set, recipients, BATCHES, self.shape, self.start.seed, bar)?;
            real.costs(command, now)
        });
        Ok(costs?)
    }
}

fn measure(args: &Measure, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(args.subject.start.threads)?;
    let costs = args.subject.costs(out)?;
    if let Some(path) = &args.save {
        let text = serde_json::to_string_pretty(&costs)
            .map_err(|error| ConsoleError::Output(error.into()))?;
        omr_console::write_result(path, (text + "\n").as_bytes())?;
    }
    out.show(&costs)
}

fn compare(args: &Compare, out: &Output<'_>) -> Result<(), LabError> {
    let subject = &args.subject;
    start_threads(subject.start.threads)?;
    let costs = match &args.costs {
        Some(path) => read(path, Some(&subject.params))?,
        None => subject.costs(out)?,
    };
    let set = ParamSet::named(&subject.params)?;
    let (recipients, batches) = (args.recipients.into(), args.batches.into());
    let (shape, seed) = (subject.shape, subject.start.seed);
    let compared = out.under_bar(|bar| {
        let mut real = Real::new(&set, recipients, batches, shape, seed, bar)?;
        real.compare(&costs.units)
    });
    compared?.iter().try_for_each(|queue| out.show(queue))
}

fn simulate(args: &Simulate, out: &Output<'_>) -> Result<(), LabError> {
    let costs = read(&args.costs, None)?;
    let policies = match &args.policy[..] {
        [] => &Policy::ALL[..],
        some => some,
    };
    let of = |load: Load| {
        let costs = costs.clone();
        Simulation::new(policies, load, args.nodes, costs, &args.prices, args.seed)
    };
    let simulated = of(args.load);
    if let Some(path) = &args.svg {
        let fewer = [1000, 100, 10]
            .map(|part| args.load.recipients / part)
            .into_iter()
            .filter(|recipients| *recipients > 0);
        let mut all: Vec<Simulation> = fewer
            .map(|recipients| {
                of(Load {
                    recipients,
                    ..args.load
                })
            })
            .collect();
        all.push(simulated.clone());
        write_picture(path, picture(&all))?;
    }
    out.show(&simulated)
}

/// Reads costs from a file, and checks the parameter set if one is given.
fn read(path: &Path, params: Option<&str>) -> Result<ClusterCosts, LabError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| LabError::Unread(path.to_owned(), source))?;
    let other = || LabError::Sizing {
        path: path.to_owned(),
        expected: params.unwrap_or("a set with SophOMR").to_owned(),
    };
    let costs: ClusterCosts = serde_json::from_str(&text).map_err(|_| other())?;
    if costs.is_sound() && params.is_none_or(|params| params == costs.params) {
        Ok(costs)
    } else {
        Err(other())
    }
}

/// Draws the busy cores over recipients.
fn picture(all: &[Simulation]) -> Result<String, Box<dyn Error>> {
    let policies = all.last().map_or(&[][..], |last| &last.policies);
    let line = |(number, policy): (usize, &crate::measure::cluster::PolicySizing)| {
        let points: Vec<(f64, f64)> = all
            .iter()
            .map(|one| (one.load.recipients as f64, one.policies[number].cores_busy))
            .collect();
        Line {
            name: policy.policy.name().to_owned(),
            colour: COLOURS[number],
            width: 2,
            measured: points.clone(),
            points,
        }
    };
    let lines: Vec<Line> = policies.iter().enumerate().map(line).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let x = least(&mut points().map(|p| p.0))..most(&mut points().map(|p| p.0)) * 1.2;
    let y = least(&mut points().map(|p| p.1)) / 2.0..most(&mut points().map(|p| p.1)) * 2.0;
    let chart = Chart {
        caption: "Cores that work all the time",
        over: "recipients",
        up: "cores",
        axes: (x, y),
        names: SeriesLabelPosition::UpperLeft,
        lines,
    };
    side_by_side(&[chart], 760, 480)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: &str = r#"{"format": "omr cluster costs 2", "command": "", "date": "",
        "machine": {"cpu": "", "cores": 2, "kernels": "avx2"}, "params": "hybrid-v4", "threads": 1,
        "batch_messages": 65536, "together": 8, "first_core_s": 21.1, "next_batch_core_s": 19.0,
        "further_core_s": 11.6, "further_next_batch_core_s": 11.0, "load_core_s": 0.3,
        "key_bytes": 129984275, "message_bytes": 3535, "digest_bytes": 41181, "memory_bytes": 6000000000, "message_core_s": 0.011,
        "rounds": {"scan_core_s": 0.64, "further_scan_core_s": 0.04, "fetch_core_s": 0.14,
        "further_fetch_core_s": 0.13, "page_core_s": 0.03, "load_core_s": 0.02, "page_messages": 1824,
        "block_messages": 512, "key_bytes": 13136146, "scan_bytes": 236824, "query_bytes": 206136,
        "answer_bytes": 51432, "page_bytes": 17108537, "memory_bytes": 500000000}}"#;

    #[test]
    fn costs_of_another_version_or_set_are_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let read = |text: &str, params| {
            std::fs::write(file.path(), text).expect("written");
            read(file.path(), params)
        };
        let costs = read(COSTS, Some(DEFAULT)).expect("sound costs");
        assert_eq!(costs.units.together, 8);
        for (from, to) in [
            ("costs 2", "costs 1"),
            ("21.1", "-21.1"),
            (DEFAULT, "insecure-tiny-v4"),
        ] {
            let refused = read(&COSTS.replacen(from, to, 1), Some(DEFAULT));
            assert!(matches!(refused, Err(LabError::Sizing { .. })), "{from}");
        }
    }
}
