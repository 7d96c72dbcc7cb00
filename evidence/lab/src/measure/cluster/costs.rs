//! Measured costs of units of work.

use crate::measure::Machine;
use omr_protocol::sophomr::Params;
use serde::{Deserialize, Serialize};

/// The version of the document.
const FORMAT: &str = "omr cluster costs 1";

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

/// Core seconds and bytes of SophOMR's units of work.
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
        ];
        let sizes = [units.batch_messages, units.together, units.key_bytes];
        self.format == FORMAT
            && times.iter().all(|time| time.is_finite() && *time > 0.0)
            && sizes.iter().all(|size| *size > 0)
    }
}

impl UnitCosts {
    /// Returns the core seconds of a run for `recipients` recipients over `batches` batches, with their keys in
    /// memory.
    pub(super) fn run_s(&self, recipients: u64, batches: u64) -> f64 {
        let (further, next) = (recipients as f64 - 1.0, batches as f64 - 1.0);
        self.first_core_s
            + self.next_batch_core_s * next
            + self.further_core_s * further
            + self.further_next_batch_core_s * further * next
    }
}
