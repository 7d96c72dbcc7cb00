//! Compression alone.

use super::Output;
use crate::commands::chart::{COLOURS, Chart, Line, SeriesLabelPosition, side_by_side};
use crate::commands::output::write_picture;
use crate::error::LabError;
use crate::measure::Start;
use crate::measure::pdq::{
    CompressBench, CompressFigures, Params, PdqBenchError, bound, keys, rows,
};
use clap::Args;
use omr_console::{start_threads, thousands};
use std::error::Error;
use std::path::PathBuf;

#[derive(Args)]
#[command(mut_arg("threads", |arg| arg.default_value("1")))]
pub(crate) struct PdqCompress {
    /// Rows, each of one symbol; several sizes separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16384", value_parser = rows())]
    rows: Vec<usize>,
    /// Rows that are marked, which is also the bound; several separated by commas
    #[arg(long, value_name = "S", value_delimiter = ',', default_value = "8,32,128", value_parser = bound())]
    bounds: Vec<usize>,
    /// Runs of each, with the next seed each; that of median time is printed
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    start: Start,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = "pdq-v1")]
    params: String,
    /// Draw the times over rows, and over bounds, into this file
    #[arg(long, value_name = "SVG")]
    svg: Option<PathBuf>,
}

pub(super) fn run(args: &PdqCompress, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(args.start.threads)?;
    let params = Params::named(&args.params).map_err(PdqBenchError::from)?;
    let (secret, key) = keys(&params, args.start.seed);
    let mut all = Vec::new();
    for &rows in &args.rows {
        for &bound in &args.bounds {
            out.ui.note(&format!("{rows} rows, bound {bound}"));
            let run = |run: u32| {
                let bench = CompressBench {
                    params: params.clone(),
                    rows,
                    bound,
                    seed: args.start.seed.wrapping_add(run.into()),
                };
                bench.run(&secret, &key)
            };
            let runs = (0..args.runs).map(run).collect::<Result<Vec<_>, _>>()?;
            let figures = median_run(runs);
            out.show(&figures)?;
            all.push(figures);
        }
    }
    if let Some(path) = &args.svg {
        write_picture(path, picture(&all))?;
    }
    let exact = all.iter().filter(|figures| figures.exact).count();
    super::all_exact(exact as u64, all.len() as u64)
}

/// Returns the run of median time. It is exact only if all runs are.
fn median_run(mut runs: Vec<CompressFigures>) -> CompressFigures {
    let exact = runs.iter().all(|run| run.exact);
    runs.sort_by(|a, b| a.compress_s.total_cmp(&b.compress_s));
    let mut middle = runs.swap_remove(runs.len() / 2);
    middle.exact = exact;
    middle
}

/// One of the two figures in which runs differ.
#[derive(Clone, Copy)]
struct Varied {
    of: fn(&CompressFigures) -> usize,
    axis: &'static str,
    legend: &'static str,
}

const ROWS: Varied = Varied {
    of: |figures| figures.rows,
    axis: "rows",
    legend: "rows:",
};
const BOUND: Varied = Varied {
    of: |figures| figures.bound,
    axis: "bound s",
    legend: "s =",
};

impl Varied {
    fn values(&self, all: &[CompressFigures]) -> Vec<usize> {
        let mut found: Vec<usize> = all.iter().map(self.of).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Draws seconds over rows with a line for each bound, and over bounds with a line for each number of rows; only the
/// figures that vary.
fn picture(all: &[CompressFigures]) -> Result<String, Box<dyn Error>> {
    let mut panels = vec![(ROWS, BOUND), (BOUND, ROWS)];
    panels.retain(|(x, _)| x.values(all).len() > 1);
    if panels.is_empty() {
        panels.push((ROWS, BOUND));
    }
    let charts: Vec<_> = panels
        .into_iter()
        .map(|(x, lines)| chart(all, x, lines))
        .collect();
    side_by_side(&charts, 560, 420)
}

fn chart(all: &[CompressFigures], x: Varied, lines: Varied) -> Chart<'static> {
    let (xs, values) = (x.values(all), lines.values(all));
    let seconds = all.iter().map(|figures| figures.compress_s);
    let (low, high) = seconds.fold((f64::MAX, 0f64), |(a, b), s| (a.min(s), b.max(s)));
    let line = |(value, colour): (usize, _)| {
        let of_line = all.iter().filter(|figures| (lines.of)(figures) == value);
        let points: Vec<_> = of_line
            .map(|figures| ((x.of)(figures) as f64, figures.compress_s))
            .collect();
        Line {
            name: format!("{} {}", lines.legend, thousands(value as u64)),
            colour,
            width: 2,
            measured: points.clone(),
            points,
        }
    };
    Chart {
        caption: "Seconds of compression",
        over: x.axis,
        up: "seconds",
        axes: (
            xs[0] as f64..xs[xs.len() - 1] as f64 * 1.01,
            low / 1.5..high * 3.0,
        ),
        names: SeriesLabelPosition::UpperLeft,
        lines: values
            .into_iter()
            .zip(COLOURS.into_iter().cycle())
            .map(line)
            .collect(),
    }
}
