//! Arguments of `omr stream`.

use super::examples;
use super::headings::{OUTPUT, WORK};
use clap::{Args, Subcommand};
use omr_console::args::{bound, threads};
use omr_protocol::Scheme;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Stream {
    /// Look at a board's messages for one recipient, from where the session stopped
    #[command(after_help = examples::STREAM)]
    Run(StreamRun),
    /// Cut a digest off: of all messages looked at since the last one
    #[command(after_help = examples::STREAM)]
    Cut(StreamCut),
}

#[derive(Args)]
pub(crate) struct StreamRun {
    /// The board's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) board: PathBuf,
    /// The recipient's instant.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// File of the session; a new one is begun where it is absent
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    /// Pertinent messages that a digest may carry, for each group of messages
    #[arg(long, value_name = "K", value_parser = bound())]
    pub(crate) bound: u32,
    /// First message of a new session
    #[arg(long, value_name = "I")]
    pub(crate) from: Option<u64>,
    /// Most messages of a new session until a digest is cut off: there it waits. Up to 1,000 or so take less
    /// time each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) room: Option<u64>,
    /// Indices without payloads
    #[arg(long)]
    pub(crate) indices_only: bool,
    /// instantomr or instantomr-buckets, or the forms for indices alone
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::Instantomr)]
    pub(crate) scheme: Scheme,
    /// Go on with messages as they reach the board, until killed
    #[arg(long, help_heading = WORK)]
    pub(crate) follow: bool,
    /// How often to look for new ones
    #[arg(long, help_heading = WORK, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) poll_ms: u32,
    /// Most messages looked at between two writes of the file; 64 unless given, with a card 1,024
    #[arg(long, help_heading = WORK, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) lot: Option<u64>,
    /// Where messages are looked at: on an NVIDIA card (cuda), the processor (cpu), or a card where there is one (auto)
    #[cfg(feature = "full")]
    #[arg(long, help_heading = WORK, value_name = "ENGINE", default_value_t = omr_cuda::Choice::Auto)]
    pub(crate) engine: omr_cuda::Choice,
    /// Threads to work on; all cores unless given
    #[arg(long, help_heading = WORK, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Print one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct StreamCut {
    /// The recipient's instant.key
    #[arg(long, value_name = "KEY")]
    pub(crate) detection_key: PathBuf,
    /// File of the session; another process may be advancing it
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    /// Number of the digest, counted from 0: the next one, or the last one again; the next one unless
    /// given
    #[arg(long, value_name = "N")]
    pub(crate) number: Option<u64>,
    /// Leave the messages in the session: the next digest holds them too
    #[arg(long, conflicts_with = "number")]
    pub(crate) peek: bool,
    /// File for the digest; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace the file
    #[arg(long)]
    pub(crate) force: bool,
    /// Report as one JSON object (on standard error if the digest goes to standard output)
    #[arg(long)]
    pub(crate) json: bool,
}
