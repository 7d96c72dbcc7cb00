//! The libraries on other systems and processors: lints for all of them, tests of kernels where an emulator runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ci::{cargo, cargo_command, printed, succeed};
use crate::error::XtaskError;
use crate::{built, npm};

/// Browsers, which alone have a source of randomness that a program has to choose.
const BROWSERS: &str = "wasm32-unknown-unknown";

/// Windows, the processors of Apple and Arm.
const SYSTEMS: [&str; 3] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin", EMULATED];

const EMULATED: &str = "aarch64-unknown-linux-gnu";

/// The linker for the emulated processor, and the emulator.
const TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];

/// Where Debian has the libraries that the linker takes.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Lints the libraries for all targets, and compares the kernels of the emulated one with the scalar code.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    if !is_installed(BROWSERS)? {
        return npm::skip("targets", "targets");
    }
    lint(root, &[BROWSERS], &["--features", "getrandom/wasm_js"])?;
    let mut systems = Vec::new();
    for system in SYSTEMS {
        if is_installed(system)? {
            systems.push(system);
        }
    }
    if !systems.is_empty() {
        lint(root, &systems, &[])?;
    }
    if systems.len() < SYSTEMS.len() {
        return npm::skip("targets", "targets");
    }
    emulate(root)
}

/// Whether the compiler has the standard library of a target, if need be from rustup.
pub(crate) fn is_installed(target: &str) -> Result<bool, XtaskError> {
    let libraries = || -> Result<bool, XtaskError> {
        let mut command = Command::new("rustc");
        command.args(["--print", "target-libdir", "--target", target]);
        let path = printed(&mut command)?;
        Ok(PathBuf::from(String::from_utf8_lossy(&path).trim()).exists())
    };
    if libraries()? {
        return Ok(true);
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]).stderr(Stdio::null());
    let added = rustup.status().is_ok_and(|status| status.success());
    Ok(added && libraries()?)
}

/// Lints client, detector and inbox with all that they stand on, for several targets in one schedule.
fn lint(root: &Path, targets: &[&str], features: &[&str]) -> Result<(), XtaskError> {
    let packages = [
        "clippy",
        "--quiet",
        "--profile",
        built::PROFILE,
        "-p",
        "omr-client",
        "-p",
        "omr-detector",
        "-p",
        "omr-inbox",
    ];
    let targets: Vec<&str> = targets.iter().flat_map(|one| ["--target", one]).collect();
    let rest = ["--", "-D", "warnings"];
    cargo(
        root,
        &[&packages[..], features, &targets, &rest].concat(),
        None,
    )
}

/// Runs the suites that back ends share, unless this processor is the emulated one and all its tests do.
fn emulate(root: &Path) -> Result<(), XtaskError> {
    if cfg!(all(target_arch = "aarch64", target_os = "linux")) {
        return Ok(());
    }
    if !TOOLS.iter().all(npm::starts) {
        return npm::skip("targets", "qemu");
    }
    let args = [
        "test",
        "--profile",
        built::PROFILE,
        "--quiet",
        "-p",
        "omr-kernels",
    ];
    let suites = [
        "--target",
        EMULATED,
        "--test",
        "conformance",
        "--test",
        "fourier",
        "--test",
        "shapes",
        "--test",
        "words",
    ];
    let mut command = cargo_command(root, &[&args[..], &suites].concat());
    let [linker, emulator] = TOOLS;
    command
        .envs([("OMR_EMULATED", "1"), ("OMR_REQUIRE", "neon")])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("{emulator} -L {LIBRARIES}"),
        );
    succeed(&mut command)
}
