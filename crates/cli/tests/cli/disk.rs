//! Full disks, killed commands, permissions.

use crate::common::{PARAMS, Scene, bytes, terminated, words};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const FULL: &str = "No space left on device";

#[test]
fn a_full_disk_is_named_and_devices_stay_devices() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    let args = words("digest --board board --detection-key alice/detection.key --bound");
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
    let out = words("digest --board board --detection-key alice/detection.key");
    let out = [&out[..], &["--bound", "3", "--out", "no/such/folder"]].concat();
    scene.run(&out).refused(1, &["writing no/such/folder"]);
}

#[test]
fn secrets_are_for_their_owner() {
    let scene = Scene::new("none", 64);
    let mode = |name| scene.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("alice/secret.key"), 0o600);
    // Everybody who has a detector's key can look for the recipient's messages.
    assert_eq!(mode("alice/detection.key"), 0o600);
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

/// Every message that was reported is on the board, whole, whenever the command is killed.
#[test]
fn a_killed_post_keeps_what_it_reported() {
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

/// The outputs are checked before the keys are read.
#[test]
fn outputs_are_looked_at_first() {
    let scene = Scene::new("none", 64);
    scene.write("file", b"in the way");
    let digest = ["digest", "--board", "board", "--detection-key", "no.key"];
    let cut = ["stream", "cut", "--detection-key", "no.key", "--state", "s"];
    for command in [&[&digest[..], &["--bound", "3"]].concat(), &cut[..]] {
        let to = |out| scene.run(&[command, &["--out", out]].concat());
        to("no/such").refused(1, &["omr: writing no/such: ", "No such file"]);
        to(".").refused(1, &["omr: writing .: ", "found a folder"]);
        to("alice").refused(1, &["omr: writing alice: ", "found a folder"]);
        to("file").refused(1, &["omr: file exists: pass --force"]);
        to("file/f").refused(1, &["omr: writing file/f: ", "Not a directory"]);
        to("d").refused(1, &["omr: no.key: "]);
    }
    let keys = ["--secret-key", "no.key", "--digest", "d"];
    let decode = |out| scene.run(&[&["decode", "--out", out][..], &keys].concat());
    decode("file").refused(1, &["omr: writing file: ", "expected a folder"]);
    decode("file/f").refused(1, &["omr: writing file/f: ", "expected a folder"]);
    decode("new/folder").refused(1, &["omr: no.key: "]);
    assert!(!scene.path("new").exists() && !scene.path("d").exists());
    let keygen = |out| scene.run(&["keygen", "--params", PARAMS, "--out", out]);
    keygen("file").refused(1, &["omr: writing file: ", "expected a folder"]);
    assert_eq!(scene.list("."), ["alice", "board", "file"]);
}

/// A file is posted whole or not at all, so that posting it again repeats nothing.
#[test]
fn a_post_that_fails_leaves_no_parts() {
    let scene = Scene::new("none", 64);
    scene.write("short", b"hello");
    scene.write("long", &bytes(1, 200_000));
    // There is room for a thousand messages, but not for all.
    let limited = "trap '' XFSZ; ulimit -f 6000; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args([
        "-c",
        limited,
        env!("CARGO_BIN_EXE_omr"),
        "post",
        "--board",
        "board",
    ]);
    shell.args(["--to", "alice/clue.key", "short", "long"]);
    let output = shell.current_dir(scene.dir()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("omr: board: "), "{stderr}");
    assert_eq!(output.stdout, b"0 short\n", "{stderr}");
    let verified = scene.run(&["board", "verify", "board"]).quietly();
    assert_eq!(verified, "sound: 1 messages\n");
    let again = scene.post("alice", &["long", "--json"]);
    let posted: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(posted["start"], 1);
    assert!(posted["end"].as_u64().unwrap() > 5000, "{posted}");
}

#[test]
fn a_signal_and_a_crash_leave_no_files() {
    let scene = Scene::keys();
    let hidden = |name: &String| name.starts_with(".omr-");
    let left = || scene.list("alice").into_iter().any(|name| hidden(&name));
    let args = ["keygen", "--force", "--params", PARAMS, "--out", "alice"];
    let stopped = scene.stopped(&args, "alice", left, || {});
    assert!(stopped > 0, "no keygen was met at work");

    // The demonstration's folder, while it works.
    let demo = ["demo", "--params", PARAMS, "--messages", "100000"];
    let mut command = scene.command(&demo);
    std::fs::create_dir(scene.path("tmp")).unwrap();
    command.env("TMPDIR", scene.path("tmp"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let board = || {
        let made = scene.list("tmp").pop();
        made.is_some_and(|name| scene.path(&format!("tmp/{name}/board/board.redb")).exists())
    };
    while !board() && child.try_wait().unwrap().is_none() {}
    assert_eq!(terminated(&mut child), Some(128 + 15));
    assert!(scene.list("tmp").is_empty(), "{:?}", scene.list("tmp"));

    // After a crash the next command that writes there removes files that no process holds.
    let aged = |name: &str| {
        scene.write(name, b"a secret");
        let file = std::fs::File::options()
            .write(true)
            .open(scene.path(name))
            .unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
        file.set_modified(old).unwrap();
        file
    };
    drop(aged("alice/.omr-crashed"));
    let held = aged("alice/.omr-held");
    held.lock().unwrap();
    scene.write("alice/.omr-new", b"of somebody who is about to lock it");
    scene.run(&args).quietly();
    let hidden: Vec<String> = scene.list("alice").into_iter().filter(hidden).collect();
    assert_eq!(hidden, [".omr-held", ".omr-new"]);
}

#[test]
fn a_signal_leaves_nothing_of_a_table_and_of_tokens() {
    let scene = Scene::empty();
    let left = || scene.list(".").iter().any(|name| name.starts_with('.'));
    let rows: String = (0..100_000)
        .map(|row| format!("{row},{row:060}\n"))
        .collect();
    scene.write("t.csv", format!("id,text\n{rows}").as_bytes());
    let import = ["pdq", "import", "t.csv", "--force", "--out", "t.table"];
    let stopped = scene.stopped(&import, ".", left, || {});
    assert!(stopped > 0, "no import was met at work");

    // Enough tokens that writing them takes a moment.
    let tokens: String = (0..20_000)
        .map(|number| format!("[[token]]\nname = \"{number}\"\nhash = \"\"\nrights = [\"post\"]\n"))
        .collect();
    let tokens = || scene.write("tokens.toml", tokens.as_bytes());
    tokens();
    let add = ["token", "add", "--name", "new", "--may", "post", "--file"];
    let add = [&add[..], &["tokens.toml"]].concat();
    let stopped = scene.stopped(&add, ".", left, tokens);
    assert!(stopped > 0, "no token was met on its way");
}
