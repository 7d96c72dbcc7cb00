//! A server started by hand: the owner of its files, its clients, and the messages of commands without a server.

use crate::common::{PARAMS, Scene, words};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SET: &str = "insecure-tiny-hybrid-v4";

/// A server process, killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server. Returns its URL.
fn serve(scene: &Scene, more: &[&str]) -> (Server, String) {
    let args = [
        "serve",
        "--listen",
        "localhost:0",
        "--data",
        "data",
        "--params",
        SET,
    ];
    let mut command = scene.command(&[&args[..], more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut line = String::new();
    let out = process.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let server = Server(process);
    let url = line.trim().strip_prefix("listening on ").unwrap();
    (server, url.to_owned())
}

#[test]
fn the_files_of_a_server_are_its_users_alone() {
    let scene = Scene::empty();
    let (server, _) = serve(&scene, &["--anonymous"]);
    drop(server);
    scene.run(&["data", "backup", "--data", "data", "--to", "backup"]);
    let mut folders = vec![scene.path("data"), scene.path("backup")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 2, "{seen} files");
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn without_tokens_nobody_is_served_and_the_server_reports_it() {
    let scene = Scene::empty();
    let (mut server, url) = serve(&scene, &[]);
    let args = ["id", "new", "--home", "alice", "--server", &url];
    let done = scene.run(&args);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("token"), "{done:?}");
    server.0.kill().unwrap();
    let mut said = String::new();
    server
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(
        said.contains("omr token add") && said.contains("--anonymous"),
        "{said}"
    );
}

#[test]
fn a_server_that_is_absent_or_has_another_protocol_is_reported_within_seconds() {
    let scene = Scene::empty();
    let (_server, url) = serve(&scene, &["--anonymous"]);
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let tls = url.replace("http://", "https://");
    for (home, url, expected) in [
        ("a", format!("http://{nobody}"), "refused"),
        ("b", tls, "TLS"),
    ] {
        let start = Instant::now();
        let done = scene.run(&["id", "new", "--home", home, "--server", &url]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
        // The limit is two seconds for the server, and the rest for keys on a busy machine.
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
    }
}

/// Returns the commands of the manual that make a certificate.
fn recipe() -> String {
    const MANUAL: &str = include_str!("../../../../docs/operating.md");
    let start = MANUAL.find("\nopenssl req").expect("the recipe");
    let end = MANUAL[start..].find("\nomr serve").expect("its end");
    MANUAL[start..start + end].to_owned()
}

fn shell(scene: &Scene, line: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(scene.path("."));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Starts a server with the certificate `tls.crt` of the scene, with a name that clients check.
fn secured(scene: &Scene) -> (Server, String) {
    let config = "[tls]\ncertificate = \"tls.crt\"\nkey = \"tls.key\"\n";
    scene.write("omr.toml", config.as_bytes());
    let (server, url) = serve(scene, &["--config", "omr.toml", "--anonymous"]);
    (server, url.replace("127.0.0.1", "localhost"))
}

#[test]
fn the_manuals_certificate_is_taken() {
    let scene = Scene::empty();
    shell(&scene, &recipe());
    let (_server, url) = secured(&scene);
    // Only a server on this machine is called without TLS.
    let plain = url.replace("https://localhost", "http://127.0.0.1");
    // The server breaks the connection off, sometimes before its answer is read.
    let mut calls = std::iter::repeat_with(|| scene.run(&["health", &plain])).take(20);
    let broken = ["broken pipe", "connection closed"];
    let answered = calls.find(|call| !broken.iter().any(|words| call.stderr.contains(words)));
    answered
        .expect("one of the calls is answered")
        .refused(1, &["answers at this address: is it https://?"]);
    let done = scene.run(&["health", &url, "--ca", "tls.crt"]);
    assert_eq!(
        (done.code, &*done.stdout),
        (0, &b"serving\n"[..]),
        "{done:?}"
    );
    for (args, expected) in [
        (&["health", &url][..], "--ca"),
        (
            &[
                "health",
                &url.replace("localhost", "127.0.0.1"),
                "--ca",
                "tls.crt",
            ],
            "subjectAltName",
        ),
    ] {
        let done = scene.run(args);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(
            done.stderr.contains("certificate is refused") && done.stderr.contains(expected),
            "{done:?}"
        );
        assert!(!done.stderr.contains("check the network"), "{done:?}");
    }
}

/// A container checks its server by the configuration, and servers of any certificate are found healthy.
#[test]
fn health_is_checked_by_the_configuration() {
    let scene = Scene::empty();
    shell(&scene, &recipe());
    let (server, url) = secured(&scene);
    let port = url.rsplit(':').next().unwrap();
    let check = |listen: &str| {
        let mut command = scene.command(&["health", "--config", "omr.toml", "--json"]);
        command.env("OMR_LISTEN", format!("{listen}:{port}"));
        command.output().unwrap()
    };
    for listen in ["127.0.0.1", "0.0.0.0"] {
        let done = check(listen);
        let url = format!("https://127.0.0.1:{port}");
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert!(done.status.success(), "{done:?}");
        assert_eq!(json, serde_json::json!({ "url": url, "serving": true }));
    }
    // Another certificate than the one that the server shows is no proof of it.
    shell(&scene, &recipe());
    let done = check("127.0.0.1");
    let output = String::from_utf8_lossy(&done.stderr);
    assert!(
        !done.status.success() && output.contains("certificate is refused"),
        "{output}"
    );
    drop(server);
    let mut command = scene.command(&["health", "--config", "omr.toml"]);
    let done = command.env("OMR_LIMITS_BOUND", "1").output().unwrap();
    let output = String::from_utf8_lossy(&done.stderr);
    assert!(
        output.contains("OMR_LIMITS_BOUND: expected the name OMR_LIMITS__BOUND"),
        "{output}"
    );
}

/// A renewed certificate is in use without a restart, a broken one is not.
#[test]
fn a_certificate_is_renewed_while_the_server_runs() {
    let scene = Scene::empty();
    shell(&scene, &recipe());
    let (mut server, url) = secured(&scene);
    scene.run(&["health", &url, "--ca", "tls.crt"]).quietly();
    shell(&scene, "cp tls.crt old.crt");
    shell(&scene, &recipe());
    let renewed = || scene.run(&["health", &url, "--ca", "tls.crt"]).code == 0;
    let until = Instant::now() + Duration::from_secs(60);
    while !renewed() {
        assert!(
            Instant::now() < until,
            "the old certificate is still in use"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    let done = scene.run(&["health", &url, "--ca", "old.crt"]);
    assert!(done.stderr.contains("certificate is refused"), "{done:?}");
    shell(&scene, "cp tls.crt new.crt && echo broken > tls.crt");
    let log = server.0.stderr.take().unwrap();
    let mut lines = BufReader::new(log).lines().map(Result::unwrap);
    let output = lines.find(|line| line.contains("the old TLS certificate stays in use"));
    assert!(
        output
            .unwrap()
            .contains("tls.crt: expected a certificate in PEM")
    );
    scene.run(&["health", &url, "--ca", "new.crt"]).quietly();
}

#[test]
fn the_certificate_that_openssl_makes_by_itself_is_refused_with_the_command_that_helps() {
    let scene = Scene::empty();
    shell(
        &scene,
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 365 -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost",
    );
    let (_server, url) = secured(&scene);
    let args = [
        "id", "new", "--home", "a", "--server", &url, "--ca", "tls.crt",
    ];
    let done = scene.run(&args);
    assert_eq!(done.code, 1, "{done:?}");
    for expected in ["CA:TRUE", "openssl req -x509", "CA:FALSE"] {
        assert!(done.stderr.contains(expected), "{done:?}");
    }
    assert!(!done.stderr.contains("check the network"), "{done:?}");
}

#[test]
fn who_waits_for_a_server_hears_why() {
    let scene = Scene::empty();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let args = ["id", "new", "--home", "a", "--server", &url];
    let warning = format!("omr: warning: no success with {url} so far (");
    // With enough time the error itself states it.
    let done = scene.run(&args);
    assert!(!done.stderr.contains(&warning), "{done:?}");
    let start = Instant::now();
    let done = scene.run(&[&args[..], &["--timeout", "4"]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    assert_eq!(done.stderr.matches(&warning).count(), 1, "{done:?}");
    assert!(start.elapsed() >= Duration::from_secs(4), "{done:?}");
    let mut command = scene.command(&args);
    let done = command.env("OMR_TIMEOUT", "soon").output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{done:?}");
}

/// Wrong arguments of a newcomer: each error states what was expected and what was found.
#[test]
fn places_of_something_else_are_named() {
    let scene = Scene::empty();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    let taken = [
        "serve",
        "--anonymous",
        "--data",
        "taken",
        "--params",
        PARAMS,
    ];
    let taken = [&taken[..], &["--listen", &address]].concat();
    let done = scene.run(&taken);
    assert_eq!(done.code, 1, "{done:?}");
    for text in [&*address, "that no other program uses", "port 0"] {
        assert!(done.stderr.contains(text), "{text}: {done:?}");
    }
    drop(nobody);
    let url = format!("http://{address}");
    let expected = [&*url, "start it, or check the URL"];
    let new = ["id", "new", "--home", "a", "--server", &url];
    scene.run(&new).refused(1, &expected);
    scene.run(&["health", &url]).refused(1, &expected);

    scene.write("file", b"hello");
    let serve = ["serve", "--anonymous", "--data", "file"];
    let serve = [&serve[..], &["--params", PARAMS, "--listen", "127.0.0.1:0"]].concat();
    let expected = ["file is a file, expected a folder"];
    scene.run(&serve).refused(1, &expected);
    let board = ["board", "init", "file", "--params", PARAMS];
    scene.run(&board).refused(1, &expected);
    scene
        .run(&words("data verify --data file"))
        .refused(1, &["no board at file/meta.redb"]);
    scene
        .run(&words("data restore --data new --from nowhere"))
        .refused(1, &["nowhere: expected a folder of backups"]);
    drop(self::serve(&scene, &["--anonymous"]));
    let backup = words("data backup --data data --to backups");
    assert_eq!(scene.run(&backup).code, 0);
    scene
        .run(&words("data verify --data backups"))
        .refused(1, &["`omr data verify --from backups`"]);
    let add = words("token add --file t.toml --name x --may post");
    scene.run(&add).quietly();
    scene
        .run(&add)
        .refused(1, &["the token \"x\" already", "remove that one first"]);
}

#[test]
fn an_address_without_a_port_is_refused_with_advice() {
    let scene = Scene::empty();
    let done = scene.run(&["serve", "--listen", "127.0.0.1", "--data", "data"]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stderr.contains("such as 127.0.0.1:7600"), "{done:?}");
}

/// A backup restores the whole service: its data and its clients; each command prints one line about its work.
#[test]
fn a_backup_restores_the_service() {
    let scene = Scene::empty();
    drop(serve(&scene, &["--anonymous"]));
    let add = [
        "token",
        "add",
        "--file",
        "data/tokens.toml",
        "--name",
        "wallet",
        "--may",
        "post",
    ];
    scene.run(&add);
    let data = |what: &str, more: &[&str]| scene.run(&[&["data", what], more].concat());
    let said = |done: crate::common::Done, text: &str| {
        assert!(
            done.code == 0 && done.stderr.contains(text),
            "{text:?}: {done:?}"
        );
        assert!(
            done.stderr.lines().count() == 1 && done.stdout.is_empty(),
            "{done:?}"
        );
    };
    for _ in 0..3 {
        // A start is a change, so each backup is a new one.
        drop(serve(&scene, &["--anonymous"]));
        let to = ["--data", "data", "--to", "backup", "--keep", "2"];
        said(data("backup", &to), "0 faults");
    }
    said(data("verify", &["--from", "backup"]), "checked 0 messages");
    said(data("verify", &["--data", "data"]), "0 faults");
    said(
        data("restore", &["--data", "again", "--from", "backup"]),
        "1 tokens from",
    );
    assert_eq!(mode(&scene.path("again/tokens.toml")), 0o600);
    assert_eq!(
        scene.read("again/tokens.toml"),
        scene.read("data/tokens.toml")
    );
    said(
        data("expire", &["--data", "again", "--keep", "10"]),
        "whole segments",
    );
    let figures = data("repair", &["--data", "again", "--json"]).json();
    assert_eq!(figures["faults"], serde_json::json!([]));

    // Damage is reported with advice, and the mark of the objects is written again.
    let mark = scene.read("again/objects/board");
    scene.write("again/objects/board", &mark[1..]);
    let done = data("verify", &["--data", "again"]);
    assert!(
        done.code == 1 && done.stderr.contains("`omr data repair` writes it again"),
        "{done:?}"
    );
    said_last(data("repair", &["--data", "again"]), "0 faults, 1 repaired");
    assert_eq!(scene.read("again/objects/board"), mark);
    let backups = scene.list("backup");
    let newest = backups.iter().rfind(|name| name.ends_with(".bak")).unwrap();
    scene.write(&format!("backup/{newest}"), b"omr-bak\n");
    let done = data("verify", &["--from", "backup"]);
    assert!(
        done.code == 1 && done.stderr.contains(newest.as_str()),
        "{done:?}"
    );
    let has_older = backups.iter().filter(|name| name.ends_with(".bak")).count() > 1;
    let done = data("restore", &["--data", "third", "--from", "backup"]);
    assert_eq!(done.code, 1, "{done:?}");
    let expected = if has_older {
        "an older backup was taken instead"
    } else {
        "is damaged at byte"
    };
    assert!(done.stderr.contains(expected), "{done:?}");
}

/// Checks that a command succeeded with a last line of this text.
fn said_last(done: crate::common::Done, text: &str) {
    let last = done.stderr.lines().last().unwrap_or_default();
    assert!(done.code == 0 && last.contains(text), "{done:?}");
}

/// Returns `serve` under a limit of `ulimit` in KiB, `-v` or `-d`.
fn limited(scene: &Scene, limit: &str, set: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(scene.dir());
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_omr"));
    command.args(["serve", "--anonymous", "--listen", "localhost:0", "--data"]);
    command.args(["data", "--params", set]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// systemd's journal takes the priority from the begin of a line.
#[test]
#[cfg(target_os = "linux")]
fn lines_for_the_journal_begin_with_their_priority() {
    let scene = Scene::empty();
    let mut command = Command::new("sh");
    let script = ": > log && JOURNAL_STREAM=$(stat --format %d:%i log) exec \"$0\" \"$@\" 2> log";
    command.current_dir(scene.dir()).args(["-c", script]);
    command.arg(env!("CARGO_BIN_EXE_omr"));
    command.args(["serve", "--anonymous", "--listen", "localhost:0", "--data"]);
    command
        .args(["data", "--params", SET])
        .stdout(Stdio::piped());
    let mut server = Server(command.spawn().unwrap());
    let out = server.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut String::new()).unwrap();
    let log = std::fs::read_to_string(scene.dir().join("log")).unwrap();
    let mut logged = log
        .lines()
        .filter(|line| line.contains(" INFO "))
        .peekable();
    assert!(
        logged.peek().is_some() && logged.all(|line| line.starts_with("<6>")),
        "{log}"
    );
}

/// Under each of these limits the process once ended within an allocation.
#[test]
#[cfg(target_os = "linux")]
fn a_server_without_memory_does_not_start_and_prints_the_figures() {
    let scene = Scene::empty();
    for (limit, set) in [
        ("-d 10000", SET),
        ("-d 60000", SET),
        ("-v 300000", "hybrid-v4"),
        ("-v 400000", "hybrid-v4"),
        ("-d 150000", "hybrid-v4"),
    ] {
        let done = limited(&scene, limit, set).output().unwrap();
        let output = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{limit}: {output}");
        let start = format!("omr: memory: a server of set {set} takes at least ");
        let lines: Vec<&str> = output.lines().collect();
        // A warning about the set for tests comes before.
        let last = lines.last().unwrap();
        assert!(last.starts_with(&start) && last.contains(" MB"), "{output}");
        assert!(!output.contains("backtrace"), "{output}");
        assert!(!scene.path("data").exists(), "{limit}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_with_little_memory_takes_letters_and_gives_them_out() {
    for limit in ["-v 400000", "-d 150000"] {
        let scene = Scene::empty();
        let mut process = limited(&scene, limit, SET).spawn().unwrap();
        let mut line = String::new();
        let out = process.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let server = Server(process);
        let url = line.trim().strip_prefix("listening on ").unwrap();
        scene.run(&["id", "new", "--home", "ann", "--server", url]);
        scene.write("letter", b"hello");
        let send = ["send", "--home", "ann", "--to", "ann/clue.key", "letter"];
        scene.run(&send).quietly();
        let inbox = scene.run(&["inbox", "--home", "ann", "--json"]).json();
        assert_eq!(inbox["messages"][0]["first_line"], "hello", "{limit}");
        drop(server);
    }
}
