//! Full disks, killed commands, permissions.
#![cfg(target_os = "linux")]
mod common;

use common::{PARAMS, Scene, bytes};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const FULL: &str = "No space left on device";

#[test]
fn a_full_disk_is_named_and_devices_stay_devices() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    let args = [
        "digest",
        "--board",
        "board",
        "--detection-key",
        "alice/detection.key",
        "--bound",
    ];
    let full = scene.run(&[&args[..], &["3", "--out", "/dev/full"]].concat());
    full.refused(1, &["omr: writing /dev/full: ", FULL]);
    std::os::unix::fs::symlink("/dev/full", scene.path("link")).unwrap();
    scene
        .run(&[&args[..], &["3", "--out", "link"]].concat())
        .refused(1, &[FULL]);
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file());
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut stat = scene.command(&["board", "stat", "board"]);
    let output = stat.stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.starts_with("omr: standard output: ") && stderr.contains(FULL),
        "{stderr}"
    );
}

#[test]
fn a_digest_replaces_a_file_whole_and_follows_links() {
    let scene = Scene::new("none", 64);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.write("target", b"old");
    std::os::unix::fs::symlink("target", scene.path("digest")).unwrap();
    scene.digest(3, &[]).quietly();
    assert!(scene.path("digest").is_symlink());
    assert_eq!(&scene.read("target")[..4], b"OMRF");
    let out = [
        "digest",
        "--board",
        "board",
        "--detection-key",
        "alice/detection.key",
    ];
    let out = [&out[..], &["--bound", "3", "--out", "no/such/folder"]].concat();
    scene.run(&out).refused(1, &["writing no/such/folder"]);
}

#[test]
fn secrets_are_for_their_owner() {
    let scene = Scene::new("none", 64);
    let mode = |name| scene.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("alice/secret.key"), 0o600);
    assert_eq!(mode("alice/clue.key") & 0o600, 0o600);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.digest(3, &[]).quietly();
    scene.decode(&["--sealing", "none"]).quietly();
    assert_eq!(mode("out/000000.bin"), 0o600);
}

#[test]
fn keys_are_all_written_or_none() {
    let scene = Scene::keys();
    let keygen = ["keygen", "--params", PARAMS, "--out"];
    scene
        .run(&[&keygen[..], &["/dev/null/x"]].concat())
        .refused(1, &["writing /dev/null/x"]);
    std::fs::create_dir(scene.path("bob")).unwrap();
    scene.write("bob/detection.key", b"in the way");
    scene
        .run(&[&keygen[..], &["bob"]].concat())
        .refused(1, &["bob/detection.key exists"]);
    assert_eq!(scene.list("bob"), ["detection.key"]);
}

/// What was told is on the board, whole, whenever the command is killed.
#[test]
fn a_killed_post_keeps_what_it_told() {
    let scene = Scene::new("none", 64);
    scene.write("f", &bytes(1, 20));
    let mut args = vec!["post", "--board", "board", "--to", "alice/clue.key"];
    args.extend(["f"; 20_000]);
    let mut child = scene.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..1500 {
        lines.next().unwrap().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let told = 1500
        + lines
            .map_while(Result::ok)
            .filter(|line| line.ends_with(" f"))
            .count();
    let stat = scene.run(&["board", "stat", "board", "--json"]);
    assert_eq!(stat.code, 0, "{stat:?}");
    let stat: serde_json::Value = serde_json::from_slice(&stat.stdout).unwrap();
    let messages = stat["messages"].as_u64().unwrap();
    assert!(
        messages >= told as u64 && messages < 20_000,
        "{told} told, {messages} on the board"
    );
    let verified = scene.run(&["board", "verify", "board"]).quietly();
    assert!(verified.starts_with("sound: "), "{verified}");
    let posted = scene.post("alice", &["f"]).quietly();
    assert_eq!(posted, format!("{messages} f\n"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let scene = Scene::keys();
    let mut child = scene
        .command(&["params", "list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}
