//! The times at which digests are requested, and the resulting runs.

use super::UnitCosts;
use chacha20::ChaCha20Rng;
use clap::{Args, ValueEnum};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

pub(super) const HOUR_US: u64 = 3_600_000_000;
pub(super) const DAY_US: u64 = 24 * HOUR_US;
/// The number of messages before the board's end that a fetch of an inbox covers.
pub(super) const WINDOW: u64 = 1 << 16;

/// The load of a cluster.
#[derive(Clone, Copy, Debug, Serialize, Args)]
pub struct Load {
    /// Recipients, each of whom has all messages looked at
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub recipients: u64,
    /// Messages posted in a day: Zcash 20,408
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub messages_a_day: u64,
    /// Days that are simulated
    #[arg(long, value_name = "D", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub days: u64,
}

/// The rule for the times of digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// One a day for each recipient, at a separate time, of the messages since the last one
    Daily,
    /// One a day for each recipient, at one of 24 times, so that those of a time are served together
    Grouped,
    /// One of each batch for each recipient when the batch is full, together (`omr id new --batches`)
    Orders,
    /// Both of two rounds once a day for each recipient, at one of 24 times: scans of the messages since the last ones,
    /// and fetches from the newest 65,536
    TwoRounds,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::Daily, Self::Grouped, Self::Orders, Self::TwoRounds];

    /// Returns the policy's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Grouped => "grouped",
            Self::Orders => "orders",
            Self::TwoRounds => "two-rounds",
        }
    }
}

/// Prices of nodes, storage and traffic.
#[derive(Clone, Copy, Debug, Serialize, Args)]
pub struct Prices {
    /// Price of a core for an hour
    #[arg(long, value_name = "P")]
    pub core_hour_price: Option<f64>,
    /// Price of 10^9 bytes of storage for a month
    #[arg(long, value_name = "P")]
    pub gb_month_price: Option<f64>,
    /// Price of 10^9 bytes that nodes fetch
    #[arg(long, value_name = "P")]
    pub gb_fetched_price: Option<f64>,
}

/// The work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Digests of a number of batches.
    Digests { batches: u64 },
    /// Scans of a board with this number of messages.
    Scans { board: u64 },
    /// Answers to queries about a board with this number of messages.
    Fetches { board: u64 },
}

/// A run of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    /// The time of the request, in microseconds.
    pub(super) at_us: u64,
    /// The time of the recipient's first request: for a fetch that of its scan.
    pub(super) begun_us: u64,
    pub(super) recipients: u64,
    pub(super) work: Work,
    /// The range of messages, by number.
    pub(super) piece: u64,
    pub(super) messages: u64,
}

impl Run {
    /// Returns the fetch of each recipient after this run, without its time: every scan of more messages than a scan has
    /// room for has one, whatever was found.
    pub(super) fn fetch(&self, costs: &UnitCosts) -> Option<Self> {
        match self.work {
            Work::Scans { board } if self.messages > costs.rounds.block_messages => Some(Self {
                work: Work::Fetches { board },
                messages: self.messages.max(WINDOW),
                ..*self
            }),
            _ => None,
        }
    }
}

/// Returns all runs of a load in the order of their times.
pub(super) fn runs(policy: Policy, load: &Load, costs: &UnitCosts, seed: u64) -> Vec<Run> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let batches = load.messages_a_day.div_ceil(costs.batch_messages);
    let mut runs = Vec::new();
    match policy {
        Policy::Daily => {
            // Each recipient requests digests at a fixed time of day.
            let times: Vec<u64> = (0..load.recipients)
                .map(|_| rng.next_u64() % DAY_US)
                .collect();
            for day in 0..load.days {
                let asked = times.iter().zip(0..).map(|(time, who)| Run {
                    at_us: day * DAY_US + time,
                    begun_us: day * DAY_US + time,
                    recipients: 1,
                    work: Work::Digests { batches },
                    piece: day * load.recipients + who,
                    messages: load.messages_a_day,
                });
                runs.extend(asked);
            }
        }
        Policy::Grouped => {
            for hour in 0..24 * load.days {
                runs.extend(at_hour(hour, load, costs, Work::Digests { batches }));
            }
        }
        Policy::TwoRounds => {
            for hour in 0..24 * load.days {
                let board = WINDOW + load.messages_a_day * (hour + 1) / 24;
                runs.extend(at_hour(hour, load, costs, Work::Scans { board }));
            }
        }
        Policy::Orders => {
            let fills_us = DAY_US as f64 * costs.batch_messages as f64 / load.messages_a_day as f64;
            for fill in 1.. {
                let at_us = (fill as f64 * fills_us) as u64;
                if at_us >= load.days * DAY_US {
                    break;
                }
                let run = Run {
                    at_us,
                    begun_us: at_us,
                    recipients: load.recipients,
                    work: Work::Digests { batches: 1 },
                    piece: fill,
                    messages: costs.batch_messages,
                };
                runs.extend(groups(run, costs.together));
            }
        }
    }
    runs.sort_by_key(|run| run.at_us);
    runs
}

/// Returns the runs for the recipients whose time of the day is this hour. They are distributed as evenly as possible.
fn at_hour(hour: u64, load: &Load, costs: &UnitCosts, work: Work) -> impl Iterator<Item = Run> {
    let place = hour % 24;
    let run = Run {
        at_us: hour * HOUR_US,
        begun_us: hour * HOUR_US,
        recipients: load.recipients * (place + 1) / 24 - load.recipients * place / 24,
        work,
        piece: hour,
        messages: load.messages_a_day,
    };
    groups(run, costs.together)
}

/// Divides a run into runs of at most `together` recipients, the fullest first.
fn groups(run: Run, together: u64) -> impl Iterator<Item = Run> {
    let count = run.recipients.div_ceil(together);
    (0..count).map(move |group| Run {
        recipients: together.min(run.recipients - group * together),
        ..run
    })
}
