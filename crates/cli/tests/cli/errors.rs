//! Exit codes and errors for programs, which are the same for all commands.

use crate::common::{PARAMS, Scene, listed, words};
use std::process::Stdio;

/// Returns the error object of a command that failed with this exit code.
#[track_caller]
fn error(scene: &Scene, code: i32, args: &[&str]) -> serde_json::Value {
    let done = scene.run(args);
    assert_eq!(done.code, code, "{args:?}: {done:?}");
    let last = done.stderr.lines().last().unwrap_or_default();
    let object: serde_json::Value =
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{args:?}: {error}: {done:?}"));
    let told = object["error"].clone();
    assert_eq!(told["exit_code"], code, "{args:?}: {last}");
    assert!(
        told["message"].as_str().is_some_and(|text| text.len() > 8),
        "{last}"
    );
    told
}

/// Returns the names under a heading of a command's help, and whether the help has `--json`.
fn help(scene: &Scene, path: &[String]) -> (Vec<String>, bool) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let text = scene.run(&args).quietly();
    let json = text
        .lines()
        .any(|line| line.trim_start().starts_with("--json"));
    (listed(&text), json)
}

fn commands_with_json(scene: &Scene, path: &[String], found: &mut Vec<Vec<String>>) {
    let (names, json) = help(scene, path);
    if json {
        found.push(path.to_vec());
    }
    for name in names {
        commands_with_json(scene, &[path, &[name]].concat(), found);
    }
}

#[test]
fn wrong_use_is_an_object_for_every_command_with_json() {
    let scene = Scene::empty();
    let mut found = Vec::new();
    commands_with_json(&scene, &[], &mut found);
    assert!(found.len() > 30, "{found:?}");
    for path in found {
        let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
        args.extend(["--json", "--no-such-option"]);
        let told = error(&scene, 2, &args);
        assert_eq!(told["code"], "usage");
        assert!(
            told["message"]
                .as_str()
                .unwrap()
                .contains("--no-such-option"),
            "{told}"
        );
        args.pop();
        args.pop();
        args.push("--no-such-option");
        let plain = scene.run(&args);
        assert_eq!((plain.code, plain.stdout.len()), (2, 0), "{plain:?}");
    }
}

#[test]
fn errors_have_words_and_the_codes_of_the_plain_form() {
    let scene = Scene::new("none", 64);
    scene.write("f", b"hello");
    scene.post("alice", &["f"; 5]).quietly();
    scene.digest(4, &[]).quietly();
    let decode = words("decode --secret-key alice/secret.key --digest digest --out out");
    let keygen = ["keygen", "--out", "alice", "--params", PARAMS];
    let post = ["post", "--board", "board", "--to", "no.key", "f"];
    let digest = words("digest --board board --detection-key f --bound 3 --out d");
    let show = ["id", "show", "--home", "nobody"];
    let health = ["inbox", "--home", "nobody"];
    for (code, word, args) in [
        (3, "overflow", &decode[..]),
        (1, "exists", &keygen),
        (1, "input", &post),
        (1, "input", &digest),
        (1, "failure", &show),
        (1, "failure", &health),
    ] {
        let told = error(&scene, code, &[args, &["--json"]].concat());
        assert_eq!(told["code"], word, "{args:?}");
        // The message is also printed as a line.
        let plain = scene.run(args);
        assert_eq!(plain.code, code);
        let message = told["message"].as_str().unwrap();
        assert_eq!(plain.stderr, format!("omr: {message}\n"), "{args:?}");
    }
}

#[test]
fn too_many_rows_are_an_overflow_too() {
    let scene = Scene::empty();
    let rows: String = (0..60).map(|i| format!("{i},{}\n", i % 2)).collect();
    scene.write("t.csv", format!("id,half\n{rows}").as_bytes());
    scene
        .run(&["pdq", "import", "t.csv", "--out", "t"])
        .quietly();
    let query = [
        "-q",
        "pdq",
        "query",
        "SELECT id FROM t WHERE half = 1",
        "--table",
        "t",
    ];
    let set = ["--params", "insecure-tiny-pdq-v1"];
    let plain = [&query[..], &set, &["--bound", "4"]].concat();
    scene
        .run(&plain)
        .refused(3, &["30 rows match", "--bound 30"]);
    let told = error(&scene, 3, &[&plain[..], &["--json"]].concat());
    assert_eq!(told["code"], "overflow");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let scene = Scene::new("none", 64);
    scene.write("t.csv", b"id\n1\n");
    for args in [
        &["params", "list"][..],
        &["params", "show"],
        &["params", "show", "--json"],
        &["board", "stat", "board"],
        &["pdq", "import", "t.csv", "--out", "t"],
        &["pdq", "schema", "t"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut command = scene.command(args);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let done = done.wait_with_output().unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(told, "", "{args:?}");
    }
}

#[test]
fn completions_and_pages_cover_every_command() {
    let scene = Scene::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scene.run(&["completions", shell]).quietly();
        for word in ["keygen", "inbox", "encrypt-table", "raise-bound"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    scene.run(&["man", "--out", "man"]).quietly();
    let pages = scene.list("man");
    for page in [
        "omr.1",
        "omr-inbox.1",
        "omr-inbox-read.1",
        "omr-pdq-encrypt-table.1",
    ] {
        assert!(pages.iter().any(|name| name == page), "{pages:?}");
        let text = String::from_utf8(scene.read(&format!("man/{page}"))).unwrap();
        assert!(
            text.contains(".TH ") && text.contains("Examples:"),
            "{page}: {text}"
        );
    }
}

/// A shell that sources the script completes commands.
#[test]
fn bash_completes() {
    let scene = Scene::empty();
    let script = scene.run(&["completions", "bash"]).quietly();
    scene.write("omr.bash", script.as_bytes());
    let ask = "source ./omr.bash; COMP_WORDS=(omr pdq enc); COMP_CWORD=2; _omr omr enc pdq; echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", ask]).current_dir(scene.dir());
    let Ok(done) = bash.output() else {
        println!("SKIP: no bash");
        return;
    };
    let offered = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        offered.split_whitespace().collect::<Vec<_>>(),
        ["encrypt-table", "encrypt"]
    );
}
