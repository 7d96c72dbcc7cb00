//! The nodes, the network, the storage and the price of a load.

mod queue;

pub(super) use queue::queue;

use super::policy::{DAY_US, Load, Policy, Prices, WINDOW, runs};
use super::{ClusterCosts, UnitCosts};
use crate::measure::sizing::{BUSY, kept_bytes};
use clap::Args;
use queue::whole_s;
use serde::Serialize;

/// The days of a month, for prices.
const MONTH_DAYS: f64 = 365.0 / 12.0;
/// The days that a server keeps digests of orders by default.
const ORDER_DAYS: f64 = 30.0;

/// The machines.
#[derive(Clone, Copy, Debug, Serialize, Args)]
pub struct Nodes {
    /// Cores of a node, which does one run at a time on all of them
    #[arg(long, value_name = "C", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub node_cores: u64,
    /// Speed of a node's core relative to the measured core, including what many threads lose
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    pub efficiency: f64,
    /// Bits that a node fetches in a second, while it works on the run before
    #[arg(long, value_name = "B", default_value_t = 10e9)]
    pub node_bandwidth: f64,
    /// Nodes; as many as work 70 % of the time unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// How long the server keeps a finished digest, scan or answer: its limits.digest_hours
    #[arg(long, value_name = "H", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..=8760))]
    pub digest_hours: u64,
}

/// The result of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// The load.
    pub load: Load,
    /// The machines.
    pub machines: Nodes,
    /// The measured costs, with the conditions of their measurement.
    pub costs: ClusterCosts,
    /// The result of each policy.
    pub policies: Vec<PolicySizing>,
}

/// The requirements of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicySizing {
    /// The rule for the times of digests, or of both rounds.
    pub policy: Policy,
    /// Runs in a day.
    pub runs_a_day: f64,
    /// Core seconds in a day.
    pub core_seconds_a_day: f64,
    /// The number of cores that would be busy all the time.
    pub cores_busy: f64,
    /// The number of nodes.
    pub nodes: u64,
    /// The number of cores of all nodes.
    pub cores: u64,
    /// The share of time that the nodes are busy.
    pub busy: f64,
    /// The median wait, from the request or from a full batch to the digest, or to the answer of the second round.
    pub wait_median_s: f64,
    /// The 99th percentile of the wait.
    pub wait_p99_s: f64,
    /// The number of unfinished runs at the end.
    pub left: u64,
    /// Bytes of keys that nodes fetch in a day.
    pub keys_a_day_bytes: u64,
    /// Bytes of messages and queries that nodes fetch in a day.
    pub messages_a_day_bytes: u64,
    /// Bits per second that all nodes together fetch, on average over their busy time.
    pub fetched_bandwidth: f64,
    /// Bytes of keys in storage.
    pub keys_bytes: u64,
    /// Bytes of digests, or of scans and answers, in storage.
    pub digests_bytes: u64,
    /// Bytes of the board after a year.
    pub board_a_year_bytes: u64,
    /// Bytes of all of these in storage.
    pub stored_bytes: u64,
    /// Bytes of memory of a node: a run with its keys, and prepared pages.
    pub memory_bytes: u64,
    /// The price of everything for a month, with the board of a year.
    pub month_price: Option<f64>,
}

impl Simulation {
    /// Simulates policies.
    #[must_use]
    pub fn new(
        policies: &[Policy],
        load: Load,
        machines: Nodes,
        costs: ClusterCosts,
        prices: &Prices,
        seed: u64,
    ) -> Self {
        let of = |policy: &Policy| {
            PolicySizing::new(*policy, load, machines, &costs.units, prices, seed)
        };
        Self {
            policies: policies.iter().map(of).collect(),
            load,
            machines,
            costs,
        }
    }
}

