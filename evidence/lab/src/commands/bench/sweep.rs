//! `omr-lab bench sweep`.

use super::Output;
use crate::commands::chart::{COLOURS, Chart, Line, SeriesLabelPosition, side_by_side};
use crate::commands::output::{csv, with_unit, write_picture};
use crate::error::LabError;
use crate::measure::{BuildError, median, printed};
use clap::{ArgGroup, Args};
use omr_console::args::{bound, messages, payload_bytes, threads};
use omr_console::files;
use omr_detector::Progress;
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

#[derive(Args)]
#[command(group = ArgGroup::new("axes").args(["messages", "bound", "payload_bytes", "threads"]).required(true).multiple(true))]
pub(crate) struct BenchSweep {
    /// Messages on the board; several numbers separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = messages())]
    messages: Vec<u64>,
    /// Pertinent messages that a digest may carry; several numbers separated by commas
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = bound())]
    bound: Vec<u32>,
    /// Bytes of a payload; several numbers separated by commas
    #[arg(long, value_name = "B", value_delimiter = ',', value_parser = payload_bytes())]
    payload_bytes: Vec<u32>,
    /// Threads to work on; several numbers separated by commas
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = threads())]
    threads: Vec<u16>,
    /// Runs of each combination
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Draw the medians of the runs into this file, over the first option with several numbers
    #[arg(long, value_name = "SVG")]
    svg: Option<PathBuf>,
    /// Figure that is drawn, by its name in the output
    #[arg(
        long,
        value_name = "FIGURE",
        default_value = "digest_s",
        requires = "svg"
    )]
    figure: String,
    /// Benchmark with its other options, as after `omr-lab bench`
    #[arg(last = true, value_name = "COMMAND", default_values = ["digest"])]
    command: Vec<String>,
}

/// An option of the benchmark with its values.
struct Axis {
    /// The name of the option, and of the field that contains its value.
    field: &'static str,
    /// The name beside an axis of a picture.
    title: &'static str,
    values: Vec<u64>,
}

/// One run of the benchmark.
struct Run {
    /// The values of the axes.
    at: Vec<u64>,
    /// The printed figures.
    figures: Value,
}

pub(super) fn run(args: &BenchSweep, out: &Output<'_>) -> Result<(), LabError> {
    let axes = args.axes();
    let points = product(&axes);
    let runs = out.under_bar(|bar| {
        bar.stage("runs", points.len() as u64 * u64::from(args.runs));
        args.all(&axes, &points, out, || bar.advance(1))
    })?;
    if let Some(path) = &args.svg {
        write_picture(path, args.picture(&axes, &runs))?;
    }
    if out.json {
        return Ok(());
    }
    let fields: Vec<&str> = axes.iter().map(|axis| axis.field).collect();
    let rows: Vec<Value> = runs.into_iter().map(|run| run.figures).collect();
    Ok(files::print(&csv(&rows, &fields)?)?)
}

impl BenchSweep {
    /// Returns the options that were given.
    fn axes(&self) -> Vec<Axis> {
        let numbers = |values: &[u32]| values.iter().copied().map(u64::from).collect();
        let mut axes = vec![
            Axis {
                field: "messages",
                title: "messages",
                values: self.messages.clone(),
            },
            Axis {
                field: "bound",
                title: "bound",
                values: numbers(&self.bound),
            },
            Axis {
                field: "payload_bytes",
                title: "bytes of a payload",
                values: numbers(&self.payload_bytes),
            },
            Axis {
                field: "threads",
                title: "threads",
                values: self.threads.iter().copied().map(u64::from).collect(),
            },
        ];
        axes.retain(|axis| !axis.values.is_empty());
        axes
    }

