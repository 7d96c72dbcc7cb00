//! Processor time: what work takes while other processes share the machine.

/// Seconds the calling thread has worked.
pub(crate) fn thread_seconds() -> f64 {
    clock::seconds(clock::Clock::Thread)
}

/// Seconds all threads of this process have worked.
pub(crate) fn process_seconds() -> f64 {
    clock::seconds(clock::Clock::Process)
}

#[cfg(unix)]
mod clock {
    use rustix::time::{ClockId, clock_gettime};

    pub(super) enum Clock {
        Thread,
        Process,
    }

    pub(super) fn seconds(clock: Clock) -> f64 {
        let time = clock_gettime(match clock {
            Clock::Thread => ClockId::ThreadCPUTime,
            Clock::Process => ClockId::ProcessCPUTime,
        });
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }
}

/// Elsewhere the time on the wall stands in.
#[cfg(not(unix))]
mod clock {
    use std::sync::LazyLock;
    use std::time::Instant;

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) enum Clock {
        Thread,
        Process,
    }

    pub(super) fn seconds(_: Clock) -> f64 {
        START.elapsed().as_secs_f64()
    }
}
