//! Arguments of `omr compare`.

use clap::Args;
use omr_console::args::{bound, messages, payload_bytes, threads};
use std::path::PathBuf;

#[derive(Args)]
#[allow(missing_docs, reason = "clap would show it as help")]
pub struct Compare {
    /// Schemes, by the names that the table has; without any, all of at least 128 bits
    #[arg(value_name = "SCHEME")]
    pub(crate) schemes: Vec<String>,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub(crate) pertinent: usize,
    /// Pertinent messages that a digest may carry; a stranger's message passes for one now and then
    #[arg(long, value_name = "K", default_value_t = 54, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Runs of each scheme, each with the next seed; the table has the run of median time
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Most messages run by schemes that look at them one by one; their times are extrapolated to N and marked
    #[arg(long, value_name = "M", default_value_t = 1024, value_parser = messages())]
    pub(crate) sample: u64,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Allow sets below 128 bits, by name: the earlier schemes as published
    #[arg(long)]
    pub(crate) allow_insecure: bool,
    /// Insecure tiny sets, few messages: tells whether everything works, nothing else
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder for compare.json, compare.md and compare.html with pictures, created where absent
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Not one process for each scheme: then memory is that of all schemes so far
    #[arg(long)]
    pub(crate) in_process: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
