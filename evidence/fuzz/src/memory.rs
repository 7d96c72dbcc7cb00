//! Memory that a parser takes, in relation to the bytes that it was given.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What any parser may take: buffers and tables of fixed size.
const FIXED: usize = 8 << 20;

/// Runs `parse`, which was given so many bytes. What others of this process take meanwhile counts too.
///
/// Panics: when it took more than 8 MiB and `each` bytes a byte.
pub(crate) fn bounded<T>(bytes: usize, each: usize, parse: impl FnOnce() -> T) -> T {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let parsed = parse();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + each * bytes;
    assert!(
        taken <= most,
        "expected at most {most} bytes of memory for {bytes} bytes, found {taken}"
    );
    parsed
}
