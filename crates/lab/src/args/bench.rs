//! Arguments of `omr bench`.

use super::trials::{BenchLoad, BenchMail};
use super::{BenchChaos, BenchHostile, BenchPdq, BenchSizing};
use crate::help;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use omr_console::args::{bound, messages, payload_bytes, threads};
use omr_protocol::params::{DEFAULT, HYBRID};
use omr_protocol::{EngineKind, Scheme};
use std::path::PathBuf;

#[derive(Subcommand)]
#[allow(missing_docs, reason = "clap would show it as help")]
pub enum BenchCommand {
    /// Key generation, digest and decoding on synthetic messages
    #[command(after_help = help::BENCH)]
    Digest(BenchDigest),
    /// Clues aimed at everybody, plain and bound ones, under many keys, in the clear
    #[command(after_help = help::BENCH)]
    Clues(BenchClues),
    /// Whether the time of decoding tells what a digest holds
    #[command(after_help = help::BENCH)]
    Decode(BenchDecode),
    /// A recipient's wait when messages are looked at as they come
    #[command(after_help = help::BENCH_STREAM)]
    Stream(BenchStream),
    /// From how many messages on SophOMR costs less than InstantOMR
    #[command(after_help = help::BENCH_STREAM)]
    Crossover(BenchCrossover),
    /// How often the windows miss and let strangers pass, in the clear
    #[command(after_help = help::BENCH_STREAM)]
    Windows(BenchWindows),
    /// Durable posting, 1,000 messages a transaction
    #[command(after_help = help::BENCH)]
    Post(BenchPost),
    /// Cores, memory, disk and network that a service needs for a load
    #[command(after_help = help::SIZING)]
    Sizing(BenchSizing),
    /// Full batches over fresh keys, honest and hostile by turns, every digest checked
    #[command(after_help = help::SOAK)]
    Soak(BenchSoak),
    /// A real server under kills, full and slow disks, a jumping clock and damage; nothing may be lost
    #[command(after_help = help::TRIALS)]
    Chaos(BenchChaos),
    /// A real server among hostile clients; it must serve the others and stay within bounds
    #[command(after_help = help::TRIALS)]
    Hostile(BenchHostile),
    /// Every figure of this build in one document, for comparison with another build's
    #[command(after_help = help::BENCH_COMPARE)]
    All(BenchAll),
    /// Compare two documents of `omr bench all`
    #[command(after_help = help::BENCH_COMPARE)]
    Compare(BenchCompare),
    /// A server in a process of its own under load: posts at a fixed rate, keys, digests at once
    Load(BenchLoad),
    /// Senders, recipients and a server in processes of their own, killed and started again: every letter
    /// arrives once
    Mail(BenchMail),
    /// Private database queries: against another database's answers, compression alone, a whole query
    #[command(subcommand, after_help = help::BENCH_PDQ)]
    Pdq(BenchPdq),
}

/// Enough for one batch at full size.
pub(crate) const CACHE_BYTES: usize = 14 << 30;

fn recipients() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=1000)
}

/// Schemes of one engine, this one where it is given.
fn schemes(of: Option<EngineKind>) -> impl TypedValueParser<Value = Scheme> {
    let fits = move |scheme: &Scheme| match *scheme.engines() {
        [engine] => of.is_none_or(|of| of == engine),
        _ => false,
    };
    let value = |scheme: Scheme| PossibleValue::new(scheme.name()).help(about(scheme));
    let values = Scheme::ALL.into_iter().filter(fits).map(value);
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Scheme>())
}

/// A scheme for `--help`.
fn about(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Sophomr => "Payloads",
        Scheme::Sophomd => "Indices only",
        Scheme::Instantomr => "Payloads, message by message",
        Scheme::Instantomd => "Indices only, message by message",
        Scheme::Hybrid => "Full batches, then message by message",
        Scheme::InstantomrBuckets => "Payloads, message by message, in random combinations",
        Scheme::InstantomdBuckets => "Indices only, message by message, in buckets",
    }
}

