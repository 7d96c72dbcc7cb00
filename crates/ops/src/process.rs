//! Memory, file descriptors and start time of this process, as metrics.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use omr_memory::Memory;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Memory and file descriptors of this process, read when they are asked for.
///
/// On systems without `/proc` only the time of the start is reported.
#[derive(Debug)]
pub(crate) struct ProcessCollector {
    started: f64,
}

impl ProcessCollector {
    /// Takes now as the process's start.
    pub(crate) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            started: since.map_or(0.0, |since| since.as_secs_f64()),
        }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        gauge(
            &mut encoder,
            "process_start_time",
            "Start of the process",
            Some(Unit::Seconds),
            self.started,
        )?;
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let counter = ConstCounter::new(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9);
        let seconds = encoder.encode_descriptor(
            "process_cpu",
            "Processor time of user and system",
            Some(&Unit::Seconds),
            counter.metric_type(),
        )?;
        counter.encode(seconds)?;
        let memory = Memory::now();
        if let Some(bytes) = memory.used {
            gauge(
                &mut encoder,
                "process_resident_memory",
                "Resident memory",
                Some(Unit::Bytes),
                bytes as f64,
            )?;
        }
        if let Some(bytes) = memory.limit {
            gauge(
                &mut encoder,
                "process_memory_limit",
                "Most memory",
                Some(Unit::Bytes),
                bytes as f64,
            )?;
        }
        if let Some(open) = open_files() {
            gauge(
                &mut encoder,
                "process_open_fds",
                "Open file descriptors",
                None,
                open as f64,
            )?;
        }
        if let Some(most) = most_files() {
            gauge(
                &mut encoder,
                "process_max_fds",
                "Most file descriptors",
                None,
                most as f64,
            )?;
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<Unit>,
    value: f64,
) -> Result<(), std::fmt::Error> {
    let gauge = ConstGauge::new(value);
    let encoder = encoder.encode_descriptor(name, help, unit.as_ref(), gauge.metric_type())?;
    gauge.encode(encoder)
}

fn open_files() -> Option<u64> {
    let entries = fs::read_dir(Path::new("/proc/self/fd")).ok()?;
    // The directory itself is open while it is read.
    u64::try_from(entries.count().saturating_sub(1)).ok()
}

/// The soft limit, which is what `open` meets.
fn most_files() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn files_are_those_of_this_process() {
        let before = open_files().expect("linux has /proc/self/fd");
        let held: Vec<_> = (0..50)
            .map(|_| fs::File::open("/proc/self/status").expect("readable"))
            .collect();
        // Other tests open files at the same time, a few at most.
        assert!(open_files().expect("as before") + 20 > before + held.len() as u64);
        assert!(most_files().expect("linux has limits") >= before);
    }
}
