//! `omr-lab fpga`: the model of an FPGA that computes the affine transform.

mod detect;

use super::chart::{COLOURS, Chart, Line, SeriesLabelPosition, side_by_side};
use super::output::{Output, write_picture};
use crate::error::LabError;
use clap::{Args, Subcommand};
use omr_fpga::blocks::{Blocks, Source};
use omr_fpga::circuit::Circuit;
use omr_fpga::design::{Design, Diagonals};
use omr_fpga::device::Device;
use omr_fpga::explore::{Explored, Point, explore, variants};
use omr_fpga::predict::{Prediction, predict};
use omr_fpga::{FpgaError, paper};
use omr_papers::clear::{Params, Spec};
use omr_protocol::ClueKind;
use serde::Serialize;
use std::error::Error;
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub(crate) enum Fpga {
    /// Explore designs for the affine transform under the limits of a card, beside the published one
    #[command(after_help = crate::help::FPGA_EXPLORE)]
    Explore(Explore),
    /// Predict a design: cycles of each stage, and its share of each limit
    #[command(after_help = crate::help::FPGA_PREDICT)]
    Predict(Predict),
    /// Detect pertinent messages of a synthetic board on the processor, and predict the card's time
    #[command(after_help = crate::help::FPGA_DETECT)]
    Detect(detect::FpgaDetect),
}

#[derive(Args)]
pub(crate) struct Explore {
    /// Parameter sets
    #[arg(long, value_name = "NAME", default_values = [Spec::SOPHOMR])]
    params: Vec<String>,
    /// Cycles of blocks, as `make -C hw full` writes them; those of this build unless given
    #[arg(long, value_name = "FILE")]
    cycles: Option<PathBuf>,
    /// Draw time over DSPs into this file
    #[arg(long, value_name = "SVG")]
    picture: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Predict {
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = Spec::SOPHOMR)]
    params: String,
    /// Cores of transforms
    #[arg(long, value_name = "N", default_value_t = 3)]
    cores: usize,
    /// Butterflies of a core
    #[arg(long, value_name = "N", default_value_t = 64)]
    butterflies: usize,
    /// Products of base conversions in a cycle
    #[arg(long, value_name = "N", default_value_t = 160)]
    conversion_lanes: usize,
    /// Key products, scalings and additions in a cycle
    #[arg(long, value_name = "N", default_value_t = 48)]
    key_lanes: usize,
    /// Products of diagonals with baby steps in a cycle
    #[arg(long, value_name = "N", default_value_t = 160)]
    sum_lanes: usize,
    /// Baby steps that are multiplied by all diagonals together
    #[arg(long, value_name = "N", default_value_t = 8)]
    block: usize,
    /// Rotations computed from one decomposition, each with its own key
    #[arg(long, value_name = "N", default_value_t = 1)]
    hoisted: usize,
    /// Transform diagonals again for every recipient
    #[arg(long)]
    on_the_fly: bool,
    /// Reduce each product: lanes for which this repository has RTL for every sum
    #[arg(long)]
    each_reduced: bool,
    /// Cycles of blocks, as `make -C hw full` writes them; those of this build unless given
    #[arg(long, value_name = "FILE")]
    cycles: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Predict {
    fn design(&self) -> Design {
        Design {
            cores: self.cores,
            butterflies: self.butterflies,
            conversion_lanes: self.conversion_lanes,
            key_lanes: self.key_lanes,
            sum_lanes: self.sum_lanes,
            block: self.block,
            hoisted: self.hoisted,
            diagonals: if self.on_the_fly {
                Diagonals::OnTheFly
            } else {
                Diagonals::Cached
            },
            summed: !self.each_reduced,
        }
    }
}

/// A design for a board whose diagonals are on the card, and for a new board.
#[derive(Serialize)]
struct Predicted {
    set: &'static str,
    assumed_clock_mhz: f64,
    placed_and_routed: bool,
    warm: Prediction,
    cold: Prediction,
}

#[derive(Serialize)]
struct Report {
    /// The source of the cycles: RTL or a formula.
    source: Source,
    assumed_clock_mhz: f64,
    placed_and_routed: bool,
    paper: Paper,
    sets: Vec<OfSet>,
}