#[derive(Args)]
pub struct BenchClues {
    /// Recipients with fresh keys
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) keys: u32,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set, with SophOMR
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchDecode {
    /// Digests of payloads or of indices
    #[arg(long, value_parser = schemes(None), default_value_t = Scheme::Sophomr)]
    pub scheme: Scheme,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Pertinent messages that a digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Times taken of each of the six digests
    #[arg(long, value_name = "R", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub(crate) rounds: u32,
    /// Threads to make the digests on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Clues that are not bound to their payloads
    #[arg(long)]
    pub(crate) plain_clues: bool,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set; that of the scheme unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchStream {
    /// Messages a second: Bitcoin 7, Zcash 0.2362 (20,408 a day) to 0.8545 (73,826 a day)
    #[arg(long, value_name = "M", default_value_t = 0.2362)]
    pub(crate) rate: f64,
    /// Length of the replay; idle time is skipped
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    pub(crate) seconds: f64,
    /// Pertinent messages that a digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Clues that are not bound to their payloads
    #[arg(long)]
    pub(crate) plain_clues: bool,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Folder for the session's file; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchCrossover {
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Draw a picture into this file
    #[arg(long, value_name = "SVG")]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object, which `omr digest --costs` takes
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchWindows {
    /// Clues of each kind
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) clues: u64,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = HYBRID)]
    pub(crate) params: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchDigest {
    /// Digests of payloads or of indices
    #[arg(long, value_parser = schemes(None), default_value_t = Scheme::Sophomr)]
    pub scheme: Scheme,
    /// Messages on the board
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Pertinent messages among them
    #[arg(long, value_name = "P", default_value_t = 50)]
    pub(crate) pertinent: usize,
    /// Pertinent messages that the digest may carry
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Parameter set; sophomr-v3 unless the scheme needs another
    #[arg(long, value_name = "NAME")]
    pub(crate) params: Option<String>,
    /// Runs, each with the next seed
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Recipients of one board, each with pertinent messages of her own, digested for one after
    /// another with a shared cache
    #[arg(long, value_name = "R", conflicts_with = "runs", value_parser = recipients())]
    pub(crate) recipients: Option<u16>,
    /// Bytes that the shared cache may hold: at full size a batch takes 13.4 GB; 0 turns it off
    #[arg(long, value_name = "B", default_value_t = CACHE_BYTES, requires = "recipients")]
    pub(crate) cache_bytes: usize,
    /// Make the baby steps before the clock starts, as if kept from earlier batches
    #[arg(long, requires = "recipients")]
    pub(crate) keep_baby_steps: bool,
    /// Do not time the yardstick (only builds with the feature `yardstick` do)
    #[arg(long)]
    pub(crate) no_yardstick: bool,
    /// Clues that are not bound to their payloads
    #[arg(long)]
    pub(crate) plain_clues: bool,
    /// Print one JSON object a run
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchPost {
    /// Messages to post
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = messages())]
    pub(crate) messages: u64,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Folder on the disk to measure; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchSoak {
    /// Digests of payloads or of indices
    #[arg(long, value_parser = schemes(Some(EngineKind::Sophomr)), default_value_t = Scheme::Sophomr)]
    pub scheme: Scheme,
    /// Fresh keys; every other one meets hostile strangers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) keys: u32,
    /// Full batches, spread evenly over the keys; up to 12 of a key merge in one digest
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) batches: u32,
    /// Pertinent messages of each digest
    #[arg(long, value_name = "P", default_value_t = 50, value_parser = bound())]
    pub(crate) pertinent: u32,
    /// Pertinent messages that a digest may carry; strangers' pass for pertinent now and then
    #[arg(long, value_name = "K", default_value_t = 54, value_parser = bound())]
    pub(crate) bound: u32,
    /// Bytes of a payload
    #[arg(long, value_name = "B", default_value_t = 612, value_parser = payload_bytes())]
    pub(crate) payload_bytes: u32,
    /// Threads to work on; all cores unless given
    #[arg(long, value_name = "T", value_parser = threads())]
    pub(crate) threads: Option<u16>,
    /// Everything random follows from it: key i from seed + i
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Go on with this key, counted from 0, after a run that was stopped
    #[arg(long, value_name = "KEY", default_value_t = 0)]
    pub(crate) from_key: u32,
    /// Parameter set
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    pub(crate) params: String,
    /// Print one JSON object a digest and one for all
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchAll {
    /// Threads to work on, but for the figures of two threads
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads())]
    pub(crate) threads: u16,
    /// Everything random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Also digests for so many recipients of one batch, with a shared cache and without and with
    /// kept baby steps: minutes and 17 GB at full size; 3 in a quick run
    #[arg(long, value_name = "R", value_parser = recipients())]
    pub(crate) recipients: Option<u16>,
    /// The insecure tiny set and few messages: tells whether the bench works, nothing else
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder on the disk to measure posting on; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchCompare {
    /// What `omr bench all --json` printed before; - is standard input
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// What it prints now
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
