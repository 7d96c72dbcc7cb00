//! The program `omr`. What it does is in the library `omr-commands`: only these lines are compiled anew with each
//! commit, whose name they carry.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    omr_commands::main(env!("OMR_BUILD"))
}
