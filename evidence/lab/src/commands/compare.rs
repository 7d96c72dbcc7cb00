//! `omr-lab compare`: every scheme on one machine, with equal messages.

mod markdown;
mod page;
mod pictures;

use super::output::csv;
use crate::error::LabError;
use crate::measure::compare::{Comparison, Contender, Failed, Work, contenders, named, of_set};
use crate::measure::{Machine, Shape, Start};
use clap::Args;
use omr_console::args::messages;
use omr_console::{ConsoleError, Ui, chain, files};
use omr_protocol::params::SOPHOMR;
use omr_protocol::{Mismatch, ParamSet};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The largest number of messages and of payload bytes for insecure tiny sets.
const QUICK: (u64, usize) = (2048, 100);

#[derive(Args)]
#[command(mut_arg("bound", |arg| arg.default_value("54")))]
pub(crate) struct Compare {
    /// Schemes, by their names in the table; all of at least 128 bits, or all of the sets, unless given
    #[arg(value_name = "SCHEME")]
    schemes: Vec<String>,
    /// Parameter sets, or TOML files, whose schemes are compared instead; several separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["allow_insecure", "quick"])]
    params: Vec<String>,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    messages: u64,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pertinent: usize,
    #[command(flatten)]
    shape: Shape,
    /// Runs of each scheme, each with the next seed; the table has the run of median time
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Most messages run by schemes that process them one by one; their times are extrapolated to N and marked
    #[arg(long, value_name = "M", default_value_t = 1024, value_parser = messages())]
    sample: u64,
    #[command(flatten)]
    start: Start,
    /// Allow sets below 128 bits, by name: the papers' schemes as published
    #[arg(long)]
    allow_insecure: bool,
    /// Use insecure tiny sets and few messages: shows only whether everything works
    #[arg(long)]
    quick: bool,
    /// Folder for compare.json, compare.md and compare.html with pictures, created if absent
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run all schemes in one process: memory is then that of all schemes so far
    #[arg(long)]
    in_process: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Print a row of CSV for each scheme
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub(super) fn run(args: &Compare, ui: &Ui) -> Result<(), LabError> {
    omr_console::start_threads(args.start.threads)?;
    let chosen = chosen(args)?;
    let work = work(args);
    super::bench::enough_messages(work.messages, work.pertinent)?;
    let kernels = ParamSet::named(SOPHOMR)?.clue().ring.kernels().name();
    let threads = rayon::current_num_threads();
    let mut all = Comparison::new(omr_console::build(), Machine::here(kernels), threads, work);
    for (i, contender) in chosen.iter().enumerate() {
        ui.note(&format!(
            "{}, {} ({} of {})",
            contender.name(),
            contender.set(),
            i + 1,
            chosen.len()
        ));
        let done = if args.in_process {
            in_process(&mut all, contender, ui)
        } else {
            apart(&mut all, contender, args)
        };
        if let Err(reason) = done {
            ui.warn(&format!("{}: {reason}", contender.name()));
            let scheme = contender.name().to_owned();
            all.failed.push(Failed { scheme, reason });
        }
    }
    if let Some(dir) = &args.out {
        write(dir, &all)?;
    }
    files::print(&text(args, &all)?)?;
    super::bench::all_exact(
        runs(&all, |entry| entry.exact),
        runs(&all, |entry| entry.runs),
    )?;
    match all.failed.len() {
        0 => Ok(()),
        failed => Err(LabError::NotCompared(failed)),
    }
}

fn text(args: &Compare, all: &Comparison) -> Result<String, LabError> {
    if args.json {
        Ok(files::json_line(all)?)
    } else if args.csv {
        let rows: Result<Vec<Value>, _> = all.entries.iter().map(serde_json::to_value).collect();
        let rows = rows.map_err(|error| ConsoleError::Output(error.into()))?;
        csv(&rows, &["scheme", "params"])
    } else {
        Ok(markdown::document(all))
    }
}

fn runs(all: &Comparison, of: impl Fn(&crate::measure::compare::Entry) -> u32) -> u64 {
    all.entries.iter().map(|entry| u64::from(of(entry))).sum()
}

/// Returns the requested schemes, or all secure ones.
fn chosen(args: &Compare) -> Result<Vec<Contender>, LabError> {
    if !args.params.is_empty() {
        return of_sets(args);
    }
    if args.schemes.is_empty() {
        return Ok(contenders());
    }
    args.schemes
        .iter()
        .map(|name| Ok(named(name, args.allow_insecure)?))
        .collect()
}

/// Returns the schemes of all requested sets, or those of the requested ones that a set serves.
///
/// Errors: those of an unknown set; `NotServed` for a scheme that no set serves.
fn of_sets(args: &Compare) -> Result<Vec<Contender>, LabError> {
    let mut all = Vec::new();
    for set in &args.params {
        all.extend(of_set(set)?);
    }
    let served: BTreeSet<&str> = all.iter().map(Contender::name).collect();
    if let Some(scheme) = args
        .schemes
        .iter()
        .find(|name| !served.contains(name.as_str()))
    {
        let expected: Vec<&str> = served.into_iter().collect();
        return Err(LabError::NotServed(Mismatch::new(
            expected.join(", "),
            scheme.clone(),
        )));
    }
    let wanted = |it: &Contender| args.schemes.iter().any(|name| name == it.name());
    all.retain(|it| args.schemes.is_empty() || wanted(it));
    Ok(all)
}

fn work(args: &Compare) -> Work {
    let most = if args.quick {
        QUICK
    } else {
        (u64::MAX, usize::MAX)
    };
    Work {
        messages: args.messages.min(most.0),
        sample: args.sample,
        pertinent: args.pertinent,
        bound: args.shape.bound,
        payload_bytes: args.shape.payload_bytes.min(most.1),
        runs: args.runs,
        seed: args.start.seed,
        tiny: args.quick,
    }
}

fn in_process(all: &mut Comparison, contender: &Contender, ui: &Ui) -> Result<(), String> {
    let bar = ui.bar();
    all.run(contender, &bar).map_err(|error| chain(&error))
}

/// Runs this command for one scheme in a process of its own, so that memory is that scheme's, and a killed process
/// does not affect the others.
fn apart(all: &mut Comparison, contender: &Contender, args: &Compare) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["compare", contender.name(), "--in-process", "--json"]);
    for (name, value) in [
        ("--messages", args.messages.to_string()),
        ("--pertinent", args.pertinent.to_string()),
        ("--bound", args.shape.bound.to_string()),
        ("--payload-bytes", args.shape.payload_bytes.to_string()),
        ("--runs", args.runs.to_string()),
        ("--sample", args.sample.to_string()),
        ("--threads", all.threads.to_string()),
        ("--seed", args.start.seed.to_string()),
    ] {
        command.args([name, &value]);
    }
    if !args.params.is_empty() {
        command.args(["--params", contender.set()]);
    }
    for (name, given) in [
        ("--allow-insecure", args.allow_insecure),
        ("--quick", args.quick),
    ] {
        command.args(given.then_some(name));
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let own: Comparison = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("its process ended with {}", output.status))?;
    all.entries.extend(own.entries);
    match own.failed.into_iter().next() {
        Some(failed) => Err(failed.reason),
        None => Ok(()),
    }
}

fn write(dir: &Path, all: &Comparison) -> Result<(), LabError> {
    std::fs::create_dir_all(dir).map_err(|error| ConsoleError::write(dir, error))?;
    let page = page::page(all).map_err(|error| {
        let error = std::io::Error::other(error.to_string());
        ConsoleError::write(dir.join("compare.html"), error)
    })?;
    for (name, text) in [
        ("compare.json", files::json_line(all)?),
        ("compare.md", markdown::document(all)),
        ("compare.html", page),
    ] {
        omr_console::write_result(&dir.join(name), text.as_bytes())?;
    }
    Ok(())
}
