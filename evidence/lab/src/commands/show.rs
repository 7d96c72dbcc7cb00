//! `omr-lab params show`.

use super::output::Output;
use crate::error::LabError;
use crate::measure::{BenchError, Shape, failure_log2, set_file};
use clap::Args;
use omr_console::files;
use omr_protocol::instantomr::{InstantKey, InstantParams, InstantPlan, InstantSpec};
use omr_protocol::params::DEFAULT;
use omr_protocol::rounds::{RoundsKey, RoundsParams, RoundsPlan};
use omr_protocol::sophomr::{DetectionKey, FinalNoise, Params};
use omr_protocol::{ClueKind, PlanError, Request};
use serde::Serialize;

#[derive(Args)]
pub(crate) struct ParamsShow {
    /// Parameter set, or a TOML file with an experimental one
    #[arg(value_name = "NAME", default_value = DEFAULT)]
    name: String,
    #[command(flatten)]
    shape: Shape,
    /// Print the set as a file with every field, to be changed
    #[arg(long, conflicts_with = "json")]
    toml: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Security and predicted noise of a set.
#[derive(Serialize)]
struct Shown {
    params: &'static str,
    insecure: bool,
    /// Bits of security: the least of all; of the recipient's clue secret, of senders' randomness, of detection keys.
    security_bits: Option<f64>,
    clue_key_bits: Option<f64>,
    randomness_bits: Option<f64>,
    keys_bits: Option<f64>,
    clue_bytes: usize,
    sophomr: Option<Bulk>,
    instantomr: Option<Instant>,
    rounds: Option<Rounds>,
}

#[derive(Serialize)]
struct Bulk {
    batch: usize,
    miss_log2: f64,
    hostile_miss_log2: f64,
    false_positive_log2: f64,
    detection_key_bytes: u64,
    levels: usize,
    /// The noise of distances, log2 of the root mean square embedding.
    distances_noise_bits: f64,
    /// The standard deviation of the noise that the ring of digests adds, in steps of a symbol; 0.5 is wrong.
    final_noise: f64,
}

#[derive(Serialize)]
struct Instant {
    miss_log2: f64,
    false_positive_log2: f64,
    detection_key_bytes: u64,
    /// The standard deviation of a coefficient of a full group's digest, in units of the sums; 0.5 is wrong.
    noise: f64,
    /// log2 of the probability that such a digest is wrong.
    failure_log2: f64,
}

#[derive(Serialize)]
struct Rounds {
    miss_log2: f64,
    hostile_miss_log2: f64,
    false_positive_log2: f64,
    detection_key_bytes: u64,
    /// The standard deviations of both coordinates of distances, in steps of a rounded body.
    distances_noise: [f64; 2],
    /// The standard deviation of a symbol of an answer about a batch, in steps of a symbol; 0.5 is wrong.
    noise: f64,
    /// log2 of the probability that a symbol of such an answer is wrong.
    symbol_failure_log2: Option<f64>,
}

pub(super) fn run(args: &ParamsShow, out: &Output<'_>) -> Result<(), LabError> {
    let set = set_file::set(&args.name)?;
    if args.toml {
        return Ok(files::print(&set_file::template(set.spec()))?);
    }
    let spec = set.spec();
    let security = spec.security();
    let bulk = spec.sophomr.as_ref().map(|_| set.sophomr()).transpose()?;
    let instant = spec.instantomr.as_ref();
    let instant = instant.map(|_| set.instantomr()).transpose()?;
    let rounds = spec.rounds.as_ref().map(|_| set.rounds()).transpose()?;
    let batch = bulk.map_or(0, |params| params.slots());
    let shown = Shown {
        params: set.name(),
        insecure: spec.insecure,
        security_bits: security.map(|bits| bits.least()),
        clue_key_bits: security.map(|bits| bits.clue_key.least()),
        randomness_bits: security.map(|bits| bits.randomness.least()),
        keys_bits: security.map(|bits| bits.keys),
        clue_bytes: ClueKind::Bound.bytes(set.clue()),
        sophomr: bulk.map(|params| Bulk::new(params)),
        instantomr: instant
            .map(|params| Instant::new(params, &args.shape))
            .transpose()
            .map_err(BenchError::from)?,
        rounds: rounds
            .map(|params| Rounds::new(params, batch as u64, &args.shape))
            .transpose()?,
    };
    out.show(&shown)
}

impl Bulk {
    fn new(params: &Params) -> Self {
        let spec = params.spec();
        Self {
            batch: params.slots(),
            miss_log2: spec.miss_log2(),
            hostile_miss_log2: spec.hostile_miss_log2(),
            false_positive_log2: spec.false_positive_log2(),
            detection_key_bytes: DetectionKey::file_bytes_of(params, ClueKind::Bound),
            levels: params.chain.len(),
            distances_noise_bits: params.front_noise(),
            final_noise: FinalNoise::new(params).sd(0.0),
        }
    }
}

impl Instant {
    fn new(params: &InstantParams, shape: &Shape) -> Result<Self, PlanError> {
        let group = params.spec().group;
        let bound = shape.bound.min(InstantSpec::LARGEST_BOUND);
        let request = Request::new(0..group, bound, Some(shape.payload_bytes));
        let plan = InstantPlan::new(params, request)?.for_clues(ClueKind::Bound);
        Ok(Self {
            miss_log2: params.miss_log2(),
            false_positive_log2: params.false_positive_log2(),
            detection_key_bytes: InstantKey::file_bytes_of(params, ClueKind::Bound),
            noise: params.coefficient_sd(group, 0),
            failure_log2: params.failure_log2(plan.sums()),
        })
    }
}

impl Rounds {
    fn new(params: &RoundsParams, batch: u64, shape: &Shape) -> Result<Self, BenchError> {
        let plan = RoundsPlan::new(params, 0..batch, shape.payload_bytes, ClueKind::Bound)?;
        let (rows, fetch) = (plan.rows(), &params.fetch);
        let step = fetch.p().value() as f64 / f64::from(fetch.body_bits(rows)).exp2();
        let noise = fetch.noise(rows);
        Ok(Self {
            miss_log2: params.miss_log2(),
            hostile_miss_log2: params.hostile_miss_log2(),
            false_positive_log2: params.false_positive_log2(),
            detection_key_bytes: RoundsKey::file_bytes_of(params, ClueKind::Bound),
            distances_noise: params.scan.noise(0.0, 1.0),
            noise,
            symbol_failure_log2: failure_log2(noise.hypot(step / 12f64.sqrt()), step),
        })
    }
}
