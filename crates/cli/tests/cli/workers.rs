//! A server that leaves its digests to `omr worker`, with real processes.

#[path = "../../../ops/tests/collector/mod.rs"]
mod collector;

use crate::common::mail::{Server, identity, inbox, lines, send};
use crate::common::{PARAMS, Scene};
use collector::Collector;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Starts a worker whose spans go to a collector, and waits until it works.
fn worker(scene: &Scene, server: &Server, collector: &str) -> Child {
    let args = ["worker", "--server", &server.url, "--otlp", collector];
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
    let runtime = Runtime::new().unwrap();
    let (collector, otlp) = runtime.block_on(Collector::start());
    let mut first = worker(&scene, &server, &otlp);
    identity(&scene, &server, "ann", &["--bound", "10"]);
    send(&scene, "carl", "ann", b"hello Ann");
    assert_eq!(lines(&inbox(&scene, "ann")), ["hello Ann"]);
    // A worker that is stopped prints nothing, and another replaces it.
    let stopped = Command::new("kill").arg(first.id().to_string()).status();
    assert!(stopped.unwrap().success());
    assert!(first.wait().unwrap().success());
    // Its spans arrive at the latest at its end.
    let spans = collector.spans_of("omr-worker");
    assert!(spans.iter().any(|span| span.name == "digests"), "{spans:?}");
    let mut second = worker(&scene, &server, &otlp);
    send(&scene, "carl", "ann", b"again");
    assert_eq!(lines(&inbox(&scene, "ann")), ["hello Ann", "again"]);
    let wrong = ["worker", "--server", &server.url, "--token", "omr_nobody"];
    let refused = scene.run(&wrong);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("token"), "{refused:?}");
    second.kill().unwrap();
    second.wait().unwrap();
}

/// Returns the text of the server's metrics.
fn metrics(host: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn jobs_of_a_stopped_server_are_listed_and_dropped() {
    let scene = Scene::keys();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap().to_string();
    drop(free);
    let config = format!("[detector]\nlocal_worker = false\n[watch]\nmetrics = \"{at}\"\n");
    std::fs::write(scene.path("omr.toml"), config).unwrap();
    let config = ["--config", "omr.toml", "--data", "data", "--params", PARAMS];
    let listen = ["--anonymous", "--listen", "127.0.0.1:0"];
    let server = Server::with(&scene, &[&config[..], &listen].concat());
    identity(&scene, &server, "ann", &["--bound", "10"]);
    send(&scene, "carl", "ann", b"hello Ann");
    // No worker makes the digest: the command waits until the server is gone.
    let mut command = scene.command(&["inbox", "--home", "ann", "--timeout", "1"]);
    let mut waits = command.stderr(Stdio::null()).spawn().unwrap();
    while !metrics(&at).contains("omr_jobs{state=\"queued\"} 1") {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(server);
    assert!(!waits.wait().unwrap().success());
    let jobs = |more: &[&str]| scene.run(&[&["data", "jobs", "--data", "data"], more].concat());
    let listed = jobs(&["--json"]).json();
    let listed = listed.as_array().unwrap();
    assert!(!listed.is_empty());
    for job in listed {
        assert_eq!(
            (&job["state"], &job["attempts"]),
            (&"queued".into(), &0.into())
        );
        assert_eq!((&job["start"], &job["end"]), (&0.into(), &1.into()));
    }
    let id = listed[0]["id"].as_str().unwrap();
    let text = String::from_utf8(jobs(&[]).stdout).unwrap();
    assert!(
        text.contains(id) && text.contains("queued") && text.contains("0..1"),
        "{text}"
    );
    let unknown = jobs(&["--drop", "00ff"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("00ff"), "{unknown:?}");
    let dropped = jobs(&["--drop", id]);
    assert!(dropped.stderr.contains("1 job"), "{dropped:?}");
    assert_eq!(
        jobs(&["--json"]).json().as_array().unwrap().len(),
        listed.len() - 1
    );
    assert_eq!(jobs(&["--drop", "all"]).code, 0);
    let none = jobs(&[]);
    assert!(
        none.stdout.is_empty() && none.stderr.contains("no unfinished"),
        "{none:?}"
    );
}

#[test]
fn a_worker_soon_reports_that_its_server_does_not_answer() {
    let scene = Scene::keys();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let args = ["worker", "--server", &url, "--token", "omr_nobody"];
    let mut command = scene.command(&args);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let lines = BufReader::new(process.stderr.take().unwrap()).lines();
    // It continues to try, so the first line comes before its end.
    let told = lines
        .map(Result::unwrap)
        .find(|line| line.contains("no answer"));
    assert!(told.is_some_and(|line| line.contains(&url)));
    assert!(process.try_wait().unwrap().is_none(), "it goes on");
    process.kill().unwrap();
    process.wait().unwrap();
}
