//! `omr-lab params search`.

use super::output::Output;
use crate::error::LabError;
use crate::measure::search::{InstantCandidate, InstantFound, search_instant};
use clap::Args;
use omr_protocol::params::{DEFAULT, SetSpec};
use serde::Serialize;

#[derive(Args)]
pub(crate) struct ParamsSearch {
    /// A few sets around the published ones
    #[arg(long)]
    quick: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Serialize)]
struct Report {
    tried: usize,
    insecure: usize,
    sets: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    rotations_ms: f64,
    clue_bytes: usize,
    key_bytes: u64,
    block: usize,
    coordinates: usize,
    rounded: u64,
    digit_bits: u32,
    half: u32,
    group: u64,
    miss_log2: f64,
    false_positive_log2: f64,
    /// The name of a published set with these parameters.
    published: Option<&'static str>,
}

pub(super) fn run(args: &ParamsSearch, out: &Output<'_>) -> Result<(), LabError> {
    out.ui.note("measuring rotations and deriving sets");
    // A set with a secret for each engine, and one with a secret for both, whose clues may be rounded.
    let bases = [SetSpec::named(DEFAULT)?, SetSpec::named("instantomr-v2")?];
    let found = search_instant(&bases, args.quick)?;
    out.show(&Report::new(found))
}

impl Report {
    fn new(found: InstantFound) -> Self {
        Self {
            tried: found.tried,
            insecure: found.insecure,
            sets: found.best.iter().filter_map(Row::new).collect(),
        }
    }
}

impl Row {
    fn new(candidate: &InstantCandidate) -> Option<Self> {
        let (clue, instant) = (&candidate.set.clue, candidate.set.instantomr.as_ref()?);
        let same = |set: &SetSpec| {
            let digits = set.instantomr.as_ref().map(|spec| spec.digit_bits);
            set.clue == *clue && digits == Some(instant.digit_bits)
        };
        let published = SetSpec::published().into_iter().find(same);
        Some(Self {
            rotations_ms: candidate.seconds * 1e3,
            clue_bytes: candidate.clue_bytes,
            key_bytes: candidate.key_bytes,
            block: candidate.block,
            coordinates: clue.instant().coordinates.len(),
            rounded: clue.posted_modulus(),
            digit_bits: instant.digit_bits,
            half: instant.half,
            group: instant.group,
            miss_log2: candidate.miss_log2,
            false_positive_log2: candidate.false_positive_log2,
            published: published.map(|set| set.name),
        })
    }
}
