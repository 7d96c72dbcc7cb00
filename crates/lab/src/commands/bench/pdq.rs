//! `omr bench pdq`.

mod compress;
mod oracle;
mod query;

use crate::args::BenchPdq;
use crate::error::LabError;
use omr_console::Ui;

pub(super) fn run(command: &BenchPdq, ui: &Ui) -> Result<(), LabError> {
    match command {
        BenchPdq::Questions(args) => oracle::make(args, ui),
        BenchPdq::Oracle(args) => oracle::run(args, ui),
        BenchPdq::Compress(args) => compress::run(args, ui),
        BenchPdq::Query(args) => query::run(args),
    }
}
