//! Marks of what is secret and what is public, for the check that no branch and no address depends on a secret.
//!
//! Valgrind's memcheck follows undefined values bit by bit and reports every jump and every address that depends on
//! one. [`hide`] marks secrets as undefined, [`publish`] marks what was computed from them and is public as defined
//! again; values stay what they are. Each call of [`publish`] and [`published`] states beside it why the value is
//! public. Without the feature `memcheck` all of this compiles to nothing.
//!
//! The technique is ctgrind's (Langley, 2010). The instruction sequence is that of `valgrind.h`, which is stable;
//! outside valgrind it does nothing.
#![deny(unsafe_code)]

use std::hint::black_box;
use std::mem::size_of_val;

const RUNNING_ON_VALGRIND: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;
const MAKE_MEM_DEFINED: u64 = 0x4d43_0002;

/// Whether valgrind runs this process, and this build can speak to it.
#[must_use]
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// The number of jumps and addresses that were found to depend on secrets so far.
#[must_use]
pub fn errors() -> u64 {
    request(COUNT_ERRORS, 0, 0)
}

/// Marks the bytes of values as secret; what they point to is left as it is.
pub fn hide<T>(values: &[T]) {
    mark(MAKE_MEM_UNDEFINED, values);
}

/// Marks values as public: an attacker may see them.
pub fn publish<T: Copy>(values: &mut [T]) {
    mark(MAKE_MEM_DEFINED, values);
}

/// Returns a value, marked as secret.
#[must_use]
pub fn hidden<T: Copy>(value: T) -> T {
    marked(MAKE_MEM_UNDEFINED, value)
}

/// Returns a value, marked as public: an attacker may see it.
#[must_use]
pub fn published<T: Copy>(value: T) -> T {
    marked(MAKE_MEM_DEFINED, value)
}

/// Returns a word about which the compiler knows nothing, so that it makes no branch of a choice by masks.
///
/// Elsewhere than on x86-64 and AArch64 the barrier is [`black_box`], which promises nothing.
#[inline(always)]
#[must_use]
#[allow(unsafe_code)]
pub fn opaque(mut word: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    {
        word = black_box(word);
    }
    word
}

fn mark<T>(what: u64, values: &[T]) {
    if cfg!(feature = "memcheck") {
        let bytes = size_of_val(values) as u64;
        request(what, black_box(values).as_ptr() as u64, bytes);
    }
}

fn marked<T: Copy>(what: u64, value: T) -> T {
    if !cfg!(feature = "memcheck") {
        return value;
    }
    let value = black_box([value]);
    mark(what, &value);
    black_box(value)[0]
}

#[cfg(all(feature = "memcheck", target_arch = "x86_64", target_os = "linux"))]
#[allow(unsafe_code)]
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

#[cfg(not(all(feature = "memcheck", target_arch = "x86_64", target_os = "linux")))]
fn request(_: u64, _: u64, _: u64) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_change_no_value() {
        let mut values = [1u32, 2, 3];
        hide(&values);
        publish(&mut values);
        assert_eq!(values, [1, 2, 3]);
        assert_eq!((hidden(7u8), published(true)), (7, true));
        assert_eq!(opaque(u64::MAX - 1), u64::MAX - 1);
    }
}
