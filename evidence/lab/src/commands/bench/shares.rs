//! `omr-lab bench shares`.

use super::Output;
use crate::error::LabError;
use crate::measure::{BuildError, median, printed};
use clap::Args;
use omr_console::args::{messages, threads};
use omr_detector::Progress;
use omr_protocol::params::DEFAULT;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

#[derive(Args)]
pub(crate) struct BenchShares {
    /// Messages on the board; several numbers separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16384,32768,65536,131072,262144,524288", value_parser = messages())]
    messages: Vec<u64>,
    /// Threads to work on; several numbers separated by commas
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "1,2", value_parser = threads())]
    threads: Vec<u16>,
    /// Runs of each; the medians are printed
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pertinent: usize,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    params: String,
}

/// The medians of some runs.
#[derive(Serialize)]
struct Share<'a> {
    params: &'a str,
    messages: u64,
    threads: u16,
    runs: u32,
    /// Seconds of a digest.
    digest_s: f64,
    /// Seconds of both rounds.
    rounds_s: f64,
    /// The ratio of both in one run.
    share: f64,
}

pub(super) fn run(args: &BenchShares, out: &Output<'_>) -> Result<(), LabError> {
    let program = std::env::current_exe().map_err(|source| BuildError::Start {
        path: "omr-lab".into(),
        source,
    })?;
    for &messages in &args.messages {
        for &threads in &args.threads {
            let share = out.under_bar(|bar| {
                bar.stage("runs", args.runs.into());
                args.share(&program, messages, threads, || bar.advance(1))
            })?;
            out.show(&share)?;
        }
    }
    Ok(())
}

impl BenchShares {
    fn share(
        &self,
        program: &Path,
        messages: u64,
        threads: u16,
        advance: impl Fn(),
    ) -> Result<Share<'_>, BuildError> {
        let Self {
            params,
            pertinent,
            runs,
            ..
        } = self;
        let command = format!(
            "rounds --params {params} --messages {messages} --pertinent {pertinent} --recipients 1 --threads {threads}"
        );
        let arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let mut all = Vec::new();
        for _ in 0..*runs {
            let figures = printed(program, &arguments)?.into_iter().next();
            all.push(figures.ok_or(BuildError::NoFigures)?);
            advance();
        }
        let of = |name: &str| {
            let values: Option<Vec<f64>> =
                all.iter().map(|one: &Value| one[name].as_f64()).collect();
            values.map(median).ok_or(BuildError::NoFigures)
        };
        Ok(Share {
            params,
            messages,
            threads,
            runs: *runs,
            digest_s: of("digest_s")?,
            rounds_s: of("rounds_s")?,
            share: of("share")?,
        })
    }
}