    /// Runs the benchmark at all points, in processes of its own; with `--json` each run is printed at once.
    fn all(
        &self,
        axes: &[Axis],
        points: &[Vec<u64>],
        out: &Output<'_>,
        advance: impl Fn(),
    ) -> Result<Vec<Run>, LabError> {
        let program = std::env::current_exe().map_err(|source| BuildError::Start {
            path: "omr-lab".into(),
            source,
        })?;
        let mut runs = Vec::new();
        for at in points {
            let mut arguments = vec!["bench".to_owned()];
            arguments.extend(self.command.iter().cloned());
            for (axis, value) in axes.iter().zip(at) {
                let option = axis.field.replace('_', "-");
                arguments.extend([format!("--{option}"), value.to_string()]);
            }
            for _ in 0..self.runs {
                for figures in printed(&program, &arguments)? {
                    if self.svg.is_some() {
                        self.figure_of(&figures)?;
                    }
                    if out.json {
                        out.show(&figures)?;
                    }
                    let at = at.clone();
                    runs.push(Run { at, figures });
                }
                advance();
            }
        }
        Ok(runs)
    }

    /// Returns the drawn figure of a run.
    ///
    /// Errors: `Figure` if the benchmark does not print it.
    fn figure_of(&self, figures: &Value) -> Result<f64, LabError> {
        let pointer = format!("/{}", self.figure.replace('.', "/"));
        let found = figures.pointer(&pointer).and_then(Value::as_f64);
        found.ok_or_else(|| {
            let fields = figures.as_object().into_iter().flatten();
            let numbers = fields.filter(|(_, value)| value.is_number());
            let names: Vec<&str> = numbers.map(|(name, _)| name.as_str()).collect();
            LabError::Figure {
                expected: names.join(", "),
                found: self.figure.clone(),
            }
        })
    }

    /// Draws the figure over the first axis with several values, with a line for each combination of the others.
    fn picture(&self, axes: &[Axis], runs: &[Run]) -> Result<String, Box<dyn Error>> {
        let across = axes
            .iter()
            .position(|axis| axis.values.len() > 1)
            .unwrap_or(0);
        let mut lines: BTreeMap<Vec<u64>, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
        for run in runs {
            let mut others = run.at.clone();
            let x = others.remove(across);
            let line = lines.entry(others).or_default();
            line.entry(x)
                .or_default()
                .push(self.figure_of(&run.figures)?);
        }
        let names: Vec<&str> = axes.iter().map(|axis| axis.title).collect();
        let mut drawn = Vec::new();
        for (number, (others, values)) in lines.into_iter().enumerate() {
            let medians = values.into_iter().map(|(x, ys)| (x as f64, median(ys)));
            let points: Vec<(f64, f64)> = medians.collect();
            drawn.push(Line {
                name: line_name(&names, across, &others),
                colour: COLOURS[number % COLOURS.len()],
                width: 2,
                measured: points.clone(),
                points,
            });
        }
        let points = || drawn.iter().flat_map(|line| &line.points);
        let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let axes = (
            least(|point| point.0)..most(|point| point.0) * 1.01,
            least(|point| point.1) / 1.5..most(|point| point.1) * 3.0,
        );
        let chart = Chart {
            caption: &self.command.join(" "),
            over: names[across],
            up: &with_unit(&self.figure),
            axes,
            names: SeriesLabelPosition::UpperLeft,
            lines: drawn,
        };
        side_by_side(&[chart], 760, 480)
    }
}

/// Returns the name of a line, from the names of all axes but that across and from their values.
fn line_name(names: &[&str], across: usize, values: &[u64]) -> String {
    let mut names = names.to_vec();
    let name = names.remove(across);
    if names.is_empty() {
        return format!("by {name}");
    }
    let parts: Vec<String> = names
        .iter()
        .zip(values)
        .map(|(name, value)| format!("{value} {name}"))
        .collect();
    parts.join(", ")
}

/// Returns all combinations of the axes' values; those of the last axis follow each other.
fn product(axes: &[Axis]) -> Vec<Vec<u64>> {
    let mut points = vec![Vec::new()];
    for axis in axes {
        let longer = |point: &Vec<u64>| -> Vec<Vec<u64>> {
            let with = |value: &u64| point.iter().chain([value]).copied().collect();
            axis.values.iter().map(with).collect()
        };
        points = points.iter().flat_map(longer).collect();
    }
    points
}
