//! The program `omr-lab`. Its commands are in the library `omr-lab`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // A build script that read the commit would compile the library again for each commit.
    omr_lab::main(option_env!("OMR_COMMIT").unwrap_or(env!("CARGO_PKG_VERSION")))
}
