//! The code that the programs in `bin` share. Each program runs one target of omr-fuzz.
#![forbid(unsafe_code)]

use omr_fuzz::Target;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The environment variable with the folder that a program writes its seeds to, instead of fuzzing.
const SEEDS: &str = "OMR_FUZZ_SEEDS";

/// The message of the last panic, for targets that catch panics.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Defines the program of a target.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(
            init: $crate::begin(&omr_fuzz::$name::TARGET),
            |bytes: &[u8]| $crate::run(&omr_fuzz::$name::TARGET, bytes)
        );
    };
}

/// Writes seeds if the environment variable `OMR_FUZZ_SEEDS` requests it.
///
/// Panics: if they cannot be written.
pub fn begin(target: &Target) {
    if target.catches {
        // libFuzzer's hook would end the program at the first panic, caught or not.
        panic::set_hook(Box::new(|info| {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
        }));
    }
    let Some(folder) = std::env::var_os(SEEDS).map(PathBuf::from) else {
        return;
    };
    for (i, seed) in (target.seeds)().into_iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{i:02}")), seed).expect("a folder for seeds");
    }
    std::process::exit(0);
}

/// Runs a target on one input.
pub fn run(target: &Target, bytes: &[u8]) {
    if !target.catches {
        return target.run(bytes);
    }
    if panic::catch_unwind(AssertUnwindSafe(|| target.run(bytes))).is_err() {
        let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("not caught: {last}");
        std::process::abort();
    }
}
