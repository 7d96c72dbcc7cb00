//! Measured costs of a batch and of a message on a machine.

use crate::measure::report::Machine;
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, InstantUnits, Setting};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::memory::key_bytes;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use serde::{Deserialize, Serialize};

/// The version of the document.
pub const COSTS_FORMAT: &str = "omr measured costs 1";

/// The number of messages that are processed at a time.
const CHUNK: usize = 64;

/// The costs of a batch and of a message on a machine, in processor time, which other work on the machine affects
/// less than wall-clock time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCosts {
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
    /// Core seconds of a digest of one full batch by SophOMR.
    pub batch_core_s: f64,
    /// Core seconds of a message by InstantOMR, several in flight.
    pub message_core_s: f64,
    /// The peak memory of a detector for batches, including its key.
    pub bulk_peak_bytes: u64,
    /// The peak memory of a detector for single messages, including its key.
    pub instant_peak_bytes: u64,
    /// Bytes of an InstantOMR key in memory, computed from its size.
    pub instant_key_memory_bytes: u64,
    /// Microseconds of the yardstick, if built in. The ratio of yardsticks scales times to other machines.
    pub yardstick_us: Option<f64>,
}

impl MeasuredCosts {
    /// Measures both engines on this machine, one thread at a time, with payloads of 612 bytes and a bound of 50.
    ///
    /// Errors: those of all steps; `Params` if the set lacks an engine.
    pub fn measure(
        set: &ParamSet,
        command: String,
        date: String,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let (bulk, instant) = (set.sophomr()?, set.instantomr()?);
        let yardstick = Yardstick::start(true);
        // First, because a process's peak never decreases.
        let mut units = InstantUnits::new(instant, CHUNK as u64, None, seed)?;
        let message_core_s = units.message_core_s(CHUNK)?;
        let instant_peak_bytes = peak_rss_bytes();
        let kernels = units.kernels();
        drop(units);
        let digest = DigestBench {
            pertinent: 50.min(bulk.slots() / 4),
            ..DigestBench::new(Setting::of_batch(set, seed, bulk.slots() as u64))
        };
        let figures = digest.run(progress)?;
        let yardstick_us = yardstick.mean();
        let file_bytes = InstantKey::file_bytes_of(instant, ClueKind::Bound);
        Ok(Self {
            format: COSTS_FORMAT.to_owned(),
            command,
            date,
            machine: Machine::here(kernels),
            params: set.name().to_owned(),
            batch_core_s: figures.cost.digest_s * figures.cost.cpu_share,
            message_core_s,
            bulk_peak_bytes: figures.cost.peak_rss_bytes,
            instant_peak_bytes,
            instant_key_memory_bytes: key_bytes(EngineKind::Instantomr, file_bytes),
            yardstick_us,
        })
    }

    /// Returns whether the version is known and every cost is possible.
    pub fn is_sound(&self) -> bool {
        let times = [self.batch_core_s, self.message_core_s];
        self.format == COSTS_FORMAT
            && times.iter().all(|time| time.is_finite() && *time > 0.0)
            && self
                .yardstick_us
                .is_none_or(|us| us.is_finite() && us > 0.0)
    }
}
