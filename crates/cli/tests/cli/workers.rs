//! A server that leaves its digests to `omr worker`, with real processes.

use crate::common::mail::{Server, identity, inbox, lines, send};
use crate::common::{PARAMS, Scene};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Starts a worker and waits until it works.
fn worker(scene: &Scene, server: &Server) -> Child {
    let args = ["worker", "--server", &server.url, "--cache", "16MB"];
    let more = [
        "--token-file",
        "pool.token",
        "--threads",
        "1",
        "--name",
        "box-1",
    ];
    let mut command = scene.command(&[&args[..], &more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut first = String::new();
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    lines.read_line(&mut first).unwrap();
    assert_eq!(first, format!("working for {}\n", server.url));
    process
}

#[test]
fn a_worker_makes_the_digests_of_a_server_that_makes_none() {
    let scene = Scene::keys();
    std::fs::create_dir_all(scene.path("data")).unwrap();
    let file = ["token", "add", "--file", "data/tokens.toml"];
    let pool = scene.run(&[&file[..], &["--name", "pool", "--may", "work"]].concat());
    std::fs::write(scene.path("pool.token"), &pool.stdout).unwrap();
    let text = "[detector]\nlocal_worker = false\n";
    std::fs::write(scene.path("omr.toml"), text).unwrap();
    let config = ["--config", "omr.toml", "--data", "data", "--params", PARAMS];
    let listen = ["--anonymous", "--listen", "127.0.0.1:0"];
    let server = Server::with(&scene, &[&config[..], &listen].concat());
    let mut first = worker(&scene, &server);
    identity(&scene, &server, "ann", &["--bound", "10"]);
    send(&scene, "carl", "ann", b"hello Ann");
    assert_eq!(lines(&inbox(&scene, "ann")), ["hello Ann"]);
    // One that ends in order says nothing, and another takes its place.
    let stopped = Command::new("kill").arg(first.id().to_string()).status();
    assert!(stopped.unwrap().success());
    assert!(first.wait().unwrap().success());
    let mut second = worker(&scene, &server);
    send(&scene, "carl", "ann", b"again");
    assert_eq!(lines(&inbox(&scene, "ann")), ["hello Ann", "again"]);
    let wrong = ["worker", "--server", &server.url, "--token", "omr_nobody"];
    let refused = scene.run(&wrong);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("token"), "{refused:?}");
    second.kill().unwrap();
    second.wait().unwrap();
}