/// The published design by its own cost model.
#[derive(Serialize)]
struct Paper {
    product_ms: f64,
    dsp: u32,
    affine_ms: f64,
    affine_shared_baby_steps_ms: f64,
    /// The speed-up over a processor's 29.8 s if these are of one product: with separate and with shared baby steps.
    speedup_of_one: [f64; 2],
    /// The speed-up if the 29.8 s are of both products.
    speedup_of_both: [f64; 2],
    /// The fastest designs by the published model and limits, in the order of Table III.
    designs: Vec<Published>,
}

#[derive(Serialize)]
struct Published {
    pcmul_lanes: u32,
    pcmul_cores: u32,
    rot_lanes: u32,
    butterflies: u32,
    product_ms: f64,
    dsp: u32,
}

#[derive(Serialize)]
struct OfSet {
    set: &'static str,
    limbs: usize,
    rotations: [usize; 2],
    plaintexts: usize,
    variants: Vec<Row>,
    /// The front of the first variant, the smallest first; only in JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    front: Vec<Row>,
}

/// A design.
#[derive(Serialize)]
struct Row {
    variant: &'static str,
    exact: bool,
    cores: usize,
    butterflies: usize,
    conversion_lanes: usize,
    key_lanes: usize,
    sum_lanes: usize,
    block: usize,
    dsp: u32,
    lut: u32,
    ff: u32,
    bram36: u32,
    uram: u32,
    hbm_gb: f64,
    hbm_share: f64,
    cycles: u64,
    affine_ms: f64,
    new_board_ms: f64,
}

impl Row {
    fn new(variant: &'static str, point: &Point) -> Self {
        let (design, taken) = (point.design, point.warm.resources);
        Self {
            variant,
            exact: point.exact,
            cores: design.cores,
            butterflies: design.butterflies,
            conversion_lanes: design.conversion_lanes,
            key_lanes: design.key_lanes,
            sum_lanes: design.sum_lanes,
            block: design.block,
            dsp: taken.dsp,
            lut: taken.lut,
            ff: taken.ff,
            bram36: taken.bram36,
            uram: taken.uram,
            hbm_gb: taken.hbm_bytes / 1e9,
            hbm_share: point.warm.shares.hbm,
            cycles: point.warm.cycles,
            affine_ms: point.warm.ms,
            new_board_ms: point.cold.ms,
        }
    }
}

impl Paper {
    fn new() -> Self {
        let best = paper::Design::BEST;
        let (affine_ms, affine_shared_baby_steps_ms) = paper::affine_ms();
        let [one, both] = paper::speedups().map(|speedup| [speedup.separate, speedup.shared]);
        Self {
            product_ms: best.time_ms(),
            dsp: best.dsp(),
            affine_ms,
            affine_shared_baby_steps_ms,
            speedup_of_one: one,
            speedup_of_both: both,
            designs: paper::explore()
                .iter()
                .take(4)
                .map(Published::new)
                .collect(),
        }
    }
}

impl Published {
    fn new(design: &paper::Design) -> Self {
        Self {
            pcmul_lanes: design.pcmul_lanes,
            pcmul_cores: design.pcmul_cores,
            rot_lanes: design.rot_lanes,
            butterflies: design.butterflies,
            product_ms: design.time_ms(),
            dsp: design.dsp(),
        }
    }
}

/// The results of each variant that fits.
type Found = Vec<(&'static str, Explored)>;

impl Fpga {
    /// Returns whether the command prints JSON.
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Explore(args) => args.json,
            Self::Predict(args) => args.json,
            Self::Detect(args) => args.json,
        }
    }
}

pub(super) fn run(command: &Fpga, out: &Output<'_>) -> Result<(), LabError> {
    match command {
        Fpga::Explore(args) => explored(args, out),
        Fpga::Predict(args) => predicted(args, out),
        Fpga::Detect(args) => detect::run(args, out),
    }
}

fn predicted(args: &Predict, out: &Output<'_>) -> Result<(), LabError> {
    let (device, design) = (Device::U55C, args.design());
    let blocks = blocks(args.cycles.as_deref())?;
    let circuit = Circuit::new(&Params::named(&args.params)?, ClueKind::Plain)?;
    let of = |cold| predict(&circuit, &blocks, &design, &device, cold);
    out.show(&Predicted {
        set: circuit.set,
        assumed_clock_mhz: device.clock_hz / 1e6,
        placed_and_routed: false,
        warm: of(false)?,
        cold: of(true)?,
    })
}

