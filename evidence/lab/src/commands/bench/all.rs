//! `omr-lab bench all`.

use super::Output;
use crate::error::LabError;
use crate::measure::{BuildError, Machine, Measurement, Rates, Report, printed};
use clap::Args;
use omr_detector::Progress;
use omr_protocol::ParamSet;
use omr_protocol::params::DEFAULT;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Args)]
pub(crate) struct BenchAll {
    /// Use insecure tiny sets and few messages: shows only whether the measurements run
    #[arg(long)]
    quick: bool,
    /// Folder on the disk to measure posting on; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The size of a run.
struct Size {
    /// A set with both engines.
    params: &'static str,
    /// A set for private queries.
    queries: &'static str,
    /// The number of messages in a batch of SophOMR.
    batch: u64,
    /// The number of batches of the long digest.
    batches: u64,
    /// The bytes of a payload.
    payload_bytes: usize,
    /// The number of recipients whose digests are made together.
    recipients: u16,
    /// The number of messages in a digest of InstantOMR.
    messages: u64,
    /// The number of decodings of each digest.
    rounds: usize,
    /// The number of rows in a table.
    rows: usize,
}

const FULL: Size = Size {
    params: DEFAULT,
    queries: "pdq-v1",
    batch: 65_536,
    batches: 8,
    payload_bytes: 612,
    recipients: 8,
    messages: 400,
    rounds: 200,
    rows: 1_000_000,
};

const QUICK: Size = Size {
    params: "insecure-tiny-hybrid-v4",
    queries: "insecure-tiny-pdq-v1",
    batch: 2_048,
    batches: 2,
    payload_bytes: 100,
    recipients: 3,
    messages: 128,
    rounds: 10,
    rows: 2_000,
};

impl Size {
    /// Returns the name of each measurement, and its arguments after `omr-lab bench`.
    fn measurements(&self) -> Vec<(&'static str, String)> {
        let Self {
            params,
            queries,
            batch,
            payload_bytes,
            recipients,
            messages,
            rounds,
            rows,
            ..
        } = self;
        let all = batch * self.batches;
        let digest = format!("--params {params} --payload-bytes {payload_bytes}");
        let bulk = format!("digest {digest} --messages {batch}");
        let instant = format!("{digest} --scheme instantomr --messages {messages}");
        let query = format!("pdq query --params {queries} --rows {rows} --threads 2");
        vec![
            ("digest", format!("{bulk} --threads 1")),
            ("digest_two_threads", format!("{bulk} --threads 2")),
            (
                "digest_indices",
                format!("{bulk} --scheme sophomd --threads 1"),
            ),
            (
                "digest_batches",
                format!("digest {digest} --messages {all} --threads 2"),
            ),
            (
                "digest_recipients",
                format!("{bulk} --recipients {recipients} --threads 1"),
            ),
            (
                "decode",
                format!("decode {digest} --messages {batch} --rounds {rounds} --threads 1"),
            ),
            ("instantomr", format!("digest {instant} --threads 1")),
            (
                "instantomr_two_threads",
                format!("digest {instant} --threads 2"),
            ),
            (
                "instantomr_decode",
                format!("decode {instant} --rounds {rounds} --threads 1"),
            ),
            (
                "rounds",
                format!("rounds {digest} --messages {batch} --recipients {recipients} --threads 1"),
            ),
            (
                "crossover",
                format!("crossover --params {params} --threads 1"),
            ),
            (
                "post",
                format!("post --params {params} --messages {batch} --bound-clues"),
            ),
            ("query", query.clone()),
            ("query_text", format!("{query} --text")),
        ]
    }
}

/// The report in the form for people.
#[derive(Serialize)]
struct Summary<'a> {
    build: &'a str,
    date: &'a str,
    machine: &'a Machine,
    set: &'a Rates,
    figures: BTreeMap<String, f64>,
}

pub(super) fn run(args: &BenchAll, out: &Output<'_>) -> Result<(), LabError> {
    let size = if args.quick { QUICK } else { FULL };
    let set = ParamSet::named(size.params)?;
    let kernels = set.clue().ring.kernels().name();
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (date, _) = today.split_at("2026-01-31".len());
    let machine = Machine::here(kernels);
    let mut report = Report::new(omr_console::build(), date, machine, Rates::of(&set)?);
    drop(set);
    let measurements = size.measurements();
    report.measurements = out.under_bar(|bar| {
        bar.stage("measurements", measurements.len() as u64);
        let mut done = Vec::with_capacity(measurements.len());
        for (name, command) in measurements {
            done.push(measured(name, command, args)?);
            bar.advance(1);
        }
        Ok::<_, LabError>(done)
    })?;
    if out.json {
        return out.show(&report);
    }
    out.show(&Summary {
        build: &report.build,
        date: &report.date,
        machine: &report.machine,
        set: &report.set,
        figures: report.figures(),
    })
}

/// Runs one measurement in a process of its own, so that its peak of memory is its own.
fn measured(name: &str, command: String, args: &BenchAll) -> Result<Measurement, LabError> {
    let program = std::env::current_exe().map_err(|source| BuildError::Start {
        path: "omr-lab".into(),
        source,
    })?;
    let command = format!("bench {command}");
    let mut arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if let (Some(dir), "post") = (&args.dir, name) {
        arguments.extend(["--dir".to_owned(), dir.display().to_string()]);
    }
    let mut objects = printed(&program, &arguments)?.into_iter();
    Ok(Measurement {
        name: name.to_owned(),
        command,
        figures: objects.next().ok_or(BuildError::NoFigures)?,
    })
}
