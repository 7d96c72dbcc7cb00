//! The program `omr`. The library `omr-commands` does the work: only these lines are compiled again with each commit,
//! whose name they carry.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    omr_commands::main(env!("OMR_BUILD"))
}
