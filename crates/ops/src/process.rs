//! Memory, file descriptors and start time of this process.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
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
        let started = (
            "process_start_time",
            "Start of the process",
            Some(Unit::Seconds),
        );
        gauge(&mut encoder, started, self.started)?;
        if let Some(bytes) = resident_bytes() {
            let name = (
                "process_resident_memory",
                "Resident memory",
                Some(Unit::Bytes),
            );
            gauge(&mut encoder, name, bytes as f64)?;
        }
        if let Some(bytes) = memory_limit() {
            let name = ("process_memory_limit", "Most memory", Some(Unit::Bytes));
            gauge(&mut encoder, name, bytes as f64)?;
        }
        if let Some(open) = open_files() {
            gauge(
                &mut encoder,
                ("process_open_fds", "Open file descriptors", None),
                open as f64,
            )?;
        }
        if let Some(most) = most_files() {
            let name = ("process_max_fds", "Most file descriptors", None);
            gauge(&mut encoder, name, most as f64)?;
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<Unit>),
    value: f64,
) -> Result<(), std::fmt::Error> {
    let gauge = ConstGauge::new(value);
    let encoder = encoder.encode_descriptor(name, help, unit.as_ref(), gauge.metric_type())?;
    gauge.encode(encoder)
}

/// The memory of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in memory; `None` where the system does not report them.
    pub used: Option<u64>,
    /// The most there may be: the least of what its control groups and the machine have.
    pub limit: Option<u64>,
}

impl Memory {
    /// The memory that this process uses now.
    pub fn now() -> Self {
        Self {
            used: resident_bytes(),
            limit: memory_limit(),
        }
    }
}

/// The machine's memory, or less where a control group (version 2) that the process is in sets a limit.
fn memory_limit() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| kibibytes(&text, "MemTotal:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let limits = group_limits(Path::new("/sys/fs/cgroup"), group.unwrap_or_default());
    machine.into_iter().chain(limits).min()
}

/// Limits of a control group and of those that it is in.
fn group_limits(root: &Path, group: &str) -> Vec<u64> {
    let folder = root.join(group);
    let above = folder.ancestors().take_while(|at| at.starts_with(root));
    // `max` where there is no limit.
    let limit = |at: &Path| {
        fs::read_to_string(at.join("memory.max"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    above.filter_map(limit).collect()
}

/// A value of a file of `/proc` with lines `NAME: VALUE kB`, whose unit is 1,024 bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn resident_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
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
    fn the_limit_is_the_least_of_all_groups_above() {
        let root = tempfile::tempdir().expect("a folder");
        let inner = root.path().join("system/omr");
        fs::create_dir_all(&inner).expect("folders");
        let limit = |at: &str, text: &str| {
            fs::write(root.path().join(at).join("memory.max"), text).expect("written");
        };
        limit("system", "2147483648\n");
        limit("system/omr", "max\n");
        assert_eq!(group_limits(root.path(), "system/omr"), [1 << 31]);
        limit("system/omr", "4096\n");
        assert_eq!(group_limits(root.path(), "system/omr"), [4096, 1 << 31]);
        assert_eq!(group_limits(root.path(), "gone"), Vec::<u64>::new());
        let Memory { used, limit } = Memory::now();
        assert!(used.expect("used") < limit.expect("a limit"));
    }

    #[test]
    fn memory_and_files_are_those_of_this_process() {
        let bytes = resident_bytes().expect("linux has VmRSS");
        assert!((1 << 18..1 << 36).contains(&bytes), "{bytes}");
        let before = open_files().expect("linux has /proc/self/fd");
        let held: Vec<_> = (0..50)
            .map(|_| fs::File::open("/proc/self/status").expect("readable"))
            .collect();
        // Other tests open files at the same time, a few at most.
        assert!(open_files().expect("as before") + 20 > before + held.len() as u64);
        assert!(most_files().expect("linux has limits") >= before);
    }
}
