//! Arguments of `omr bench pdq`.

use clap::{Args, Subcommand};
use omr_console::args::threads;
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum BenchPdq {
    /// Questions about the CSV tables of a folder, for another database to answer
    Questions(PdqQuestions),
    /// Answer such questions under encryption and compare with the other database's answers
    Oracle(PdqOracle),
    /// Compression alone: rows in the clear, an encrypted index
    Compress(PdqCompress),
    /// One query on a synthetic table, from keys to rows
    Query(PdqWhole),
}

fn bound() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=crate::measure::pdq::MAX_BOUND as u64)
}

fn rows() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=1 << 30)
}

#[derive(Args)]
pub struct PdqQuestions {
    /// Folder with tables as NAME.csv
    #[arg(value_name = "DIR")]
    pub(crate) tables: PathBuf,
    /// Questions of people, one a line
    #[arg(long, value_name = "SQL")]
    pub(crate) asked: Option<PathBuf>,
    /// Random questions besides
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) random: usize,
    /// Most rows that a random question has; at least one has each
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = bound())]
    pub(crate) bound: usize,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter sets, one of which must be deep enough for a random question
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "pdq-v1,pdq-deep-v1"
    )]
    pub(crate) params: Vec<String>,
    /// Where the questions go
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub struct PdqOracle {
    /// Folder with tables as NAME.csv
    #[arg(value_name = "DIR")]
    pub(crate) tables: PathBuf,
    /// Questions with answers, as reference/pdq_oracle.py writes them
    #[arg(value_name = "ANSWERS")]
    pub(crate) answers: PathBuf,
    /// Parameter sets; each question takes the first one that is deep enough
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "pdq-v1,pdq-deep-v1"
    )]
    pub(crate) params: Vec<String>,
    /// Most rows of an answer; questions that have more get room for theirs
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = bound())]
    pub(crate) bound: usize,
    /// The first question to ask
    #[arg(long, value_name = "I", default_value_t = 0)]
    pub(crate) from: usize,
    /// Questions to ask from there; all unless given
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<usize>,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Print one JSON object a question, then a summary
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct PdqCompress {
    /// Rows, each of one symbol; several sizes with commas between them
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16384", value_parser = rows())]
    pub(crate) rows: Vec<usize>,
    /// Rows that are marked, and may be; several with commas between them
    #[arg(long, value_name = "S", value_delimiter = ',', default_value = "8,32,128", value_parser = bound())]
    pub(crate) bounds: Vec<usize>,
    /// Runs of each, with the next seed each; the one of median time is told
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Threads to work on
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads())]
    pub(crate) threads: u16,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = "pdq-v1")]
    pub(crate) params: String,
    /// Draw the times over rows, and over bounds, into this file
    #[arg(long, value_name = "SVG")]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object for each
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct PdqWhole {
    /// Rows of the synthetic table
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = rows())]
    pub(crate) rows: usize,
    /// Most rows of the answer
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = bound())]
    pub(crate) bound: usize,
    /// Ask for a name rather than for a number of 32 bits
    #[arg(long)]
    pub(crate) text: bool,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = "pdq-v1")]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
