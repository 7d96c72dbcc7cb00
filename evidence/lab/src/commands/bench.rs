//! `omr-lab bench`.

mod all;
mod card;
mod cluster;
mod compare;
mod compare_builds;
mod crossover;
mod digest;
mod pdq;
mod plain;
mod post;
mod rounds;
mod sizing;
mod soak;
mod sweep;
mod trial;

pub(super) use compare::report;

use super::output::Output;
use crate::error::LabError;
use crate::help;
use crate::measure::{CardBench, DecodeBench, RoundsBench, Soak, StreamBench};
use crate::trials::{Branches, Chaos, Hostile, Listing, load, mail};
use clap::{Args, Subcommand};
use omr_protocol::Mismatch;

#[derive(Args)]
pub(crate) struct Bench {
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Key generation, digest and decoding on synthetic messages
    #[command(after_help = help::BENCH)]
    Digest(digest::BenchDigest),
    /// Clues aimed at everybody, plain and bound, under many keys, in the clear: the number of pairs of a clue and an
    /// unintended recipient for which it is pertinent, and of bound clues that the board refuses
    #[command(after_help = help::BENCH)]
    Clues(plain::BenchClues),
    /// Whether the time of decoding depends on the content of a digest: Welch's t of the mean without the slowest
    /// tenth, against a digest of nothing
    #[command(after_help = help::BENCH)]
    Decode(DecodeBench),
    /// A recipient's wait if messages are processed as they arrive
    #[command(after_help = help::BENCH_STREAM)]
    Stream(StreamBench),
    /// The number of messages from which SophOMR costs less than InstantOMR
    #[command(after_help = help::BENCH_STREAM)]
    Crossover(crossover::BenchCrossover),
    /// How often the windows miss and let strangers pass, in the clear
    #[command(after_help = help::BENCH_STREAM)]
    Windows(plain::BenchWindows),
    /// Both rounds of retrieval in two rounds, beside a digest of SophOMR of the same board
    #[command(after_help = help::BENCH_ROUNDS)]
    Rounds(RoundsBench),
    /// How often a message of a query finds no bucket
    #[command(after_help = help::BENCH_ROUNDS)]
    Places(plain::BenchPlaces),
    /// Durable posting, 1,000 messages a transaction
    #[command(after_help = help::BENCH)]
    Post(post::BenchPost),
    /// Cores, memory, disk and network that a service needs for a load
    #[command(after_help = help::SIZING)]
    Sizing(sizing::BenchSizing),
    /// A cluster for many recipients: unit costs, a simulation of queue and nodes, real queues beside it
    #[command(subcommand, after_help = help::CLUSTER)]
    Cluster(cluster::BenchCluster),
    /// Full batches over fresh keys, honest and hostile by turns, every digest, or scan and fetch, checked
    #[command(after_help = help::SOAK)]
    Soak(Soak),
    /// A real server under kills, full and slow disks, a jumping clock and damage; nothing may be lost
    #[command(after_help = help::TRIALS)]
    Chaos(Chaos),
    /// A real server among hostile clients; it must serve the others and stay within bounds
    #[command(after_help = help::TRIALS)]
    Hostile(Hostile),
    /// A graphics card: checks that it computes what the processor does, and times it
    #[command(after_help = help::BENCH)]
    Card(CardBench),
    /// A benchmark at every combination of numbers of messages, bounds, payload bytes and threads, as CSV
    #[command(after_help = help::BENCH_SWEEP)]
    Sweep(sweep::BenchSweep),
    /// Every figure of this build in one document, for comparison with another build's
    #[command(after_help = help::BENCH_COMPARE)]
    All(all::BenchAll),
    /// Compare two documents of `omr-lab bench all`
    #[command(after_help = help::BENCH_COMPARE)]
    Compare(compare::BenchCompare),
    /// Run two builds by turns on this machine and print the ratios of their times and sizes
    #[command(after_help = help::BENCH_COMPARE)]
    CompareBuilds(compare_builds::CompareBuilds),
    /// A server in a process of its own under load: posts at a fixed rate, keys, digests at once
    Load(load::Load),
    /// Senders, recipients and a server in processes of their own, killed and started again: every letter
    /// arrives once
    Mail(mail::Mail),
    /// A ledger that takes another branch: the server's time, and the calls of a recipient
    Ledger(Branches),
    /// The newest letters of a large inbox, listed by the library and by the command
    Inbox(Listing),
    /// Private database queries: against another database's answers, compression alone, a whole query
    #[command(subcommand, after_help = help::BENCH_PDQ)]
    Pdq(pdq::BenchPdq),
}

pub(super) fn run(command: &BenchCommand, out: &Output<'_>) -> Result<(), LabError> {
    match command {
        BenchCommand::Digest(args) => digest::run(args, out),
        BenchCommand::Clues(args) => plain::clues(args, out),
        BenchCommand::Decode(bench) => plain::decode(bench, out),
        BenchCommand::Stream(bench) => plain::stream(bench, out),
        BenchCommand::Crossover(args) => crossover::run(args, out),
        BenchCommand::Windows(args) => plain::windows(args, out),
        BenchCommand::Rounds(bench) => rounds::run(bench, out),
        BenchCommand::Places(args) => plain::places(args, out),
        BenchCommand::Post(args) => post::run(args, out),
        BenchCommand::Sizing(args) => sizing::run(args, out),
        BenchCommand::Cluster(command) => cluster::run(command, out),
        BenchCommand::Card(bench) => card::run(bench, out),
        BenchCommand::Soak(soak) => soak::run(soak, out),
        BenchCommand::Chaos(chaos) => trial::chaos(chaos, out),
        BenchCommand::Hostile(hostile) => trial::hostile(hostile, out),
        BenchCommand::Sweep(args) => sweep::run(args, out),
        BenchCommand::All(args) => all::run(args, out),
        BenchCommand::Compare(args) => compare::run(args, out),
        BenchCommand::CompareBuilds(args) => compare_builds::run(args, out),
        BenchCommand::Load(load) => trial::load(load, out),
        BenchCommand::Mail(mail) => trial::mail(mail, out),
        BenchCommand::Inbox(listing) => trial::inbox(listing, out),
        BenchCommand::Ledger(branches) => trial::ledger(branches, out),
        BenchCommand::Pdq(command) => pdq::run(command, out),
    }
}

pub(super) fn enough_messages(messages: u64, pertinent: usize) -> Result<(), LabError> {
    if pertinent as u64 <= messages {
        Ok(())
    } else {
        Err(LabError::Pertinent(Mismatch::new(messages, pertinent)))
    }
}

pub(super) fn all_exact(exact: u64, results: u64) -> Result<(), LabError> {
    if exact == results {
        Ok(())
    } else {
        Err(LabError::InexactResults { exact, results })
    }
}

/// Checks that exactly the pertinent messages were returned, bit for bit.
pub(super) fn just_pertinent(
    expected: usize,
    exact: usize,
    strangers: usize,
) -> Result<(), LabError> {
    if exact == expected && strangers == 0 {
        Ok(())
    } else {
        Err(LabError::Inexact {
            expected,
            exact,
            false_positives: strangers,
        })
    }
}
