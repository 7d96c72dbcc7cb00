//! `omr-lab params search`.

mod instant;

use super::output::Output;
use crate::error::LabError;
use crate::measure::search::{Candidate, Digests, Found, Grid, base, search};
use crate::measure::{DigestBench, DigestFigures, Setting, Shape, Units, cost};
use clap::Args;
use omr_console::args::messages;
use omr_protocol::Scheme;
use omr_protocol::params::SOPHOMR;
use omr_protocol::sophomr::{DigestPlan, Outline, Params, ParamsSpec};
use serde::Serialize;

/// Most bytes that the chosen set may have: key, clue, digest.
const GOALS: [u64; 3] = [130_000_000, 2_600, 130_000];

/// What baby steps may take, so that a detector stays below 4 GB.
const BABY_STEP_BYTES: u64 = 2_200_000_000;

#[derive(Args)]
pub(crate) struct ParamsSearch {
    /// sophomr or instantomr
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Sophomr)]
    scheme: Scheme,
    /// A few sets around the default
    #[arg(long)]
    quick: bool,
    /// Make a digest of this set and compare its stages with the model
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = SOPHOMR)]
    check: Option<String>,
    /// Messages that the digest covers
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    messages: u64,
    #[command(flatten)]
    shape: Shape,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Serialize)]
struct Report {
    tried: usize,
    refused: usize,
    sets: Vec<Row>,
    published: Row,
    check: Option<Check>,
}

#[derive(Serialize)]
struct Row {
    seconds: f64,
    detection_key_bytes: u64,
    clue_bytes: u64,
    digest_bytes: u64,
    baby_step_bytes: u64,
    security_bits: f64,
    baby: usize,
    block: usize,
    rotation_digits: usize,
    product_digits: usize,
    embedding_bound: f64,
    small_n: usize,
    clue_weight: usize,
    clue_range: u64,
    /// Whether it is the default set.
    published: bool,
    /// Whether it is the fastest that keeps all goals.
    chosen: bool,
}

#[derive(Serialize)]
struct Check {
    params: &'static str,
    modelled_s: f64,
    measured_s: f64,
    /// Processor seconds a second while it was measured.
    cpu_share: f64,
    /// Modelled over measured processor time: the model knows no other work on the machine.
    ratio: f64,
    stages: Vec<Stage>,
}

#[derive(Serialize)]
struct Stage {
    stage: &'static str,
    modelled_s: f64,
    measured_s: f64,
}

pub(super) fn run(args: &ParamsSearch, out: &Output<'_>) -> Result<(), LabError> {
    match args.scheme.encoding() {
        Some(_) => instant::run(args, out),
        None => bulk(args, out),
    }
}

/// Sets of SophOMR.
fn bulk(args: &ParamsSearch, out: &Output<'_>) -> Result<(), LabError> {
    let grid = if args.quick {
        Grid::quick()
    } else {
        Grid::full()
    };
    let digests = Digests {
        messages: args.messages,
        bound: args.shape.bound,
        payload_bytes: args.shape.payload_bytes,
    };
    out.ui.note("measuring units of work and deriving sets");
    let found = search::<LabError>(&base(), &grid, digests)?;
    let check = args.check.as_deref();
    let check = check
        .map(|name| check_model(name, digests, out))
        .transpose()?;
    out.show(&Report::new(found, check))
}

impl Report {
    fn new(found: Found, check: Option<Check>) -> Self {
        let fits = |c: &&Candidate| {
            let bytes = [c.key_bytes, c.clue_bytes, c.digest_bytes];
            bytes.iter().zip(GOALS).all(|(&bytes, goal)| bytes <= goal)
                && c.baby_step_bytes <= BABY_STEP_BYTES
        };
        let faster = |a: &&Candidate, b: &&Candidate| a.seconds.total_cmp(&b.seconds);
        let chosen = found.best.iter().filter(fits).min_by(faster);
        let chosen = chosen.map(|candidate| &candidate.spec);
        let published = &found.published.spec;
        let row = |candidate: &Candidate| Row::new(candidate, published, chosen);
        Self {
            tried: found.tried,
            refused: found.refused,
            sets: found.best.iter().map(row).collect(),
            published: row(&found.published),
            check,
        }
    }
}

impl Row {
    fn new(candidate: &Candidate, published: &ParamsSpec, chosen: Option<&ParamsSpec>) -> Self {
        let spec = &candidate.spec;
        // Bits are computed here and rounded there.
        let unnamed = |spec: &ParamsSpec| ParamsSpec {
            key_bits: 0.0,
            ..spec.clone()
        };
        Self {
            seconds: candidate.seconds,
            detection_key_bytes: candidate.key_bytes,
            clue_bytes: candidate.clue_bytes,
            digest_bytes: candidate.digest_bytes,
            baby_step_bytes: candidate.baby_step_bytes,
            security_bits: candidate.security_bits,
            baby: spec.baby,
            block: spec.block,
            rotation_digits: spec.rotation_digits,
            product_digits: spec.product_digits,
            embedding_bound: spec.embedding_bound,
            small_n: spec.small_n,
            clue_weight: spec.clue.weight,
            clue_range: spec.range,
            published: unnamed(spec) == unnamed(published),
            chosen: chosen.is_some_and(|chosen| unnamed(spec) == unnamed(chosen)),
        }
    }
}

/// A real digest on one thread beside the model of it.
fn check_model(name: &str, digests: Digests, out: &Output<'_>) -> Result<Check, LabError> {
    let params = Params::named(name)?;
    let payload = Some(digests.payload_bytes);
    let plan = DigestPlan::new(&params, 0..digests.messages, digests.bound, payload)?;
    let outline = Outline::new(params.spec().clone())?;
    let units = Units::measure(&params, &plan)?;
    let measured = measure(digests, name, out)?.cost;
    let stage = |(stage, work): (&'static str, cost::Work)| Stage {
        stage,
        modelled_s: units.model(&work),
        measured_s: measured.stages.get(stage).copied().unwrap_or(0.0),
    };
    let stages: Vec<Stage> = cost::stages(&outline, &plan)
        .into_iter()
        .map(stage)
        .collect();
    let modelled_s = stages.iter().map(|stage| stage.modelled_s).sum();
    Ok(Check {
        params: params.name(),
        modelled_s,
        measured_s: measured.digest_s,
        cpu_share: measured.cpu_share,
        ratio: modelled_s / (measured.digest_s * measured.cpu_share),
        stages,
    })
}

fn measure(digests: Digests, params: &str, out: &Output<'_>) -> Result<DigestFigures, LabError> {
    let shape = Shape {
        bound: digests.bound,
        payload_bytes: digests.payload_bytes,
    };
    let bench = DigestBench {
        pertinent: digests.bound.min(digests.messages as usize),
        ..DigestBench::new(Setting {
            messages: digests.messages,
            shape,
            params: Some(params.to_owned()),
            plain_clues: true,
            ..Setting::default()
        })
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    Ok(out.under_bar(|bar| one.install(|| bench.run(bar)))?)
}
