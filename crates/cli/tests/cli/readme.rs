//! The blocks of shell commands in README.md and the guide run as they are written: one after another, in one folder,
//! at full size.

use crate::common::ports;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What runs before the blocks: commands that never end are stopped after some seconds.
const BEFORE: &str = r#"set -euo pipefail
omr() {
    case "$1" in
    watch) timeout --signal=INT 4 omr "$@" || [ $? = 124 ] ;;
    *) command omr "$@" ;;
    esac
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a document that are marked `sh`, without what builds the command.
fn blocks(document: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open = false;
    for line in document.lines() {
        match line {
            "```sh" => {
                open = true;
                blocks.push(String::new());
            }
            "```" => open = false,
            _ if open && !line.starts_with("cargo ") => {
                let block = blocks.last_mut().unwrap();
                *block += line;
                *block += "\n";
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn blocks_run_one_after_another_in_one_folder() {
    let _ports = ports();
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let blocks = ["README.md", "docs/guide.md"]
        .map(|name| blocks(&read(name)))
        .concat();
    assert!(blocks.len() >= 5, "{blocks:?}");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("examples")).unwrap();
    let people = "examples/people.csv";
    fs::copy(root().join(people), dir.path().join(people)).unwrap();
    let mut script = BEFORE.to_owned();
    for block in &blocks {
        // What each command prints is found below its line.
        script += &format!("set -v\n{block}{{ set +v; }} 2>/dev/null\n");
    }
    fs::write(dir.path().join("script"), script).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_omr")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let began = Instant::now();
    let told = dir.path().join("told");
    let told_file = fs::File::create(&told).unwrap();
    let mut shell = Command::new("bash")
        .args(["--norc", "script"])
        .current_dir(dir.path())
        .env("PATH", path)
        .env_remove("OMR_HOME")
        .env_remove("OMR_TOKEN")
        .stdin(Stdio::null())
        .stdout(told_file.try_clone().unwrap())
        .stderr(told_file)
        // A group of its own, so that servers end with it.
        .process_group(0)
        .spawn()
        .unwrap();
    let status = shell.wait().unwrap();
    let group = format!("-{}", shell.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let told = String::from_utf8_lossy(&fs::read(told).unwrap()).into_owned();
    println!("{told}\n{:.1} s", began.elapsed().as_secs_f64());
    assert!(status.success(), "{status}\n{told}");
    // The letter arrived on every way, and the table was asked.
    assert!(told.matches("hello Alice").count() >= 4, "{told}");
    let letters = |folder: &str| fs::read_dir(dir.path().join(folder)).unwrap().count();
    assert_eq!((letters("letters"), letters("letters-of-bob")), (1, 1));
    assert!(told.contains("row  name"), "{told}");
    assert!(!told.contains("omr: "), "{told}");
}