fn explored(args: &Explore, out: &Output<'_>) -> Result<(), LabError> {
    let device = Device::U55C;
    let blocks = blocks(args.cycles.as_deref())?;
    let mut all: Vec<(Circuit, Found)> = Vec::new();
    for name in &args.params {
        let circuit = Circuit::new(&Params::named(name)?, ClueKind::Plain)?;
        let same = all.iter().find(|(other, _)| circuit.is_same_work(other));
        let found = match same {
            Some((_, found)) => found.clone(),
            None => out.under_bar(|_| all_variants(&circuit, &blocks, &device))?,
        };
        all.push((circuit, found));
    }
    if let Some(path) = &args.picture {
        write_picture(path, picture(&all))?;
    }
    out.show(&Report {
        source: blocks.source,
        assumed_clock_mhz: device.clock_hz / 1e6,
        placed_and_routed: false,
        paper: Paper::new(),
        sets: all
            .iter()
            .map(|(circuit, found)| OfSet::new(circuit, found, out.json))
            .collect(),
    })
}

/// Reads the blocks' cycles from a file, or returns those of this build.
///
/// Errors: `Unread`, `Cycles`.
fn blocks(path: Option<&Path>) -> Result<Blocks, LabError> {
    let Some(path) = path else {
        return Ok(Blocks::of_repository()?);
    };
    let json = std::fs::read_to_string(path)
        .map_err(|source| LabError::Unread(path.to_owned(), source))?;
    Blocks::parse(&json).map_err(|source| LabError::Cycles(path.to_owned(), source))
}

/// Explores all variants that fit the card; the first one must.
fn all_variants(circuit: &Circuit, blocks: &Blocks, device: &Device) -> Result<Found, FpgaError> {
    let mut found = Vec::new();
    for variant in variants() {
        match explore(circuit, blocks, device, &variant.grid) {
            Ok(explored) => found.push((variant.name, explored)),
            Err(FpgaError::NothingFits { .. }) if !found.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

impl OfSet {
    fn new(circuit: &Circuit, found: &Found, with_front: bool) -> Self {
        let best = |(name, explored): &(&'static str, Explored)| {
            explored.best().map(|point| Row::new(name, point))
        };
        let front = found.iter().take(usize::from(with_front));
        let points =
            front.flat_map(|(name, explored)| explored.front.iter().map(|p| Row::new(name, p)));
        Self {
            set: circuit.set,
            limbs: circuit.limbs,
            rotations: circuit.rotations(),
            plaintexts: circuit.plaintexts(),
            variants: found.iter().filter_map(best).collect(),
            front: points.collect(),
        }
    }
}

/// Draws seconds over DSPs: the fronts of all variants, each by the time that it was selected by, and the published
/// design with separate and with shared baby steps.
fn picture(sets: &[(Circuit, Found)]) -> Result<String, Box<dyn Error>> {
    let (separate, shared) = paper::affine_ms();
    let dsp = f64::from(paper::Design::BEST.dsp());
    let charts: Vec<Chart> = sets
        .iter()
        .map(|(circuit, found)| {
            let line = |(i, (name, explored)): (usize, &(&'static str, Explored))| {
                let points: Vec<(f64, f64)> = explored
                    .front
                    .iter()
                    .map(|p| (f64::from(p.warm.resources.dsp), explored.ms(p) / 1e3))
                    .collect();
                Line {
                    name: (*name).to_owned(),
                    colour: COLOURS[i],
                    width: if i == 0 { 3 } else { 1 },
                    measured: points.clone(),
                    points,
                }
            };
            let mut lines: Vec<Line> = found.iter().enumerate().map(line).collect();
            let published = vec![(dsp, separate / 1e3), (dsp, shared / 1e3)];
            lines.push(Line {
                name: "published: separate, shared baby steps".to_owned(),
                colour: COLOURS[7],
                width: 1,
                points: published.clone(),
                measured: published,
            });
            Chart {
                caption: circuit.set,
                over: "DSP slices",
                up: "seconds",
                axes: (800.0..9_200.0, 0.05..10.0),
                names: SeriesLabelPosition::LowerLeft,
                lines,
            }
        })
        .collect();
    side_by_side(&charts, 640, 560)
}
