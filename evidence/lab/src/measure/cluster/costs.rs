//! Measured costs of units of work.

use super::policy::{Run, Work};
use crate::measure::Machine;
use omr_protocol::sophomr::Params;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The version of the document.
const FORMAT: &str = "omr cluster costs 2";

/// Costs of units of work, and the conditions of their measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterCosts {
    /// The version of the document.
    pub format: String,
    /// The command that measured them.
    pub command: String,
    /// The date of the measurement.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// The name of the parameter set.
    pub params: String,
    /// The number of threads.
    pub threads: usize,
    /// The costs.
    #[serde(flatten)]
    pub units: UnitCosts,
}

/// Core seconds and bytes of units of work of each engine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitCosts {
    /// The number of messages in a batch.
    pub batch_messages: u64,
    /// The number of recipients that one run served.
    pub together: u64,
    /// Core seconds of the first recipient's first batch.
    pub first_core_s: f64,
    /// Core seconds of each further batch of the first recipient.
    pub next_batch_core_s: f64,
    /// Core seconds of each further recipient's first batch.
    pub further_core_s: f64,
    /// Core seconds of each further batch of a further recipient.
    pub further_next_batch_core_s: f64,
    /// Core seconds of reading a key.
    pub load_core_s: f64,
    /// Bytes of a key's file.
    pub key_bytes: u64,
    /// Bytes of a message: clue and payload.
    pub message_bytes: u64,
    /// Bytes of a digest.
    pub digest_bytes: u64,
    /// Bytes of memory of a run of digests, with its keys.
    pub memory_bytes: u64,
    /// Core seconds of a message by InstantOMR, if the set has it.
    pub message_core_s: Option<f64>,
    /// The costs of two rounds.
    pub rounds: RoundsCosts,
}

/// Core seconds and bytes of both rounds over a batch of messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsCosts {
    /// Core seconds of the first recipient's scan.
    pub scan_core_s: f64,
    /// Core seconds of each further recipient's scan.
    pub further_scan_core_s: f64,
    /// Core seconds of the answer to the first recipient's query.
    pub fetch_core_s: f64,
    /// Core seconds of the answer to each further recipient's query.
    pub further_fetch_core_s: f64,
    /// Core seconds of preparing a page.
    pub page_core_s: f64,
    /// Core seconds of reading a key.
    pub load_core_s: f64,
    /// The number of messages of a page.
    pub page_messages: u64,
    /// The number of messages of a block. A scan of no more contains their payloads, so that no fetch follows.
    pub block_messages: u64,
    /// Bytes of a key's file.
    pub key_bytes: u64,
    /// Bytes of a scan.
    pub scan_bytes: u64,
    /// Bytes of a query.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
    /// Bytes of memory of a prepared page.
    pub page_bytes: u64,
    /// Bytes of memory of a run of scans, with its keys.
    pub memory_bytes: u64,
}

impl ClusterCosts {
    /// Returns a document of costs that were just measured on this machine.
    pub(super) fn new(
        command: String,
        date: String,
        params: &Params,
        threads: usize,
        units: UnitCosts,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            command,
            date,
            machine: Machine::here(params.ring.kernels().name()),
            params: params.name().to_owned(),
            threads,
            units,
        }
    }

    /// Returns whether the version is known and every cost is possible.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let units = &self.units;
        let times = [
            units.first_core_s,
            units.next_batch_core_s,
            units.further_core_s,
            units.further_next_batch_core_s,
            units.load_core_s,
            units.rounds.scan_core_s,
            units.rounds.further_scan_core_s,
            units.rounds.fetch_core_s,
            units.rounds.further_fetch_core_s,
            units.rounds.page_core_s,
            units.rounds.load_core_s,
        ];
        let sizes = [
            units.batch_messages,
            units.together,
            units.key_bytes,
            units.rounds.block_messages,
            units.rounds.page_messages,
            units.rounds.key_bytes,
        ];
        self.format == FORMAT
            && times.iter().all(|time| time.is_finite() && *time > 0.0)
            && sizes.iter().all(|size| *size > 0)
    }
}

impl UnitCosts {
    /// Returns the core seconds of a run, including its keys; without pages that it has to prepare.
    pub(super) fn run_s(&self, run: &Run) -> f64 {
        let recipients = run.recipients as f64;
        let further = recipients - 1.0;
        let rounds = &self.rounds;
        match run.work {
            Work::Digests { batches } => {
                let next = batches as f64 - 1.0;
                self.load_core_s * recipients
                    + self.first_core_s
                    + self.next_batch_core_s * next
                    + self.further_core_s * further
                    + self.further_next_batch_core_s * further * next
            }
            Work::Scans { board } => {
                let blocks = touched(board, run.messages, rounds.block_messages);
                let messages = (blocks.end - blocks.start) * rounds.block_messages;
                let batches = messages as f64 / self.batch_messages as f64;
                rounds.load_core_s * recipients
                    + (rounds.scan_core_s + rounds.further_scan_core_s * further) * batches
            }
            Work::Fetches { board } => {
                let pages = touched(board, run.messages, rounds.page_messages);
                let of_batch = self.batch_messages.div_ceil(rounds.page_messages);
                let batches = (pages.end - pages.start) as f64 / of_batch as f64;
                rounds.load_core_s * recipients
                    + (rounds.fetch_core_s + rounds.further_fetch_core_s * further) * batches
            }
        }
    }

    /// Returns the bytes of a recipient's key for some work.
    pub(super) fn key_bytes(&self, work: Work) -> u64 {
        match work {
            Work::Digests { .. } => self.key_bytes,
            Work::Scans { .. } | Work::Fetches { .. } => self.rounds.key_bytes,
        }
    }
}

impl RoundsCosts {
    /// Returns the number of pages with the last messages of a board that a node has to prepare, if it prepared them
    /// last for a board of `before` messages.
    pub(super) fn stale_pages(&self, board: u64, messages: u64, before: u64) -> u64 {
        if before == board {
            return 0;
        }
        let all = touched(board, messages, self.page_messages);
        all.end - all.start.max(before.min(board) / self.page_messages)
    }
}

/// Returns the blocks or pages of `size` messages that have one of the last messages of a board.
fn touched(board: u64, messages: u64, size: u64) -> Range<u64> {
    board.saturating_sub(messages) / size..board.div_ceil(size)
}
