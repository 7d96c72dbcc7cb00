//! `omr params search --scheme instantomr`.

use crate::args::ParamsSearch;
use crate::commands::show;
use crate::error::LabError;
use crate::measure::search::{InstantCandidate, InstantFound, search_instant};
use omr_console::{Ui, thousands};
use omr_protocol::params::{HYBRID, SetSpec};
use serde::Serialize;

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
    /// A published set with these parameters.
    published: Option<&'static str>,
}

pub(super) fn run(args: &ParamsSearch, ui: &Ui) -> Result<(), LabError> {
    ui.note("measuring rotations and deriving sets");
    let report = Report::new(search_instant(&SetSpec::named(HYBRID)?, args.quick)?);
    show(args.json, &report, |figures| figures.text())
}

impl Report {
    fn new(found: InstantFound) -> Self {
        Self {
            tried: found.tried,
            insecure: found.insecure,
            sets: found.best.iter().filter_map(Row::new).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} sets derived, {} below 128 bits, {} that no other beats in time, clue and group\n\
             {:>9} {:>6} {:>11} {:>5} {:>6} {:>8} {:>5} {:>6} {:>8} {:>7} {:>7}\n",
            self.tried,
            self.insecure,
            self.sets.len(),
            "rotations",
            "clue",
            "key",
            "block",
            "coords",
            "rounded",
            "digit",
            "window",
            "group",
            "missed",
            "passed",
        );
        for row in &self.sets {
            text += &format!(
                "{:>6.2} ms {:>6} {:>11} {:>5} {:>6} {:>8} {:>5} {:>6} {:>8} {:>7} {:>7} {}\n",
                row.rotations_ms,
                thousands(row.clue_bytes as u64),
                thousands(row.key_bytes),
                row.block,
                row.coordinates,
                row.rounded,
                row.digit_bits,
                row.half,
                thousands(row.group),
                format!("2^{:.1}", row.miss_log2),
                format!("2^{:.1}", row.false_positive_log2),
                row.published.unwrap_or_default(),
            );
        }
        text
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
            coordinates: clue.coordinates,
            rounded: clue.rounded,
            digit_bits: instant.digit_bits,
            half: instant.half,
            group: instant.group,
            miss_log2: candidate.miss_log2,
            false_positive_log2: candidate.false_positive_log2,
            published: published.map(|set| set.name),
        })
    }
}
