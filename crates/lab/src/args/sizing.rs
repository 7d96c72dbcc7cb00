//! Arguments of `omr bench sizing`.

use clap::Args;
use omr_console::args::{bound, payload_bytes, threads};
use omr_protocol::params::HYBRID;
use std::path::PathBuf;

#[derive(Args)]
pub struct BenchSizing {
    /// Messages posted in a day: Zcash 20,408, Bitcoin 604,800
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) messages_a_day: u64,
    /// Recipients, each of whom has all messages looked at
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    pub(crate) recipients: u64,
    /// Pertinent messages that a digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Digests a recipient asks for in a day
    #[arg(long, value_name = "D", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) digests_a_day: u64,
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Costs measured before, as --save writes them; docs/measured.json unless given
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    pub(crate) costs: Option<PathBuf>,
    /// Measure the costs on this machine: about a minute
    #[arg(long)]
    pub(crate) measure: bool,
    /// Write the measured costs into this file
    #[arg(long, value_name = "FILE", requires = "measure")]
    pub(crate) save: Option<PathBuf>,
    /// The yardstick on the machine asked about, in microseconds: times are scaled by it
    #[arg(long, value_name = "US", conflicts_with = "measure")]
    pub(crate) yardstick_us: Option<f64>,
    /// Threads to measure with
    #[arg(long, value_name = "T", default_value_t = 1, requires = "measure", value_parser = threads())]
    pub(crate) threads: u16,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
