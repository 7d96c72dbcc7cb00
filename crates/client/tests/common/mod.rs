//! Measurement of memory for tests.

pub(crate) const MIB: usize = 1 << 20;

/// Returns the largest memory that this process has used, in bytes.
pub(crate) fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() << 10
}
