//! `omr-lab bench crossover`.

use super::Output;
use crate::commands::chart::{Chart, Line, SeriesLabelPosition, side_by_side};
use crate::commands::output::write_picture;
use crate::error::LabError;
use crate::measure::{Crossover, Point, Start};
use clap::Args;
use omr_console::start_threads;
use omr_protocol::ParamSet;
use omr_protocol::params::DEFAULT;
use plotters::style::RGBColor;
use std::error::Error;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct BenchCrossover {
    #[command(flatten)]
    start: Start,
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
    /// Draw a picture into this file
    #[arg(long, value_name = "SVG")]
    svg: Option<PathBuf>,
}

pub(super) fn run(args: &BenchCrossover, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(args.start.threads)?;
    let set = ParamSet::named(&args.params)?;
    let measured = out.under_bar(|bar| Crossover::measure(&set, args.start.seed, bar))?;
    if let Some(path) = &args.svg {
        write_picture(path, picture(&measured))?;
    }
    out.show(&measured)
}

/// Draws the lines of both engines and of the hybrid.
fn picture(measured: &Crossover) -> Result<String, Box<dyn Error>> {
    let points = &measured.points;
    let most = points.iter().map(|p| p.messages).max().unwrap_or(1);
    let seconds = |p: &Point| p.instantomr_s.max(p.sophomr_s);
    let top = points.iter().map(seconds).fold(1.0, f64::max);
    let line = |name: &str, colour, width, seconds: fn(&Point) -> f64| Line {
        name: name.to_owned(),
        colour,
        width,
        points: points
            .iter()
            .map(|p| (p.messages as f64, seconds(p)))
            .collect(),
        measured: Vec::new(),
    };
    let chart = Chart {
        caption: "Seconds for so many messages",
        over: "messages",
        up: "seconds",
        axes: (1.0..most as f64, 0.01..2.0 * top),
        names: SeriesLabelPosition::UpperLeft,
        lines: vec![
            line("hybrid", RGBColor(200, 200, 200), 8, |p| p.hybrid_s),
            line("SophOMR", RGBColor(30, 90, 180), 2, |p| p.sophomr_s),
            line("InstantOMR", RGBColor(200, 80, 20), 2, |p| p.instantomr_s),
        ],
    };
    side_by_side(&[chart], 760, 480)
}
