//! No branch and no address depends on a secret: looked up in the machine code of a release.

use std::path::Path;
use std::process::Command;

use crate::built;
use crate::ci::succeed;
use crate::error::XtaskError;
use crate::npm;

/// Runs the secret-handling functions under valgrind with all secrets marked.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || !npm::starts("valgrind") {
        return npm::skip("timing", "valgrind");
    }
    let cases = built::marked(root, "omr-timing")?;
    let libraries = root.join("evidence/timing/libraries.supp");
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--num-callers=30"]);
    command.arg(format!("--suppressions={}", libraries.display()));
    command.arg(cases);
    succeed(&mut command)
}
