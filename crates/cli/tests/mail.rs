//! Mail with real processes: a server, two senders, three recipients.
#![forbid(unsafe_code)]

mod common;

use common::{PARAMS, Scene};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A server on a free port; stopped when dropped.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(scene: &Scene, params: &str) -> Self {
        let args = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data",
            "data",
            "--params",
            params,
        ];
        let mut command = scene.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ").unwrap();
        Self {
            url: url.to_owned(),
            process,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn identity(scene: &Scene, server: &Server, name: &str, more: &[&str]) -> serde_json::Value {
    let args = [
        "id",
        "new",
        "--home",
        name,
        "--server",
        &server.url,
        "--json",
    ];
    let shown = scene.run(&[&args[..], more].concat()).json();
    let text = format!("{name}.txt");
    scene
        .run(&["address", "--home", name, "--out", &text])
        .quietly();
    shown
}

fn send(scene: &Scene, from: &str, to: &str, letter: &[u8]) -> String {
    let to = format!("{to}.txt");
    let args = ["send", "--home", from, "--to", &to, "-"];
    scene.pipe(&args, letter).quietly()
}

fn inbox(scene: &Scene, home: &str) -> serde_json::Value {
    scene.run(&["inbox", "--home", home, "--json"]).json()
}

fn lines(inbox: &serde_json::Value) -> Vec<&str> {
    let messages = inbox["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["first_line"].as_str().unwrap())
        .collect()
}

#[test]
fn letters_reach_their_recipients_alone() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    for name in ["ann", "bob", "eve"] {
        let shown = identity(&scene, &server, name, &["--bound", "10"]);
        assert_eq!(shown["params"], PARAMS);
        assert_eq!(shown["keys"][0]["registered"], true);
    }
    assert_eq!(send(&scene, "carl", "ann", b"hello Ann"), "0 -\n");
    let long = "a long letter\n".repeat(200);
    assert!(send(&scene, "dora", "bob", long.as_bytes()).contains(".."));
    send(&scene, "carl", "ann", b"\x1b[2Jdanger");
    send(&scene, "dora", "ann", b"second letter");

    let ann = inbox(&scene, "ann");
    let first = ann["messages"].as_array().unwrap();
    assert_eq!(first.len(), 3);
    assert_eq!(first[0]["first_line"], "hello Ann");
    // What could steer a terminal is not shown.
    assert_eq!(first[1]["first_line"], serde_json::Value::Null);
    assert_eq!(lines(&inbox(&scene, "bob")), ["a long letter"]);
    assert_eq!(lines(&inbox(&scene, "eve")), Vec::<&str>::new());

    let read = scene.run(&["inbox", "read", "--home", "bob", "1"]);
    assert_eq!(read.quietly(), long);
    assert_eq!(lines(&inbox(&scene, "bob")), Vec::<&str>::new());
    let all = scene.run(&["inbox", "--home", "bob", "--all", "--offline", "--json"]);
    assert_eq!(lines(&all.json()), ["a long letter"]);
    let out = ["inbox", "read", "--home", "ann", "2", "--out", "letters"];
    assert_eq!(scene.run(&out).quietly(), "letters/000002.bin\n");
    assert_eq!(scene.read("letters/000002.bin"), b"\x1b[2Jdanger");
    scene
        .run(&["inbox", "read", "--home", "ann", "9"])
        .refused(1, &["no message 9"]);
}

#[test]
fn an_overflow_is_a_persons_matter() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &["--bound", "2"]);
    for i in 0..3 {
        send(&scene, "carl", "ann", format!("letter {i}").as_bytes());
    }
    let met = scene.run(&["inbox", "--home", "ann"]);
    assert_eq!(met.code, 3, "{met:?}");
    assert!(met.stderr.contains("overflow"), "{met:?}");
    let kept = scene.run(&["inbox", "--home", "ann", "--json"]);
    assert_eq!(kept.json()["kept"][0]["overflowed"], 3);
    let raised = scene.run(&["inbox", "--home", "ann", "--raise-bound", "5", "--json"]);
    assert_eq!(raised.code, 0);
    assert!(raised.stderr.contains("the detector learns"), "{raised:?}");
    let now: serde_json::Value = serde_json::from_slice(&raised.stdout).unwrap();
    assert_eq!(lines(&now).len(), 3);
    assert_eq!(now["kept"].as_array().unwrap().len(), 0);
}

#[test]
fn canaries_return_and_a_watch_keeps_its_count() {
    let scene = Scene::keys();
    let server = Server::start(&scene, "insecure-tiny-hybrid-v1");
    identity(&scene, &server, "ann", &["--scheme", "instantomr"]);
    let fetched = scene.run(&["inbox", "--home", "ann", "--canary", "--json"]);
    assert_eq!(lines(&fetched.json()), Vec::<&str>::new());
    let audit = scene.run(&["inbox", "--home", "ann", "--audit", "--json"]);
    let audit = audit.json();
    assert_eq!(
        (&audit[0]["state"], &audit[0]["index"]),
        (&"returned".into(), &0.into())
    );

    for session in [&[][..], &["--session"]] {
        send(&scene, "carl", "ann", b"while you watch");
        let watch = [
            "watch", "--home", "ann", "--every", "500ms", "--count", "3", "--json",
        ];
        let seen = scene.run(&[&watch[..], session].concat()).quietly();
        assert_eq!(seen.lines().count(), 1, "{seen}");
        assert!(seen.contains("while you watch"));
    }
}

#[test]
fn keys_stay_private_and_contacts_have_names() {
    let scene = Scene::keys();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    scene
        .run(&["id", "new", "--home", "ann", "--params", PARAMS])
        .refused(1, &["an identity is here already"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| scene.path(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("ann"), 0o700);
        for entry in scene.path("ann").read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert_eq!(mode(&format!("ann/{name}")), 0o600, "{name}");
        }
    }
    let add = ["contact", "add", "--home", "bob", "ann", "ann.txt"];
    scene.run(&add).quietly();
    scene.run(&add).refused(1, &["exists"]);
    let list = scene.run(&["contact", "list", "--home", "bob"]).quietly();
    assert!(
        list.starts_with("ann ") && list.contains(&server.url),
        "{list}"
    );
    let sent = scene.pipe(&["send", "--home", "bob", "--to", "ann", "-"], b"by name");
    assert_eq!(sent.quietly(), "0 -\n");
    assert_eq!(lines(&inbox(&scene, "ann")), ["by name"]);
    let text = String::from_utf8(scene.read("ann.txt")).unwrap();
    scene.write("bad.txt", text.replacen("A", "B", 8).as_bytes());
    let bad = ["send", "--home", "bob", "--to", "bad.txt", "-"];
    assert_eq!(scene.pipe(&bad, b"lost").code, 1);
    scene
        .run(&["contact", "remove", "--home", "bob", "ann"])
        .quietly();
    scene
        .run(&["send", "--home", "bob", "--to", "ann", "bad.txt"])
        .refused(1, &["no contact"]);
    scene.run(&["id", "revoke", "--home", "ann"]).quietly();
    // What is here is listed all the same.
    let refused = scene.run(&["inbox", "--home", "ann"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("omr id register"), "{refused:?}");
    scene.run(&["id", "register", "--home", "ann"]).quietly();
    inbox(&scene, "ann");
}
