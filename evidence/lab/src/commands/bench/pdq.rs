//! `omr-lab bench pdq`.

mod compress;
mod oracle;

use super::{Output, all_exact};
use crate::error::LabError;
use crate::measure::pdq::{QueryBench, Quiet};
use clap::Subcommand;
use omr_console::start_threads;

#[derive(Subcommand)]
pub(crate) enum BenchPdq {
    /// Questions about the CSV tables of a folder, for another database to answer
    Questions(oracle::PdqQuestions),
    /// Answer these questions under encryption and compare with the other database's answers
    Oracle(oracle::PdqOracle),
    /// Compression alone: rows in the clear, an encrypted index
    Compress(compress::PdqCompress),
    /// One query on a synthetic table, from keys to rows
    Query(QueryBench),
}

pub(super) fn run(command: &BenchPdq, out: &Output<'_>) -> Result<(), LabError> {
    match command {
        BenchPdq::Questions(args) => oracle::make(args, out),
        BenchPdq::Oracle(args) => oracle::run(args, out),
        BenchPdq::Compress(args) => compress::run(args, out),
        BenchPdq::Query(bench) => query(bench, out),
    }
}

fn query(bench: &QueryBench, out: &Output<'_>) -> Result<(), LabError> {
    start_threads(bench.start.threads)?;
    let figures = bench.run(&Quiet)?;
    out.show(&figures)?;
    all_exact(figures.exact.into(), 1)
}
