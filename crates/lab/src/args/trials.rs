//! Arguments of the trials with real processes: `omr bench load` and `omr bench mail`.

use crate::help;
use clap::{Args, ValueEnum};
use omr_protocol::params::HYBRID;
use std::path::PathBuf;

fn count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1_000_000)
}

fn clients() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=1000)
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadPart {
    /// Posts at a fixed rate
    Posts,
    /// Detection keys
    Keys,
    /// Digests at once
    Jobs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyChoice {
    /// For InstantOMR
    Instant,
    /// For SophOMR
    Bulk,
    /// So many of each
    Both,
}

#[derive(Args)]
#[command(after_help = help::TRIALS)]
pub struct BenchLoad {
    /// Parts to run; all unless given; may be given several times
    #[arg(long, value_name = "PART")]
    pub(crate) only: Vec<LoadPart>,
    /// Posts a second, of one message each, all clients together
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = count())]
    pub(crate) posts_per_second: u32,
    /// Seconds of posting
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = count())]
    pub(crate) seconds: u32,
    /// Clients that post
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clients())]
    pub(crate) clients: u16,
    /// Post through streams instead of calls
    #[arg(long)]
    pub(crate) stream: bool,
    /// Keys to register, of each kind
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = count())]
    pub(crate) keys: u32,
    /// Which keys
    #[arg(long, value_name = "KIND", default_value = "instant")]
    pub(crate) key_kind: KeyChoice,
    /// Recipients who ask for a digest at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clients())]
    pub(crate) jobs: u16,
    /// Messages of the range that they ask for
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub(crate) job_messages: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Folder in which the server's is made and removed; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = help::TRIALS)]
pub struct BenchMail {
    /// Messages on the board at the end
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub(crate) messages: u64,
    /// Senders, each in processes of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clients())]
    pub(crate) senders: u16,
    /// Recipients, likewise
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clients())]
    pub(crate) recipients: u16,
    /// Letters, to all recipients together
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = count())]
    pub(crate) letters: u32,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Folder in which all others are made and removed; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
