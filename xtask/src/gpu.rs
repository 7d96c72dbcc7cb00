//! Tests and measures a graphics card, and writes the page with the results.

mod page;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use crate::built;
use crate::ci::{commit, printed, succeed};
use crate::error::XtaskError;
use crate::files;
use crate::npm;

pub(crate) use page::page;

/// Binaries of tests, each with those of its tests that can run on a card.
const SUITES: [(&str, &str); 3] = [
    ("cuda", "come_out"),
    ("detector", "card::"),
    ("instant", "card::"),
];

/// Tools of compute-sanitizer, and the beginning of the line with their findings.
const SANITIZERS: [(&str, &str); 2] = [
    ("memcheck", "========= ERROR SUMMARY: "),
    ("racecheck", "========= RACECHECK SUMMARY: "),
];

/// The command that the tools check: every kernel, at dimensions that take seconds.
const SMALL: [&str; 6] = [
    "bench",
    "card",
    "--params",
    "insecure-tiny-v4",
    "--messages=2500",
    "--only-checks",
];

/// Where this machine's programs lie.
const OWN: &str = "target/gpu";

/// The devices that exist where a driver is installed, on Linux and below Windows.
const DRIVERS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// Measures the first card and writes the page; without a card it prints so.
pub(crate) fn measure(root: &Path) -> Result<(), XtaskError> {
    // What is built takes minutes.
    if !DRIVERS.iter().any(|driver| Path::new(driver).exists()) {
        return npm::skip("gpu", "card");
    }
    let folder = root.join(OWN);
    pack(root, &folder)?;
    with(root, &folder)
}

/// Puts everything that a machine with a card needs into a folder, stripped: the program of measurements, the tests, this
/// program.
pub(crate) fn pack(root: &Path, folder: &Path) -> Result<(), XtaskError> {
    fs::create_dir_all(folder).map_err(XtaskError::io(folder))?;
    let own = std::env::current_exe().map_err(XtaskError::io(folder))?;
    let mut programs = vec![("omr-lab", built::measured(root)?), ("xtask", own)];
    for (name, _) in SUITES {
        programs.push((name, built::tests(root, name)?));
    }
    for (name, from) in programs {
        let to = folder.join(name);
        succeed(Command::new("strip").arg("-o").arg(&to).arg(from))?;
    }
    let path = folder.join("commit");
    fs::write(&path, commit(root)?).map_err(XtaskError::io(&path))
}

/// Measures the first card with what `pack` made, here or elsewhere, and writes the page.
pub(crate) fn with(root: &Path, folder: &Path) -> Result<(), XtaskError> {
    let lab = folder.join("omr-lab");
    let output = Command::new(&lab)
        .args(["bench", "card", "--recipients=8", "--json"])
        .output()
        .map_err(XtaskError::io(&lab))?;
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        println!("SKIP gpu: not measured");
        return Ok(());
    }
    let mut figures: Map<String, Value> = serde_json::from_slice(&output.stdout)?;
    let path = folder.join("commit");
    let commit = fs::read_to_string(&path).map_err(XtaskError::io(&path))?;
    figures.insert("commit".into(), commit.into());
    figures.insert("tests".into(), suites(folder)?.into());
    figures.insert("sanitizers".into(), sanitized(&lab)?.into());
    files::figures(&root.join(page::FIGURES), &figures)?;
    page(root, true)
}

/// Runs on the card what tests otherwise run on its kernels compiled for the processor: how many passed.
fn suites(folder: &Path) -> Result<u64, XtaskError> {
    let mut passed = 0;
    for (name, filter) in SUITES {
        let mut tests = Command::new(folder.join(name));
        tests.args([filter, "--test-threads=4"]);
        let told = printed(tests.env("OMR_CARD", "1"))?;
        passed += String::from_utf8_lossy(&told)
            .lines()
            .filter(|line| line.ends_with("... ok"))
            .count() as u64;
    }
    match passed {
        0 => Err(XtaskError::NoTests),
        _ => Ok(passed),
    }
}

/// Returns the findings of each tool, or that it is missing.
fn sanitized(lab: &Path) -> Result<Map<String, Value>, XtaskError> {
    let mut found = Map::new();
    for (tool, summary) in SANITIZERS {
        let mut command = Command::new("compute-sanitizer");
        command.args(["--tool", tool, "--error-exitcode", "9"]);
        command.arg(lab).args(SMALL);
        let told = match printed(&mut command) {
            Err(XtaskError::Start { .. }) => "not run".into(),
            told => told?,
        };
        let told = String::from_utf8_lossy(&told).into_owned();
        let mut lines = told.lines();
        let line = lines.find_map(|line| line.strip_prefix(summary));
        found.insert(tool.into(), line.unwrap_or("not run").into());
    }
    Ok(found)
}
