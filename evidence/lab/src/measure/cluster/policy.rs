//! The times at which digests are requested, and the resulting runs.

use super::UnitCosts;
use chacha20::ChaCha20Rng;
use clap::{Args, ValueEnum};
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

pub(super) const HOUR_US: u64 = 3_600_000_000;
pub(super) const DAY_US: u64 = 24 * HOUR_US;

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
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Daily, Self::Grouped, Self::Orders];

    /// Returns the policy's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Grouped => "grouped",
            Self::Orders => "orders",
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

/// A run of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The time of the request, in microseconds.
    pub(super) at_us: u64,
    pub(super) recipients: u64,
    pub(super) batches: u64,
    /// The range of messages, by number.
    pub(super) piece: u64,
    pub(super) messages: u64,
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
                    recipients: 1,
                    batches,
                    piece: day * load.recipients + who,
                    messages: load.messages_a_day,
                });
                runs.extend(asked);
            }
        }
        Policy::Grouped => {
            for hour in 0..24 * load.days {
                // Recipients are distributed as evenly as possible.
                let place = hour % 24;
                let recipients = load.recipients * (place + 1) / 24 - load.recipients * place / 24;
                let at_us = hour * HOUR_US;
                let run = Run {
                    at_us,
                    recipients,
                    batches,
                    piece: hour,
                    messages: load.messages_a_day,
                };
                runs.extend(groups(run, costs.together));
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
                    recipients: load.recipients,
                    batches: 1,
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

/// Divides a run into runs of at most `together` recipients, the fullest first.
fn groups(run: Run, together: u64) -> impl Iterator<Item = Run> {
    let count = run.recipients.div_ceil(together);
    (0..count).map(move |group| Run {
        recipients: together.min(run.recipients - group * together),
        ..run
    })
}
