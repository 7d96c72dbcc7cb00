//! `omr-lab compare`: every scheme on one machine, with equal messages.

mod markdown;
mod page;
mod pictures;

use crate::error::LabError;
use crate::measure::compare::{Comparison, Contender, Failed, Work, contenders, named};
use crate::measure::{Machine, Shape, Start};
use clap::Args;
use omr_console::args::messages;
use omr_console::{ConsoleError, Ui, chain, files};
use omr_protocol::ParamSet;
use omr_protocol::params::SOPHOMR;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The largest number of messages and of payload bytes for insecure tiny sets.
const QUICK: (u64, usize) = (2048, 100);

#[derive(Args)]
#[command(mut_arg("bound", |arg| arg.default_value("54")))]
pub(crate) struct Compare {
    /// Schemes, by their names in the table; all of at least 128 bits unless given
    #[arg(value_name = "SCHEME")]
    schemes: Vec<String>,
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
}

pub(super) fn run(args: &Compare, ui: &Ui) -> Result<(), LabError> {
    let chosen = chosen(args)?;
    let work = work(args);
    super::bench::enough_messages(work.messages, work.pertinent)?;
    omr_console::start_threads(args.start.threads)?;
    let kernels = ParamSet::named(SOPHOMR)?.clue().ring.kernels().name();
    let threads = rayon::current_num_threads();
    let mut all = Comparison::new(omr_console::build(), Machine::here(kernels), threads, work);
    for (i, contender) in chosen.iter().enumerate() {
        ui.note(&format!(
            "{} ({} of {})",
            contender.name(),
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
    let text = if args.json {
        files::json_line(&all)?
    } else {
        markdown::document(&all)
    };
    files::print(&text)?;
    super::bench::all_exact(
        runs(&all, |entry| entry.exact),
        runs(&all, |entry| entry.runs),
    )?;
    match all.failed.len() {
        0 => Ok(()),
        failed => Err(LabError::NotCompared(failed)),
    }
}

fn runs(all: &Comparison, of: impl Fn(&crate::measure::compare::Entry) -> u32) -> u64 {
    all.entries.iter().map(|entry| u64::from(of(entry))).sum()
}

/// Returns the requested schemes, or all secure ones.
fn chosen(args: &Compare) -> Result<Vec<Contender>, LabError> {
    if args.schemes.is_empty() {
        return Ok(contenders());
    }
    args.schemes
        .iter()
        .map(|name| Ok(named(name, args.allow_insecure)?))
        .collect()
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
