//! Boards, keys, identities, servers and the files of `packaging/` have one parameter set unless another one is named.

use crate::common::Scene;
use omr_protocol::params::DEFAULT;
use omr_server::Config;
use std::fs;
use std::path::Path;

#[test]
fn commands_take_the_default_set() {
    let scene = Scene::empty();
    let keys = scene.run(&["keygen", "--out", "alice", "--json"]).json();
    assert_eq!(keys["params"], DEFAULT);
    let files = ["clue.key", "detection.key", "instant.key", "secret.key"];
    assert_eq!(scene.list("alice"), files);
    scene.run(&["board", "init", "board"]).quietly();
    let board = scene.run(&["board", "stat", "board", "--json"]).json();
    assert_eq!(board["params"], DEFAULT);
    let show = scene.run(&["params", "show", "--json"]).json();
    assert_eq!(show["name"], DEFAULT);
    // The output of each command is accepted by the next one.
    scene.write("letter.txt", b"hello");
    scene.post("alice", &["letter.txt"]).quietly();
    let new = scene.run(&["id", "new", "--home", "alice"]);
    assert!(new.quietly().contains(DEFAULT));
}

#[test]
fn servers_and_packages_take_the_default_set() {
    assert_eq!(Config::default().board.params, DEFAULT);
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let files = [
        ("omr.toml", 1),
        ("container.toml", 0),
        ("compose/omr.toml", 0),
        ("helm/omr/values.yaml", 0),
    ];
    for (file, times) in files {
        let text = fs::read_to_string(packaging.join(file)).unwrap();
        let named: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("params = \""))
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(named, vec![DEFAULT; times], "{file}");
    }
}
