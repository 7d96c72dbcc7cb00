//! The libraries on other systems and processors: lints for all of them, tests of kernels where an emulator runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ci::{cargo_command, printed, succeed};
use crate::error::XtaskError;
use crate::{built, files, npm};

/// Browsers, which alone have a source of randomness that a program has to choose.
const BROWSERS: &str = "wasm32-unknown-unknown";

/// Windows, the processors of Apple and Arm.
const SYSTEMS: [&str; 3] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin", EMULATED];

/// Phones.
const PHONES: [&str; 2] = ["aarch64-linux-android", "aarch64-apple-ios"];

const EMULATED: &str = "aarch64-unknown-linux-gnu";

/// The linker for the emulated processor, and the emulator.
const TOOLS: [&str; 2] = ["aarch64-linux-gnu-gcc", "qemu-aarch64"];

/// Where Debian has the libraries that the linker takes.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// The packages of all systems, with all that they stand on.
const PACKAGES: [&str; 3] = ["omr-client", "omr-detector", "omr-inbox"];

/// Lints the libraries for all targets, and compares the kernels of the emulated one with the scalar code.
pub(crate) fn check(root: &Path) -> Result<(), XtaskError> {
    if !is_installed(BROWSERS)? {
        return npm::skip("targets", "targets");
    }
    let features = ["--features", "getrandom/wasm_js"];
    succeed(&mut lint(root, &PACKAGES, &[BROWSERS], &features))?;
    let systems = installed(&SYSTEMS)?;
    if !systems.is_empty() {
        succeed(&mut lint(root, &PACKAGES, &systems, &[]))?;
    }
    let phones = installed(&PHONES)?;
    if !phones.is_empty() {
        lint_phones(root, &phones)?;
    }
    if systems.len() + phones.len() < SYSTEMS.len() + PHONES.len() {
        return npm::skip("targets", "targets");
    }
    emulate(root)
}

/// The targets of these whose standard library the compiler has.
fn installed(targets: &[&'static str]) -> Result<Vec<&'static str>, XtaskError> {
    let mut found = Vec::new();
    for target in targets {
        if is_installed(target)? {
            found.push(*target);
        }
    }
    Ok(found)
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

/// A lint of packages with all that they stand on, for several targets in one schedule. Warnings are errors.
fn lint(root: &Path, packages: &[&str], targets: &[&str], features: &[&str]) -> Command {
    let mut command = cargo_command(root, &["clippy", "--quiet", "--profile", built::PROFILE]);
    command
        .args(packages.iter().flat_map(|one| ["--package", one]))
        .args(features)
        .args(targets.iter().flat_map(|one| ["--target", one]))
        .args(["--", "-D", "warnings"]);
    command
}

/// Lints the library of phones. Nothing is linked, so programs that do nothing stand for the C compilers and the SDKs of
/// phones, which the build of `ring` asks for.
fn lint_phones(root: &Path, targets: &[&str]) -> Result<(), XtaskError> {
    let mut command = lint(root, &["omr-mobile"], targets, &[]);
    for target in targets {
        let target = target.replace('-', "_");
        for tool in ["CC", "AR"] {
            command.env(format!("{tool}_{target}"), "true");
        }
    }
    let sdk = files::absolute(&root.join("target"))?;
    succeed(command.env("SDKROOT", sdk))
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
