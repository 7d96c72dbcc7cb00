//! The memory that a parser uses, in relation to its input.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The bytes that any parser may use for buffers and tables of fixed size.
const FIXED: usize = 8 << 20;

/// Runs `parse`, whose input has `bytes` bytes. Memory that other threads of this process allocate meanwhile counts
/// too.
///
/// Panics: if more than 8 MiB and `each` bytes for each byte of input were used.
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