impl PolicySizing {
    fn new(
        policy: Policy,
        load: Load,
        machines: Nodes,
        costs: &UnitCosts,
        prices: &Prices,
        seed: u64,
    ) -> Self {
        let runs = runs(policy, &load, costs, seed);
        let days = load.days as f64;
        let all_s: f64 = runs.iter().map(|run| whole_s(run, costs)).sum();
        let cores = all_s / days / 86_400.0 / machines.efficiency / BUSY;
        let enough = (cores / machines.node_cores as f64).ceil() as u64;
        let nodes = machines.nodes.unwrap_or(enough.max(1));
        let done = queue(&runs, nodes, &machines, costs, load.days * DAY_US, seed);
        let core_s = (done.core_s + done.left_core_s) / days;
        let a_day = |bytes: u64| (bytes as f64 / days) as u64;
        let fetched = done.key_bytes + done.message_bytes;
        let worked_s = done.busy_us as f64 / 1e6 / nodes as f64;
        let kept = Kept::new(policy, &load, &machines, costs);
        let mut sizing = Self {
            policy,
            runs_a_day: (done.runs + done.left) as f64 / days,
            core_seconds_a_day: core_s,
            cores_busy: core_s / 86_400.0 / machines.efficiency,
            nodes,
            cores: nodes * machines.node_cores,
            busy: done.busy_us as f64 / (nodes * done.end_us.max(1)) as f64,
            wait_median_s: done.waits.value_at_quantile(0.5) as f64 / 1e3,
            wait_p99_s: done.waits.value_at_quantile(0.99) as f64 / 1e3,
            left: done.left,
            keys_a_day_bytes: a_day(done.key_bytes),
            messages_a_day_bytes: a_day(done.message_bytes),
            fetched_bandwidth: fetched as f64 * 8.0 / worked_s.max(1e-6),
            keys_bytes: kept.keys,
            digests_bytes: kept.digests,
            board_a_year_bytes: kept.board,
            stored_bytes: kept.keys + kept.digests + kept.board,
            memory_bytes: kept.memory,
            month_price: None,
        };
        sizing.month_price = sizing.price(prices, fetched as f64 / days);
        sizing
    }

    /// Returns the price of a month, if all prices are known.
    fn price(&self, prices: &Prices, fetched_a_day: f64) -> Option<f64> {
        let cores = self.cores as f64 * 24.0 * MONTH_DAYS * prices.core_hour_price?;
        let storage = self.stored_bytes as f64 / 1e9 * prices.gb_month_price?;
        let fetched = fetched_a_day * MONTH_DAYS / 1e9 * prices.gb_fetched_price.unwrap_or(0.0);
        Some(cores + storage + fetched)
    }
}

/// The bytes that a policy stores, and those of a node's memory.
struct Kept {
    keys: u64,
    digests: u64,
    board: u64,
    memory: u64,
}

impl Kept {
    fn new(policy: Policy, load: &Load, machines: &Nodes, costs: &UnitCosts) -> Self {
        let days = machines.digest_hours as f64 / 24.0;
        let batches = load.messages_a_day as f64 / costs.batch_messages as f64;
        let rounds = &costs.rounds;
        let digest = costs.digest_bytes as f64;
        // Of one recipient.
        let (key, digests, memory) = match policy {
            Policy::Daily | Policy::Grouped => (costs.key_bytes, digest * days, costs.memory_bytes),
            Policy::Orders => {
                let made = ORDER_DAYS * batches;
                (costs.key_bytes, digest * made, costs.memory_bytes)
            }
            Policy::TwoRounds => {
                let both = rounds.scan_bytes as f64 * batches + rounds.answer_bytes as f64;
                // A window that does not begin with a page touches one more.
                let window = load.messages_a_day.max(WINDOW);
                let pages = window.div_ceil(rounds.page_messages) + 1;
                let memory = rounds.memory_bytes + pages * rounds.page_bytes;
                (rounds.key_bytes, both * days, memory)
            }
        };
        Self {
            keys: load.recipients * key,
            digests: (load.recipients as f64 * digests) as u64,
            board: 365 * load.messages_a_day * kept_bytes(costs.message_bytes),
            memory,
        }
    }
}

#[cfg(test)]
mod tests;
