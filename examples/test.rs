//! Runs every example as a program and compares what it prints. Cargo builds the examples before this test.
#![forbid(unsafe_code)]

use std::process::Command;

/// Runs an example and returns its standard output.
fn run(name: &str) -> String {
    // The examples lie beside the folder of this test's program.
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join(name);
    let output = Command::new(&path)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn retrieval() {
    assert_eq!(run("retrieval"), "message 1: hello Alice\n");
}

#[test]
fn mail() {
    assert_eq!(run("mail"), "letter 1: hello Alice\n");
}

#[test]
fn stream() {
    let expected = "messages 0..2: first\nmessages 2..4: second\n";
    assert_eq!(run("stream"), expected);
}

#[test]
fn query() {
    let printed = run("query");
    let (shape, rows) = printed.split_once('\n').unwrap();
    assert!(
        shape.starts_with("the server sees: ") && !shape.contains("100000"),
        "{shape}"
    );
    assert_eq!(rows, "row 2: Zug\nrow 3: Chur\n");
}
