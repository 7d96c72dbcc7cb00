//! One message of InstantOMR beside bootstraps of tfhe-rs, on one thread, in one run:
//! `cargo run --release -p omr-lab --features peer,yardstick --example tfhe_peer [-- --json]`.
//!
//! The estimate is that of InstantOMR's paper for tfhe-rs: 7 bootstraps of the first layer, one key switch, one
//! bootstrap of the second layer, no trace.
#![forbid(unsafe_code)]

mod peer;

use omr_lab::measure::{BenchError, Figure, InstantUnits, Machine, median, yardstick_us};
use omr_protocol::instantomr::InstantParams;
use omr_protocol::params::DEFAULT;
use peer::{Bootstrap, Shape, Switch};
use serde::Serialize;
use std::time::Instant;

/// The number of rounds. In each round everything is measured in turn, between two measurements of the yardstick.
const ROUNDS: usize = 9;
/// The number of runs of a unit in a round; the median counts.
const RUNS: usize = 5;
/// The number of bootstraps of the first layer in the estimate.
const COORDINATES: f64 = 7.0;

/// The first layer of the estimate.
const FIRST: Shape = Shape {
    n: 630,
    noise: 3.1e-5,
    big_n: 1024,
    key_noise: 3.7e-9,
    gadget: (7, 3),
};
/// The second layer of the estimate.
const SECOND: Shape = Shape {
    n: 863,
    noise: 2.2e-6,
    big_n: 2048,
    key_noise: 2.8e-15,
    gadget: (25, 1),
};
/// The dimensions of InstantOMR's own second layer.
const OWN: Shape = Shape {
    n: 670,
    noise: 4.1e-5,
    gadget: (15, 2),
    ..SECOND
};
const OWN_SIX: Shape = Shape {
    gadget: (7, 6),
    ..OWN
};

/// A line of the table.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    /// The median of all rounds.
    #[serde(flatten)]
    figure: Figure,
    least_seconds: f64,
    most_seconds: f64,
    /// The ratio of the estimate to this figure, as the median of all rounds.
    estimate_ratio: f64,
}

/// The results of the whole run.
#[derive(Serialize)]
struct Report {
    machine: Machine,
    threads: usize,
    rounds: usize,
    rows: Vec<Row>,
}

/// The names of the lines, in the order of [`Units::round`].
const NAMES: [&str; 9] = [
    "yardstick NTT, 65,536 points",
    "tfhe-rs, n 630, N 1024, 2^7 x 3",
    "tfhe-rs, n 863, N 2048, 2^25 x 1",
    "tfhe-rs, n 670, N 2048, 2^15 x 2",
    "tfhe-rs, n 670, N 2048, 2^7 x 6",
    "tfhe-rs, key switch 1024 to 630",
    "InstantOMR on tfhe-rs, estimate",
    "our message, one in flight",
    "our message, 8 in flight",
];
const YARDSTICK: usize = 0;
const ESTIMATE: usize = 6;

struct Units {
    first: Bootstrap<u32>,
    /// The other bootstraps, with words of 64 bits.
    others: [Bootstrap<u64>; 3],
    switch: Switch,
    ours: InstantUnits,
}

impl Units {
    fn new() -> Result<Self, BenchError> {
        Ok(Self {
            first: Bootstrap::new(&FIRST),
            others: [&SECOND, &OWN, &OWN_SIX].map(Bootstrap::new),
            switch: Switch::new(),
            ours: InstantUnits::new(&InstantParams::named(DEFAULT)?, 8, Some(256), 21)?,
        })
    }

    /// Returns the seconds of everything, in the order of [`NAMES`].
    fn round(&mut self) -> Result<[f64; NAMES.len()], &'static str> {
        let yardstick = || yardstick_us().ok_or("expected a build with the yardstick");
        let before = yardstick()?;
        let first = seconds(|| self.first.run());
        let [second, own, own_six] = self.others.each_mut().map(|unit| seconds(|| unit.run()));
        let switch = seconds(|| self.switch.run());
        let one = seconds(|| self.ours.push(1));
        let eight = seconds(|| self.ours.push(8)) / 8.0;
        let yardstick = (before + yardstick()?) / 2e6;
        let estimate = COORDINATES * first + switch + second;
        Ok([
            yardstick, first, second, own, own_six, switch, estimate, one, eight,
        ])
    }
}

/// Returns the seconds of `work`: the median of several runs after one that is not measured.
fn seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    work();
    let run = |_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed().as_secs_f64()
    };
    median((0..RUNS).map(run))
}

fn row(rounds: &[[f64; NAMES.len()]], at: usize) -> Row {
    let seconds = || rounds.iter().map(|round| round[at]);
    let ntts = median(rounds.iter().map(|round| round[at] / round[YARDSTICK]));
    Row {
        name: NAMES[at],
        figure: Figure {
            seconds: median(seconds()),
            ntts: Some(ntts),
        },
        least_seconds: seconds().fold(f64::INFINITY, f64::min),
        most_seconds: seconds().fold(0.0, f64::max),
        estimate_ratio: median(rounds.iter().map(|round| round[ESTIMATE] / round[at])),
    }
}

fn measure() -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
    let mut units = Units::new()?;
    let rounds = (0..ROUNDS)
        .map(|_| units.round())
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Report {
        machine: Machine::here(units.ours.kernels()),
        threads: rayon::current_num_threads(),
        rounds: ROUNDS,
        rows: (0..NAMES.len()).map(|at| row(&rounds, at)).collect(),
    })
}

fn print(report: &Report) {
    let Machine { cpu, kernels, .. } = &report.machine;
    let Report {
        threads, rounds, ..
    } = report;
    println!("{cpu}, kernels {kernels}, {threads} thread, medians of {rounds} rounds\n");
    println!(
        "{:34} {:>9} {:>19} {:>9} {:>15}",
        "", "ms", "least - most", "NTTs", "estimate / this"
    );
    for row in &report.rows {
        let [least, most] = [row.least_seconds, row.most_seconds].map(|s| s * 1e3);
        println!(
            "{:34} {:9.3} {:>19} {:9.1} {:15.2}",
            row.name,
            row.figure.seconds * 1e3,
            format!("{least:.3} - {most:.3}"),
            row.figure.ntts.unwrap_or(f64::NAN),
            row.estimate_ratio
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let report = one.install(measure)?;
    if std::env::args().any(|arg| arg == "--json") {
        println!("{}", serde_json::to_string(&report)?)
    } else {
        print(&report)
    }
    Ok(())
}
