//! The page of the demonstration: its commands run, and its figures are those of its measurement.
#![forbid(unsafe_code)]

use omr_zcash::Figures;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The line before each block of commands that run here.
const TESTED: &str = "<!-- not run: has a test of its own -->\n```sh\n";
/// The lines around the figures.
const FIGURES: [&str; 2] = ["<!-- figures -->\n", "<!-- end -->"];
/// If this variable is set, figures are written instead of compared.
const WRITE: &str = "OMR_WRITE_DOCUMENTS";

/// Commands before the blocks: the program is built already, servers run beside what follows them, and a recipient waits for
/// the block with a payment.
const BEFORE: &str = r#"set -euo pipefail
cargo() {
    [ "$1 $2 $3 $4 $5" = "run --release -p omr-zcash --" ]
    shift 5
    case "$1" in
    serve)
        "$PROGRAM" "$@" > served &
        for _ in {1..300}; do grep -q server served && return || sleep 0.1; done
        return 1
        ;;
    receive)
        for _ in {1..100}; do
            "$PROGRAM" "$@" > received
            grep -q "no payments" received && sleep 0.3 || break
        done
        cat received
        ;;
    *) "$PROGRAM" "$@" ;;
    esac
}
"#;

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

#[test]
fn the_commands_of_the_page_run() {
    // Tests of the command `omr` have this lock on the ports, too.
    let lock = std::env::temp_dir().join("omr-tests-ports.lock");
    let lock = fs::File::create(lock).unwrap();
    lock.lock().unwrap();
    let page = fs::read_to_string(document("zcash.md")).unwrap();
    let blocks = page.split(TESTED).skip(1);
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split_once("```").unwrap().0)
        .collect();
    assert_eq!(blocks.len(), 3);
    let dir = tempfile::tempdir().unwrap();
    let printed = dir.path().join("printed");
    let file = fs::File::create(&printed).unwrap();
    let mut shell = Command::new("bash")
        .args(["--norc", "-c", &(BEFORE.to_owned() + &blocks.concat())])
        .current_dir(dir.path())
        .env("PROGRAM", env!("CARGO_BIN_EXE_omr-zcash"))
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        // The shell has a group of its own, so that servers end with it.
        .process_group(0)
        .spawn()
        .unwrap();
    let status = shell.wait().unwrap();
    let group = format!("-{}", shell.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let printed = fs::read_to_string(printed).unwrap();
    assert!(status.success(), "{status}\n{printed}");
    let ends = |text: &str| printed.lines().filter(|line| line.ends_with(text)).count();
    // The demonstration lists the rent after each of four fetches, the coffee after three, and the lost tea.
    assert_eq!(ends(": 120000 zatoshis, rent"), 4, "{printed}");
    assert_eq!(ends(": 7000 zatoshis, coffee"), 3, "{printed}");
    assert_eq!(
        printed.matches("withdrawn with its block").count(),
        1,
        "{printed}"
    );
    assert_eq!(ends(": 70000 zatoshis, rent"), 1, "{printed}");
}

#[test]
fn the_figures_of_the_page_are_those_of_its_measurement() {
    let json = fs::read(document("zcash.json")).unwrap();
    let figures: Figures = serde_json::from_slice(&json).unwrap();
    let path = document("zcash.md");
    let page = fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(FIGURES[0]).unwrap();
    let (_, tail) = rest.split_once(FIGURES[1]).unwrap();
    let table = figures.table();
    let written = [head, FIGURES[0], "\n", &table, "\n", FIGURES[1], tail].concat();
    if std::env::var_os(WRITE).is_some() {
        fs::write(path, written).unwrap();
    } else {
        assert_eq!(page, written, "{WRITE}=1 writes it");
    }
}
