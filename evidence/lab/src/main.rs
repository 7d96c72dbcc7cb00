//! The program `omr-lab`. Its commands are in the library `omr-lab`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    omr_lab::main(env!("OMR_BUILD"))
}
