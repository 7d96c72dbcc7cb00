//! Runs the code that handles secrets under valgrind, with all secrets marked: a branch or an address that depends on
//! a secret is an error. `cargo xtask timing` builds and starts it.
//!
//! Two cases leak on purpose: they must be found.
#![forbid(unsafe_code)]

mod cases;
mod letters;
mod queries;
mod rng;

use std::process::ExitCode;

/// A function that runs on marked secrets.
struct Case {
    name: &'static str,
    run: fn(),
    expected: Expected,
}

/// The faults that memcheck is expected to find in a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// No faults.
    Nothing,
    /// This many branches of a library on public data that it computes from a secret.
    Public(u64, &'static str),
    /// At least one fault.
    Leak,
}

impl Case {
    const fn new(name: &'static str, run: fn()) -> Self {
        Self {
            name,
            run,
            expected: Expected::Nothing,
        }
    }

    const fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// Returns whether the number of faults is the expected one, and a message about it.
    fn judge(&self, found: u64) -> (bool, String) {
        match self.expected {
            Expected::Nothing if found == 0 => {
                (true, "no branch, no address depends on a secret".into())
            }
            Expected::Public(expected, what) if found == expected => {
                (true, format!("only {what} shows"))
            }
            Expected::Leak if found > 0 => (true, "leaks on purpose, and was found".into()),
            Expected::Nothing => (false, format!("WRONG: {found} faults, expected none")),
            Expected::Public(expected, what) => (
                false,
                format!("WRONG: {found} faults, expected {expected}, where {what} shows"),
            ),
            Expected::Leak => (false, "WRONG: leaks on purpose, and was not found".into()),
        }
    }
}

fn main() -> ExitCode {
    if !omr_marks::is_running() {
        eprintln!(
            "omr-timing: expected to run under valgrind with the feature memcheck, found neither or one; start \
             `cargo xtask timing`"
        );
        return ExitCode::from(2);
    }
    // Runs the cases whose names contain the argument.
    let only = std::env::args().nth(1).unwrap_or_default();
    let cases = [cases::all(), letters::all(), queries::all()];
    let selected = cases
        .into_iter()
        .flatten()
        .filter(|case| case.name.contains(&only));
    let mut wrong = 0;
    for case in selected {
        eprintln!("-- {}", case.name);
        let before = omr_marks::errors();
        (case.run)();
        let (right, verdict) = case.judge(omr_marks::errors() - before);
        wrong += usize::from(!right);
        println!("{:<44} {verdict}", case.name);
    }
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
