//! `omr bench` and `omr compare` start the program, which starts `omr` for trials.

use crate::common::{PARAMS, Scene};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the path of the `omr` of this build, which is beside the program.
fn omr() -> std::path::PathBuf {
    Path::new(env!("CARGO_BIN_EXE_omr-lab")).with_file_name("omr")
}

#[test]
fn omr_passes_arguments_output_and_exit_code_on() {
    let scene = Scene::empty();
    let args = ["bench", "digest", "--params", PARAMS, "--messages", "2048"];
    let run = |more: &[&str]| {
        let mut command = Command::new(omr());
        command.current_dir(scene.dir()).args(args).args(more);
        command.output().unwrap()
    };
    let done = run(&["--pertinent", "3", "--seed", "4", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let figures: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (&figures["found"], &figures["seed"]),
        (&3.into(), &4.into())
    );
    let done = run(&["--pertinent", "9", "--bound", "8"]);
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    let help = Command::new(omr()).args(["compare", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    assert!(help.contains("omr-lab compare --quick"), "{help}");
}

#[test]
fn a_program_alone_states_how_to_build_the_other() {
    let scene = Scene::empty();
    for name in ["omr", "omr-lab"] {
        fs::copy(omr().with_file_name(name), scene.path(name)).unwrap();
        let trial = ["bench", "chaos", "--only", "kills"];
        let done = Command::new(scene.path(name)).args(trial).output().unwrap();
        let printed = String::from_utf8(done.stderr).unwrap();
        let (code, expected) = match name {
            "omr" => (2, "cargo build --release -p omr-lab"),
            _ => (1, "cargo build --release --features full"),
        };
        assert_eq!(done.status.code(), Some(code), "{printed}");
        assert!(
            printed.starts_with("omr: expected the program"),
            "{printed}"
        );
        assert!(printed.contains(expected), "{printed}");
        assert_eq!(printed.lines().count(), 1, "{printed}");
        fs::remove_file(scene.path(name)).unwrap();
    }
}
