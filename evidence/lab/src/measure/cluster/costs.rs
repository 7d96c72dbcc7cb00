//! What units of work cost, measured.

use crate::measure::Machine;
use serde::{Deserialize, Serialize};

/// Version of the document.
const FORMAT: &str = "omr cluster costs 1";

/// Costs of units of work and where they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterCosts {
    /// Version of the document.
    pub format: String,
    /// What made it.
    pub command: String,
    /// When.
    pub date: String,
    /// Where.
    pub machine: Machine,
    /// Name of the parameter set.
    pub params: String,
    /// Threads that worked.
    pub threads: usize,
    /// The costs.
    #[serde(flatten)]
    pub units: UnitCosts,
}

/// Core seconds and bytes of units of work by SophOMR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitCosts {
    /// Messages of a batch.
    pub batch_messages: u64,
    /// Recipients that one run served.
    pub together: u64,
    /// Core seconds of one recipient's first batch.
    pub first_core_s: f64,
    /// Of each further batch of hers.
    pub next_batch_core_s: f64,
    /// Of each further recipient's first batch.
    pub further_core_s: f64,
    /// Of each further batch of a further recipient.
    pub further_next_batch_core_s: f64,
    /// Of reading a key.
    pub load_core_s: f64,
    /// Bytes of a key's file.
    pub key_bytes: u64,
    /// Bytes of a message, its clue and its payload.
    pub message_bytes: u64,
    /// Bytes of a digest.
    pub digest_bytes: u64,
}

impl ClusterCosts {
    /// A document of costs that were measured here and now.
    pub(super) fn new(
        (command, date): (String, String),
        (params, kernels): (&str, &str),
        threads: usize,
        units: UnitCosts,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            command,
            date,
            machine: Machine::here(kernels),
            params: params.to_owned(),
            threads,
            units,
        }
    }

    /// Whether every cost is one that a machine can have, under a version that is known.
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
    /// Core seconds of a run for so many recipients over so many batches, their keys in memory.
    pub(super) fn run_s(&self, recipients: u64, batches: u64) -> f64 {
        let (further, next) = (recipients as f64 - 1.0, batches as f64 - 1.0);
        self.first_core_s
            + self.next_batch_core_s * next
            + self.further_core_s * further
            + self.further_next_batch_core_s * further * next
    }
}
