//! Undefined behaviour: the scalar kernels and the length checks of all of them under Miri.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::ci::succeed;
use crate::error::XtaskError;
use crate::npm;

/// Miri comes with nightly compilers alone.
const MIRI: [&str; 4] = ["run", "nightly", "cargo", "miri"];

/// Runs the tests of kernels that need no vectors, which Miri does not know, at small sizes.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    let mut command = Command::new("rustup");
    command.args(MIRI).arg("--version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        return npm::skip("miri", "miri");
    }
    let mut command = Command::new("rustup");
    command.current_dir(root).args(MIRI).arg("test");
    command.args([
        "--package",
        "omr-kernels",
        "--test",
        "scalar",
        "--test",
        "shapes",
    ]);
    // Isolated programs have no folder to look for earlier failures in.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    command.env("PROPTEST_CASES", "4");
    succeed(&mut command)
}
