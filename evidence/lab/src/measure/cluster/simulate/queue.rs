//! The queue and the nodes, run by run.

use super::Nodes;
use crate::measure::cluster::UnitCosts;
use crate::measure::cluster::policy::{Run, Work};
use chacha20::ChaCha20Rng;
use hdrhistogram::Histogram;
use rand_core::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use std::slice::Iter;

/// The largest wait, in milliseconds, that the histogram distinguishes: three years.
const LONGEST_MS: u64 = 100_000_000_000;
/// The least and the greatest time from the end of a scan to the recipient's query, in microseconds: a phone fetches the
/// scan, decrypts it and uploads the query.
const ASKING_US: [u64; 2] = [1_000_000, 5_000_000];

/// The result of a queue.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) core_s: f64,
    pub(crate) busy_us: u64,
    pub(crate) end_us: u64,
    pub(crate) runs: u64,
    pub(crate) left: u64,
    pub(crate) left_core_s: f64,
    pub(crate) key_bytes: u64,
    pub(crate) message_bytes: u64,
    pub(crate) waits: Histogram<u64>,
}

/// Returns the core seconds of a run with the fetches that follow it, if they run together; without preparing pages.
pub(super) fn whole_s(run: &Run, costs: &UnitCosts) -> f64 {
    let fetch = run.fetch(costs);
    costs.run_s(run) + fetch.map_or(0.0, |fetch| costs.run_s(&fetch))
}

/// The runs that wait, in the order of their requests.
struct Line<'a> {
    coming: Peekable<Iter<'a, Run>>,
    /// Fetches of single recipients, whose scans are done or being made.
    asking: BinaryHeap<Reverse<Run>>,
    waiting: VecDeque<Run>,
}

impl Line<'_> {
    /// Returns the time of the next request.
    fn next_at(&mut self) -> Option<u64> {
        let coming = self.coming.peek().map(|run| run.at_us);
        let asking = self.asking.peek().map(|Reverse(run)| run.at_us);
        coming.into_iter().chain(asking).min()
    }

    /// Returns the time from which a node that is free since `since` has work.
    fn ready(&mut self, since: u64) -> Option<u64> {
        if self.waiting.is_empty() {
            self.next_at().map(|at| since.max(at))
        } else {
            Some(since)
        }
    }

    /// Returns the first run that was requested until `now`. Fetches of the same messages that wait behind one another
    /// run together.
    fn take(&mut self, now: u64, together: u64) -> Option<Run> {
        while let Some(at) = self.next_at().filter(|at| *at <= now) {
            let coming = self.coming.next_if(|run| run.at_us == at).copied();
            let next = coming.or_else(|| self.asking.pop().map(|Reverse(run)| run));
            self.waiting.extend(next);
        }
        let mut first = self.waiting.pop_front()?;
        while let Work::Fetches { .. } = first.work
            && let Some(next) = self.waiting.pop_front_if(|next| {
                (next.work, next.piece) == (first.work, first.piece)
                    && first.recipients + next.recipients <= together
            })
        {
            first.recipients += next.recipients;
            first.at_us = next.at_us;
        }
        Some(first)
    }
}

/// The data that a node has in memory.
#[derive(Clone)]
struct Held {
    /// The messages that it processed last.
    piece: Option<u64>,
    /// The length of the board for which it prepared pages last.
    prepared: u64,
}

/// Processes runs in order, on nodes that process one at a time, up to a time. `seed` is that of the times that
/// recipients take between both rounds.
pub(crate) fn queue(
    runs: &[Run],
    nodes: u64,
    machines: &Nodes,
    costs: &UnitCosts,
    end_us: u64,
    seed: u64,
) -> Outcome {
    let mut done = Outcome {
        core_s: 0.0,
        busy_us: 0,
        end_us,
        runs: 0,
        left: 0,
        left_core_s: 0.0,
        key_bytes: 0,
        message_bytes: 0,
        waits: Histogram::new_with_bounds(1, LONGEST_MS, 3).expect("three digits"),
    };
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    // The time at which each node is free.
    let mut free: BinaryHeap<Reverse<(u64, u64)>> =
        (0..nodes).map(|node| Reverse((0, node))).collect();
    let nothing = Held {
        piece: None,
        prepared: 0,
    };
    let mut held = vec![nothing; nodes as usize];
    let mut line = Line {
        coming: runs.iter().peekable(),
        asking: BinaryHeap::new(),
        waiting: VecDeque::new(),
    };
    while let Some(Reverse((since, node))) = free.pop() {
        let Some(now) = line.ready(since).filter(|now| *now < end_us) else {
            break;
        };
        let Some(run) = line.take(now, costs.together) else {
            break;
        };
        // A node that was idle starts a run when the run is requested, not before.
        let now = now.max(run.at_us);
        let (pages, messages) = held[node as usize].lacks(&run, costs);
        let core_s = costs.run_s(&run) + pages as f64 * costs.rounds.page_core_s;
        let queries = match run.work {
            Work::Fetches { .. } => run.recipients * costs.rounds.query_bytes,
            Work::Digests { .. } | Work::Scans { .. } => 0,
        };
        let keys = run.recipients * costs.key_bytes(run.work);
        let messages = messages * costs.message_bytes + queries;
        let work_s = core_s / (machines.node_cores as f64 * machines.efficiency);
        let fetch_s = (keys + messages) as f64 * 8.0 / machines.node_bandwidth;
        let takes_us = (work_s.max(fetch_s) * 1e6).ceil() as u64;
        done.runs += 1;
        done.core_s += core_s;
        done.busy_us += takes_us.min(end_us.saturating_sub(now));
        done.key_bytes += keys;
        done.message_bytes += messages;
        let end = now + takes_us;
        match run.fetch(costs) {
            Some(fetch) => line.asking.extend((0..run.recipients).map(|_| {
                let [least, most] = ASKING_US;
                Reverse(Run {
                    at_us: end + least + rng.next_u64() % (most - least),
                    recipients: 1,
                    ..fetch
                })
            })),
            // In milliseconds.
            None => done.waits.saturating_record((end - run.begun_us) / 1000),
        }
        free.push(Reverse((end, node)));
    }
    let asking = line.asking.into_iter().map(|Reverse(run)| run);
    for run in line
        .waiting
        .into_iter()
        .chain(asking)
        .chain(line.coming.copied())
    {
        done.left += 1;
        done.left_core_s += whole_s(&run, costs);
    }
    done
}

impl Held {
    /// Returns the numbers of pages that a node has to prepare and of messages that it has to fetch for a run; it has
    /// them afterwards.
    fn lacks(&mut self, run: &Run, costs: &UnitCosts) -> (u64, u64) {
        if let Work::Fetches { board } = run.work {
            let pages = costs.rounds.stale_pages(board, run.messages, self.prepared);
            self.prepared = board;
            return (pages, pages * costs.rounds.page_messages);
        }
        let is_there = self.piece.replace(run.piece) == Some(run.piece);
        (0, if is_there { 0 } else { run.messages })
    }
}

#[cfg(test)]
pub(super) mod tests;
