//! `omr params search`.

mod instant;

use crate::args::ParamsSearch;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::search::{Candidate, Digests, Found, Grid, search};
use crate::measure::{DigestBench, Units, cost};
use omr_console::{Ui, thousands};
use omr_protocol::Scheme;
use omr_protocol::sophomr::{DigestPlan, Outline, Params, ParamsSpec};
use serde::Serialize;
use std::sync::Arc;

/// The goals of docs/performance.md, in bytes: key, clue, digest.
const GOALS: [u64; 3] = [130_000_000, 2_600, 130_000];

/// What baby steps may take, so that a detector stays below 4 GB.
const BABY_STEP_BYTES: u64 = 2_200_000_000;

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

pub(super) fn run(args: &ParamsSearch, ui: &Ui) -> Result<(), LabError> {
    match args.scheme.encoding() {
        Some(_) => instant::run(args, ui),
        None => bulk(args, ui),
    }
}

/// Sets of SophOMR.
fn bulk(args: &ParamsSearch, ui: &Ui) -> Result<(), LabError> {
    let grid = if args.quick {
        Grid::quick()
    } else {
        Grid::full()
    };
    let digests = Digests {
        messages: args.messages,
        bound: args.bound as usize,
        payload_bytes: args.payload_bytes as usize,
    };
    let base = ParamsSpec::published().swap_remove(0);
    ui.note("measuring units of work and deriving sets");
    let found = search::<LabError>(&base, &grid, digests)?;
    let check = args.check.as_deref();
    let check = check
        .map(|name| check_model(name, digests, ui))
        .transpose()?;
    let report = Report::new(found, check);
    show(args.json, &report, |figures| figures.text())
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

    fn text(&self) -> String {
        let mut text = format!(
            "{} sets derived, {} refused, {} that no other beats in everything\n\
             {:>8} {:>12} {:>6} {:>9} {:>6} {:>6} {:>5} {:>5} {:>8} {:>8} {:>6} {:>7} {:>7} {:>6}\n",
            self.tried,
            self.refused,
            self.sets.len(),
            "seconds",
            "key",
            "clue",
            "digest",
            "bits",
            "baby",
            "GB",
            "block",
            "rotation",
            "product",
            "bound",
            "small n",
            "weight",
            "range"
        );
        text.extend(self.sets.iter().map(Row::text));
        text += "the default set:\n";
        text += &self.published.text();
        if let Some(check) = &self.check {
            text += &check.text();
        }
        text
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

    fn text(&self) -> String {
        let mark = match (self.chosen, self.published) {
            (true, true) => "  chosen, default",
            (true, false) => "  chosen",
            (false, true) => "  default",
            (false, false) => "",
        };
        format!(
            "{:>8.2} {:>12} {:>6} {:>9} {:>6.1} {:>6} {:>5.2} {:>5} {:>8} {:>8} {:>6.1} {:>7} {:>7} {:>6}{mark}\n",
            self.seconds,
            thousands(self.detection_key_bytes),
            thousands(self.clue_bytes),
            thousands(self.digest_bytes),
            self.security_bits,
            self.baby,
            self.baby_step_bytes as f64 / 1e9,
            self.block,
            self.rotation_digits,
            self.product_digits,
            self.embedding_bound,
            self.small_n,
            self.clue_weight,
            self.clue_range,
        )
    }
}

/// A real digest on one thread beside the model of it.
fn check_model(name: &str, digests: Digests, ui: &Ui) -> Result<Check, LabError> {
    let params = Params::named(name)?;
    let payload = Some(digests.payload_bytes);
    let plan = DigestPlan::new(&params, 0..digests.messages, digests.bound, payload)?;
    let outline = Outline::new(params.spec().clone())?;
    let units = Units::measure(&params, &plan)?;
    let measured = measure(&params, digests, ui)?;
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

fn measure(
    params: &Arc<Params>,
    digests: Digests,
    ui: &Ui,
) -> Result<crate::measure::DigestFigures, LabError> {
    let bench = DigestBench {
        scheme: Scheme::Sophomr,
        params: params.clone(),
        messages: digests.messages,
        pertinent: digests.bound.min(digests.messages as usize),
        bound: digests.bound,
        payload_bytes: digests.payload_bytes,
        seed: 1,
        yardstick: false,
        bound_clues: false,
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let bar = ui.bar();
    Ok(one.install(|| bench.run(&bar))?)
}

impl Check {
    fn text(&self) -> String {
        let row = |name: &str, modelled: f64, measured: f64| {
            let ratio = modelled / measured;
            format!("{name:<14} {modelled:>10.3} {measured:>10.3} {ratio:>8.2}\n")
        };
        let mut text = format!(
            "{}, one thread, seconds:\n{:<14} {:>10} {:>10} {:>8}\n",
            self.params, "stage", "modelled", "measured", "ratio"
        );
        for stage in &self.stages {
            text += &row(stage.stage, stage.modelled_s, stage.measured_s);
        }
        text += &row("all", self.modelled_s, self.measured_s);
        let processor = self.measured_s * self.cpu_share;
        text + &row("processor time", self.modelled_s, processor)
    }
}
