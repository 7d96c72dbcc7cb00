//! The number of heaps of the system's allocator. Each heap reserves a range of addresses.

/// Makes threads share heaps where the process's addresses are limited (`ulimit -v`), so that they take an eighth of the limit
/// at most. By default the GNU C library keeps 64 MiB of addresses for each of up to eight threads a core, whether they use
/// them or not, and the rest of the process soon finds none. For programs, before their first thread.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        if let Some(limit) = super::own_limit(&limits, "Max address space") {
            set_heaps(heaps(limit));
        }
    }
}

/// Heaps for a limit of addresses in bytes, the first one among them, which keeps none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn heaps(limit: u64) -> i32 {
    const EACH: u64 = 64 << 20;
    const MOST: u64 = 128;
    (limit / 8 / EACH).clamp(1, MOST) as i32
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn set_heaps(heaps: i32) {
    // SAFETY: it sets a number of the allocator and takes no pointer. A number that it does not take changes nothing.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, heaps) };
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::heaps;

    #[test]
    fn heaps_take_an_eighth_of_the_addresses() {
        let of = |mebibytes: u64| heaps(mebibytes << 20);
        assert_eq!([0, 400, 1023, 1024, 4096].map(of), [1, 1, 1, 2, 8]);
        assert_eq!(of(u64::MAX >> 20), 128);
    }
}
