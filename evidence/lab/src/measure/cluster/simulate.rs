//! The simulation of the queue and the nodes, run by run.

use super::policy::{DAY_US, Load, Policy, Prices, Run, runs};
use super::{ClusterCosts, UnitCosts};
use crate::measure::sizing::{BUSY, kept_bytes};
use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The days of a month, for prices.
const MONTH_DAYS: f64 = 365.0 / 12.0;
/// The largest wait, in milliseconds, that the histogram distinguishes: three years.
const LONGEST_MS: u64 = 100_000_000_000;
/// The days that a server keeps finished digests by default, for single digests and for orders.
const DIGEST_DAYS: f64 = 7.0;
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
    /// The rule for the times of digests.
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
    /// The median wait, from the request or from a full batch to the digest.
    pub wait_median_s: f64,
    /// The 99th percentile of the wait.
    pub wait_p99_s: f64,
    /// The number of unfinished runs at the end.
    pub left: u64,
    /// Bytes of keys that nodes fetch in a day.
    pub keys_a_day_bytes: u64,
    /// Bytes of messages that nodes fetch in a day.
    pub messages_a_day_bytes: u64,
    /// Bits per second that all nodes together fetch, on average over their busy time.
    pub fetched_bandwidth: f64,
    /// Bytes of keys in storage.
    pub keys_bytes: u64,
    /// Bytes of digests in storage.
    pub digests_bytes: u64,
    /// Bytes of the board after a year.
    pub board_a_year_bytes: u64,
    /// The price of everything for a month, with the board of a year.
    pub month_price: Option<f64>,
}

/// The result of a queue.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) core_s: f64,
    pub(super) busy_us: u64,
    pub(super) end_us: u64,
    pub(super) left: u64,
    key_bytes: u64,
    message_bytes: u64,
    waits: Histogram<u64>,
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
        let core_s = runs.iter().map(|run| core_s(run, costs)).sum::<f64>() / days;
        let cores_busy = core_s / 86_400.0 / machines.efficiency;
        let enough = (cores_busy / BUSY / machines.node_cores as f64).ceil() as u64;
        let nodes = machines.nodes.unwrap_or(enough.max(1));
        let done = queue(&runs, nodes, &machines, costs, load.days * DAY_US);
        let a_day = |bytes: u64| (bytes as f64 / days) as u64;
        let fetched = done.key_bytes + done.message_bytes;
        let worked_s = done.busy_us as f64 / 1e6 / nodes as f64;
        let kept = match policy {
            Policy::Daily | Policy::Grouped => DIGEST_DAYS,
            Policy::Orders => ORDER_DAYS * load.messages_a_day as f64 / costs.batch_messages as f64,
        };
        let mut sizing = Self {
            policy,
            runs_a_day: runs.len() as f64 / days,
            core_seconds_a_day: core_s,
            cores_busy,
            nodes,
            cores: nodes * machines.node_cores,
            busy: done.busy_us as f64 / (nodes * done.end_us.max(1)) as f64,
            wait_median_s: done.waits.value_at_quantile(0.5) as f64 / 1e3,
            wait_p99_s: done.waits.value_at_quantile(0.99) as f64 / 1e3,
            left: done.left,
            keys_a_day_bytes: a_day(done.key_bytes),
            messages_a_day_bytes: a_day(done.message_bytes),
            fetched_bandwidth: fetched as f64 * 8.0 / worked_s.max(1e-6),
            keys_bytes: load.recipients * costs.key_bytes,
            digests_bytes: (load.recipients as f64 * costs.digest_bytes as f64 * kept) as u64,
            board_a_year_bytes: 365 * load.messages_a_day * kept_bytes(costs.message_bytes),
            month_price: None,
        };
        sizing.month_price = sizing.price(prices, fetched as f64 / days);
        sizing
    }

    /// Returns the price of a month, if all prices are known.
    fn price(&self, prices: &Prices, fetched_a_day: f64) -> Option<f64> {
        let stored = self.keys_bytes + self.digests_bytes + self.board_a_year_bytes;
        let cores = self.cores as f64 * 24.0 * MONTH_DAYS * prices.core_hour_price?;
        let storage = stored as f64 / 1e9 * prices.gb_month_price?;
        let fetched = fetched_a_day * MONTH_DAYS / 1e9 * prices.gb_fetched_price.unwrap_or(0.0);
        Some(cores + storage + fetched)
    }
}

/// Returns the core seconds of a run, including its keys.
pub(super) fn core_s(run: &Run, costs: &UnitCosts) -> f64 {
    run.recipients as f64 * costs.load_core_s + costs.run_s(run.recipients, run.batches)
}

/// Processes runs in order, on nodes that process one at a time, up to a time.
pub(super) fn queue(
    runs: &[Run],
    nodes: u64,
    machines: &Nodes,
    costs: &UnitCosts,
    end_us: u64,
) -> Outcome {
    let mut done = Outcome {
        core_s: 0.0,
        busy_us: 0,
        end_us,
        left: 0,
        key_bytes: 0,
        message_bytes: 0,
        waits: Histogram::new_with_bounds(1, LONGEST_MS, 3).expect("three digits"),
    };
    // The time at which each node is free, and the messages that it last processed.
    let mut free: BinaryHeap<Reverse<(u64, u64)>> =
        (0..nodes).map(|node| Reverse((0, node))).collect();
    let mut hot = vec![u64::MAX; nodes as usize];
    let mut waiting = VecDeque::new();
    let mut coming = runs.iter().peekable();
    while let Some(Reverse((since, node))) = free.pop() {
        let next = coming.peek().map(|run| run.at_us);
        let now = match (waiting.is_empty(), next) {
            (false, _) => since,
            (true, Some(at)) => since.max(at),
            (true, None) => break,
        };
        while let Some(run) = coming.next_if(|run| run.at_us <= now) {
            waiting.push_back(run);
        }
        if now >= end_us {
            break;
        }
        let Some(run) = waiting.pop_front() else {
            free.push(Reverse((now, node)));
            continue;
        };
        // A node that was idle starts a run when the run is requested, not before.
        let now = now.max(run.at_us);
        let messages = if std::mem::replace(&mut hot[node as usize], run.piece) == run.piece {
            0
        } else {
            run.messages * costs.message_bytes
        };
        let keys = run.recipients * costs.key_bytes;
        let work_s = core_s(run, costs) / (machines.node_cores as f64 * machines.efficiency);
        let fetch_s = (keys + messages) as f64 * 8.0 / machines.node_bandwidth;
        let takes_us = (work_s.max(fetch_s) * 1e6).ceil() as u64;
        done.core_s += core_s(run, costs);
        done.busy_us += takes_us.min(end_us.saturating_sub(now));
        done.key_bytes += keys;
        done.message_bytes += messages;
        // In milliseconds.
        done.waits
            .saturating_record((now + takes_us - run.at_us) / 1000);
        free.push(Reverse((now + takes_us, node)));
    }
    done.left = (waiting.len() + coming.count()) as u64;
    done
}

#[cfg(test)]
mod tests;
