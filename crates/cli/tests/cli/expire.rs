//! Expiry of a server's data with real processes.

use crate::common::mail::Server;
use crate::common::{PARAMS, Scene};
use std::time::Duration;

const DATA: [&str; 2] = ["--config", "small.toml"];

fn letters(scene: &Scene, url: &str, count: usize) {
    for i in 0..count {
        let letter = format!("letter {i}");
        let args = [
            "send", "--home", "carl", "--server", url, "--to", "ann.txt", "-",
        ];
        scene.pipe(&args, letter.as_bytes()).quietly();
    }
}

fn expire(scene: &Scene, which: &[&str]) -> serde_json::Value {
    let args = [&["data", "expire", "--json"], which, &DATA[..]].concat();
    scene.run(&args).json()
}

fn verify(scene: &Scene) -> serde_json::Value {
    let args = [&["data", "verify", "--json"], &DATA[..]].concat();
    scene.run(&args).json()
}

#[test]
fn messages_expire_and_who_comes_late_is_told() {
    let scene = Scene::keys();
    let config = format!(
        "listen = \"127.0.0.1:0\"\ndata = \"data\"\n[board]\nparams = \"{PARAMS}\"\n[objects]\nsegment_messages = 4\n\
         [access]\nanonymous_post = true\nanonymous_detect = true\n"
    );
    scene.write("small.toml", config.as_bytes());
    let server = Server::with(&scene, &DATA);
    let url = server.url.clone();
    let new = ["id", "new", "--home", "ann", "--server", &url];
    scene.run(&new).quietly();
    scene
        .run(&["address", "--home", "ann", "--out", "ann.txt"])
        .quietly();
    letters(&scene, &url, 10);
    scene
        .run(&[&["data", "expire", "--keep", "1"], &DATA[..]].concat())
        .refused(1, &["is held by another process"]);
    drop(server);
    let which = scene.run(&[&["data", "expire"], &DATA[..]].concat());
    assert_eq!(which.code, 2, "{which:?}");
    assert!(which.stderr.contains("--older-than"), "{which:?}");
    // A start puts the messages into segments.
    while verify(&scene)["segments"] != 2 {
        let _server = Server::with(&scene, &DATA);
        std::thread::sleep(Duration::from_millis(300));
    }
    let young = expire(&scene, &["--older-than", "90d"]);
    assert_eq!(
        (&young["expired"], &young["first_index"]),
        (&0.into(), &0.into())
    );
    // The command is killed at any moment: the data stays whole.
    for ms in [1, 3, 5, 8, 12, 20] {
        let args = [&["data", "expire", "--keep", "5"], &DATA[..]].concat();
        let mut process = scene.command(&args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(ms));
        let _ = process.kill();
        let _ = process.wait();
        let left = verify(&scene);
        let first = left["first_index"].as_u64().unwrap();
        assert!(first == 0 || first == 4, "{left}");
        assert_eq!(left["faults"].as_array().unwrap().len(), 0, "{left}");
    }
    let gone = expire(&scene, &["--keep", "5"]);
    assert_eq!(
        (&gone["first_index"], &gone["messages"]),
        (&4.into(), &10.into())
    );
    assert_eq!(verify(&scene)["first_index"], 4);

    let server = Server::with(&scene, &DATA);
    let told = ["id", "register", "--home", "ann", "--server", &server.url];
    scene.run(&told).quietly();
    let inbox = scene.run(&["inbox", "--home", "ann", "--json"]);
    assert_eq!(inbox.code, 0, "{inbox:?}");
    assert!(
        inbox
            .stderr
            .contains("messages 0..4 expired before they were fetched"),
        "{inbox:?}"
    );
    let listed: serde_json::Value = serde_json::from_slice(&inbox.stdout).unwrap();
    let lines: Vec<&str> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["first_line"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (4..10).map(|i| format!("letter {i}")).collect();
    assert_eq!(lines, expected);
    let kept = scene.run(&["inbox", "kept", "--home", "ann"]).quietly();
    assert!(
        kept.contains("range 0..4") && kept.contains("omr inbox drop 0..4"),
        "{kept}"
    );
    scene
        .run(&["inbox", "drop", "0..4", "--home", "ann"])
        .quietly();
    // A person's request is shortened to the remaining messages as well.
    let again = scene.run(&["inbox", "again", "2..6", "--home", "ann"]);
    assert!(again.stderr.contains("messages 2..4 expired"), "{again:?}");
}
