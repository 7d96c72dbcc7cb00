//! Requests to valgrind's memcheck, which follows undefined values bit by bit and reports every jump and every
//! address that depends on one. Secrets are marked as undefined; their values stay what they are.
//!
//! The technique is ctgrind's (Langley, 2010). The instruction sequence is that of `valgrind.h`, which is stable;
//! outside valgrind it does nothing.
#![allow(unsafe_code)]

use std::mem::size_of_val;

const RUNNING_ON_VALGRIND: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;

/// Whether valgrind runs this process.
pub(crate) fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Jumps and addresses that were found to depend on secrets so far.
pub(crate) fn errors() -> u64 {
    request(COUNT_ERRORS, 0, 0)
}

/// Marks values as secret.
pub(crate) fn hide<T>(values: &[T]) {
    let bytes = size_of_val(values) as u64;
    request(MAKE_MEM_UNDEFINED, values.as_ptr() as u64, bytes);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request(what: u64, first: u64, second: u64) -> u64 {
    let args = [what, first, second, 0, 0, 0];
    let mut result = 0u64;
    // SAFETY: rotations by 128 bits in all leave rdi as it was, and the exchange changes nothing; valgrind reads `args` and
    // writes rdx. The bytes that requests name are not read or written, only noted.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") result,
            in("rax") args.as_ptr(),
            options(nostack),
        );
    }
    result
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request(_: u64, _: u64, _: u64) -> u64 {
    0
}
