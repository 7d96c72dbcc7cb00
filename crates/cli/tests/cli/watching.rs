//! Several commands at one inbox: one fetches, others list it.

use crate::common::mail::{Server, identity, inbox, lines, send};
use crate::common::{PARAMS, Scene};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Starts a watch that runs until it is killed.
fn watch(scene: &Scene, home: &str) -> Child {
    let mut watch = scene.command(&["watch", "--home", home, "--every", "200ms", "--json"]);
    watch.stdout(Stdio::piped()).stderr(Stdio::null());
    watch.spawn().unwrap()
}

#[test]
fn an_inbox_is_read_while_a_watch_runs() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let mut watching = watch(&scene, "ann");
    let mut printed = BufReader::new(watching.stdout.take().unwrap()).lines();
    send(&scene, "carl", "ann", b"first");
    assert!(printed.next().unwrap().unwrap().contains("\"first\""));

    let offline = ["inbox", "--home", "ann", "--offline", "--json"];
    assert_eq!(lines(&scene.run(&offline).json()), ["first"]);
    let read = ["inbox", "read", "1", "--home", "ann"];
    assert_eq!(scene.run(&read).quietly(), "first");
    assert_eq!(lines(&scene.run(&offline).json()), Vec::<&str>::new());
    let json = ["--home", "ann", "--json"];
    for command in [
        &["inbox", "kept"][..],
        &["inbox", "--audit"],
        &["id", "show"],
    ] {
        scene.run(&[command, &json].concat()).json();
    }
    // A copy is whole, and the watch continues.
    let export = [
        "id", "export", "--home", "ann", "--out", "ann.omr", "--plain",
    ];
    assert_eq!(scene.run(&export).code, 0);
    send(&scene, "carl", "ann", b"second");
    assert!(printed.next().unwrap().unwrap().contains("\"second\""));
    let import = ["id", "import", "ann.omr", "--home", "laptop"];
    scene.run(&import).quietly();
    assert_eq!(lines(&inbox(&scene, "laptop")), ["second"]);
    let all = ["inbox", "--home", "laptop", "--all", "--offline", "--json"];
    assert_eq!(lines(&scene.run(&all).json()), ["first", "second"]);

    // Commands that fetch, or replace what is fetched, are refused meanwhile.
    for command in [
        &["watch", "--home", "ann"][..],
        &["inbox", "--home", "ann"],
        &["inbox", "again", "0..1", "--home", "ann"],
        &["inbox", "rebuild", "--home", "ann"],
        &["id", "rotate", "--home", "ann"],
    ] {
        scene.run(command).refused(
            1,
            &["another program fetches into this inbox", "omr inbox read"],
        );
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
    assert_eq!(lines(&inbox(&scene, "ann")), ["second"]);
}

/// Whenever a watch is killed, and whatever else lists the inbox: every letter is there once.
#[test]
fn killed_watches_lose_and_double_nothing() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &["--bound", "30"]);
    let mut sent = Vec::new();
    for turn in 0..10u64 {
        let letter = format!("letter {turn}");
        send(&scene, "carl", "ann", letter.as_bytes());
        sent.push(letter);
        let mut watching = watch(&scene, "ann");
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                for _ in 0..4 {
                    let all = ["inbox", "--home", "ann", "--all", "--offline", "--json"];
                    let all = scene.run(&all).json();
                    let here = all["messages"].as_array().unwrap();
                    for message in here.iter().filter(|message| message["read"] == false) {
                        let number = message["number"].to_string();
                        let read = ["inbox", "read", &number, "--home", "ann"];
                        assert!(scene.run(&read).quietly().starts_with("letter "));
                    }
                }
            });
            std::thread::sleep(Duration::from_millis(37 * turn));
            watching.kill().unwrap();
            watching.wait().unwrap();
            looking.join().unwrap();
        });
    }
    let fetch = ["inbox", "--home", "ann", "--all", "--json"];
    assert_eq!(lines(&scene.run(&fetch).json()), sent);
    let check = ["inbox", "--home", "ann", "--all", "--offline", "--json"];
    assert_eq!(lines(&scene.run(&check).json()), sent);
}
