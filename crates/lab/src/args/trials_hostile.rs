//! Arguments of `omr bench chaos` and `omr bench hostile`.

use crate::trials::Kind;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Faults of `omr bench chaos`.
#[derive(Clone, Copy, ValueEnum)]
pub enum FaultName {
    /// `kill -9` at random moments
    Kills,
    /// No room on the disk; needs root
    DiskFull,
    /// A busy disk, and a server that is stopped now and then
    SlowDisk,
    /// A clock that jumps by years; needs libfaketime
    Clock,
    /// Segments that are flipped, cut short or gone
    Damage,
}

impl From<FaultName> for Kind {
    fn from(name: FaultName) -> Self {
        match name {
            FaultName::Kills => Self::Kills,
            FaultName::DiskFull => Self::DiskFull,
            FaultName::SlowDisk => Self::SlowDisk,
            FaultName::Clock => Self::Clock,
            FaultName::Damage => Self::Damage,
        }
    }
}

#[derive(Args)]
pub struct BenchChaos {
    /// How often the server is killed
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) kills: u32,
    /// This fault alone; all, one after another, unless given
    #[arg(long, value_enum, value_name = "FAULT")]
    pub(crate) only: Option<FaultName>,
    /// Parameter set, with both engines
    #[arg(long, value_name = "NAME", default_value = "insecure-tiny-hybrid-v1")]
    pub(crate) params: String,
    /// Clients that post
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) clients: u16,
    /// Seconds of the trials of a slow disk and of a clock that jumps
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Parent of the servers' folders; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Everything random of the trial's own follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object a fault
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub struct BenchHostile {
    /// How long hostile clients try
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Idle connections held at once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub(crate) connections: u32,
    /// Parent of the server's folder; the system's temporary one unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Everything random of the trial's own follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
