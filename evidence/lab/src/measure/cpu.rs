//! Processor time, which other processes on the machine affect little.

/// Returns the seconds that all threads of this process have run.
#[cfg(unix)]
pub(crate) fn process_seconds() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// On other systems, wall-clock time replaces it.
#[cfg(not(unix))]
pub(crate) fn process_seconds() -> f64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}
