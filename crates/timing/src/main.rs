//! Runs what handles secrets with all secrets marked, under valgrind: a branch or an address that depends on a
//! secret is an error. `cargo xtask timing` builds and starts it.
//!
//! Two cases leak on purpose: they must be found.

mod cases;
mod memcheck;
mod rng;

use std::process::ExitCode;

fn main() -> ExitCode {
    if !memcheck::is_running() {
        eprintln!(
            "omr-timing: expected to run under valgrind, found none; start `cargo xtask timing`"
        );
        return ExitCode::from(2);
    }
    let mut wrong = 0;
    for case in cases::all() {
        eprintln!("-- {}", case.name);
        let before = memcheck::errors();
        (case.run)();
        let found = memcheck::errors() - before;
        let right = (found > 0) == case.leaks;
        wrong += usize::from(!right);
        let verdict = match (right, case.leaks) {
            (true, false) => "no branch, no address depends on a secret",
            (true, true) => "leaks on purpose, and was found",
            (false, false) => "WRONG: depends on a secret",
            (false, true) => "WRONG: leaks on purpose, and was not found",
        };
        println!("{:<44} {verdict}", case.name);
    }
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
