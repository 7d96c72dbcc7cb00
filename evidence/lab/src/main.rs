//! The program `omr-lab`. Its commands are in the library `omr-lab`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // No build script asks for the commit: it would compile the library again with each one.
    omr_lab::main(option_env!("OMR_COMMIT").unwrap_or(env!("CARGO_PKG_VERSION")))
}
