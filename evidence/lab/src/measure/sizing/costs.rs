//! What a machine needs for a batch and for a message, measured.

use crate::measure::cpu::process_seconds;
use crate::measure::median::median_of_runs;
use crate::measure::report::Machine;
use crate::measure::yardstick::Yardstick;
use crate::measure::{BenchError, DigestBench, InstantUnits, Setting};
use omr_console::peak_rss_bytes;
use omr_detector::Progress;
use omr_detector::memory::key_bytes;
use omr_protocol::instantomr::InstantKey;
use omr_protocol::{ClueKind, EngineKind, ParamSet};
use serde::{Deserialize, Serialize};

/// Version of the document.
pub const COSTS_FORMAT: &str = "omr measured costs 1";

/// Messages in flight.
const LOT: usize = 64;
/// Runs of a lot, of which the median counts.
const RUNS: usize = 5;

/// What a machine needs for a batch and for a message: processor time, which other work on the machine
/// disturbs less than the time on the wall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCosts {
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
    /// Core seconds of a digest of one full batch by SophOMR.
    pub batch_core_s: f64,
    /// Core seconds of a message by InstantOMR, several in flight.
    pub message_core_s: f64,
    /// The most memory of a detector for batches, its key included.
    pub bulk_peak_bytes: u64,
    /// The most memory of a detector for single messages, its key included.
    pub instant_peak_bytes: u64,
    /// What an InstantOMR key takes in memory, by its size.
    pub instant_key_memory_bytes: u64,
    /// Microseconds of the yardstick, if built in: its ratio scales times to other machines.
    pub yardstick_us: Option<f64>,
}

impl MeasuredCosts {
    /// Measures both engines on this machine with one thread's worth of work at a time, payloads of
    /// 612 bytes and a bound of 50.
    ///
    /// Errors: a step's; `Params` where the set lacks an engine.
    pub fn measure(
        set: &ParamSet,
        (command, date): (String, String),
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let (bulk, instant) = (set.sophomr()?, set.instantomr()?);
        let yardstick = Yardstick::start(true);
        // First, since a process's peak never falls.
        let mut units = InstantUnits::new(instant, LOT as u64, None, seed)?;
        let pushed = median_of_runs(RUNS, || {
            let before = process_seconds();
            units.push(LOT).map(|()| process_seconds() - before)
        });
        let message_core_s = pushed? / LOT as f64;
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

    /// Whether every cost is one that a machine can have, under a version that is known.
    pub fn is_sound(&self) -> bool {
        let times = [self.batch_core_s, self.message_core_s];
        self.format == COSTS_FORMAT
            && times.iter().all(|time| time.is_finite() && *time > 0.0)
            && self
                .yardstick_us
                .is_none_or(|us| us.is_finite() && us > 0.0)
    }
}
