//! Every command that calls a server sends the token of the call: that of `--token` or `--token-file`, else that of
//! `OMR_TOKEN`, else the stored one of the identity.

use crate::common::mail::{Server, identity, token};
use crate::common::{Done, PARAMS, Scene, listed, words};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

/// Commands that call a server with a token, and whether they use an identity with a stored one. RECORDER stands for
/// the server's URL, OLD for a retired identity.
const CALLING: [(&str, bool); 18] = [
    ("id new --home new --server RECORDER", false),
    ("id register --home ann", true),
    ("id rotate --home ann", true),
    ("id forget --home ann OLD", true),
    ("id publish --home ann", true),
    ("id revoke --home ann", true),
    ("send --home ann --to ann.txt ann.txt", true),
    ("inbox --home ann", true),
    ("inbox --home ann --raise-bound 60", true),
    ("inbox again --home ann 0..1", true),
    (
        "inbox history --home ann --compare 9:0000000000000000000000000000000000000000000000000000000000000000",
        true,
    ),
    ("inbox rebuild --home ann", true),
    ("watch --home ann --every 100ms --count 1", true),
    ("data backup --server RECORDER --to backup", false),
    ("feed --server RECORDER blocks.jsonl", false),
    ("worker --server RECORDER", false),
    ("pdq schema RECORDER", false),
    ("pdq query --url RECORDER SQL", false),
];

/// The command that calls as a stranger first, and shows a token only to servers that admit no strangers.
const STRANGER: &str = "id sync";

/// A server that refuses all calls and records their tokens.
struct Recorder {
    url: String,
    seen: Arc<Mutex<BTreeSet<Option<String>>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Recorder {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<BTreeSet<_>>> = Arc::default();
        let noted = seen.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(refuse(stream, noted.clone()));
            }
        });
        Self {
            url,
            seen,
            _runtime: runtime,
        }
    }

    /// Returns the tokens received since the last call.
    fn shown(&self) -> BTreeSet<Option<String>> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

/// Answers all calls of a connection with UNAUTHENTICATED.
async fn refuse(stream: tokio::net::TcpStream, seen: Arc<Mutex<BTreeSet<Option<String>>>>) {
    let Ok(mut calls) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut answer))) = calls.accept().await {
        let header = request.headers().get("authorization");
        let token = header.map(|value| value.to_str().unwrap().to_owned());
        seen.lock().unwrap().insert(token);
        let refused = http::Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", "16");
        let _ = answer.send_response(refused.body(()).unwrap(), true);
    }
}

/// Makes the identity in a home a client of the recorder, with a stored token.
fn turn(scene: &Scene, home: &str, recorder: &Recorder) {
    let server = json!({"url": recorder.url, "ca_certificate": null, "token": "kept"});
    scene.write(&format!("{home}/server"), server.to_string().as_bytes());
}

/// Runs a command of the list, with more arguments and a token in the environment.
fn run(scene: &Scene, line: &str, recorder: &Recorder, old: &str, more: &[&str], of: Option<&str>) {
    let part = |part| match part {
        "RECORDER" => &recorder.url,
        "OLD" => old,
        "SQL" => "SELECT a FROM t WHERE a = 1",
        part => part,
    };
    let parts: Vec<&str> = line.split(' ').map(part).collect();
    let mut command = scene.command(&[&parts[..], more].concat());
    if let Some(token) = of {
        command.env("OMR_TOKEN", token);
    }
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert_ne!(done.status.code(), Some(2), "{line}: {done:?}");
}

/// Makes an identity with four retired ones, all with the recorder as their server.
fn ann(scene: &Scene, recorder: &Recorder) -> Vec<String> {
    let server = Server::start(scene, PARAMS);
    identity(scene, &server, "ann", &[]);
    let rotate = ["id", "rotate", "--home", "ann", "--json"];
    let mut shown = Value::Null;
    for _ in 0..4 {
        shown = scene.run(&rotate).json();
    }
    turn(scene, "ann", recorder);
    let retired = shown["retired"].as_array().unwrap().iter();
    let retired: Vec<String> = retired
        .map(|old| old["name"].as_str().unwrap().to_owned())
        .collect();
    for old in &retired {
        turn(scene, &format!("ann/retired/{old}"), recorder);
    }
    // The address now names the recorder.
    let address = ["address", "--home", "ann", "--out", "ann.txt", "--force"];
    scene.run(&address).quietly();
    retired
}

#[test]
fn every_command_that_calls_a_server_shows_it_the_token_of_the_call() {
    let scene = Scene::empty();
    let recorder = Recorder::start();
    let retired = ann(&scene, &recorder);
    scene.write("token.txt", b"filed\n");
    let hash = "00".repeat(32);
    let block = format!("{{\"height\": 7, \"hash\": {hash:?}, \"parent\": {hash:?}}}\n");
    scene.write("blocks.jsonl", block.as_bytes());
    for (line, keeps) in CALLING {
        let bearer = |token: &str| BTreeSet::from([Some(format!("Bearer {token}"))]);
        let sources: [(&[&str], Option<&str>, &str); 4] = [
            (&["--token", "given"], Some("variable"), "given"),
            (&["--token-file", "token.txt"], Some("variable"), "filed"),
            (&[], Some("variable"), "variable"),
            (&[], None, "kept"),
        ];
        for ((more, variable, expected), old) in sources.into_iter().zip(&retired) {
            if expected == "kept" && !keeps {
                continue;
            }
            run(&scene, line, &recorder, old, more, variable);
            assert_eq!(recorder.shown(), bearer(expected), "{line}");
            // The token given to `id register` is stored from then on.
            turn(&scene, "ann", &recorder);
        }
    }
}

/// The list above has every command that accepts a token, and no other command accepts one.
#[test]
fn the_commands_that_take_a_token_are_those_that_call() {
    let scene = Scene::empty();
    let mut found = BTreeSet::new();
    let mut pages = vec![Vec::<String>::new()];
    while let Some(page) = pages.pop() {
        let words: Vec<&str> = page.iter().map(String::as_str).collect();
        let help = scene.run(&[&words[..], &["--help"]].concat()).quietly();
        for name in listed(&help) {
            pages.push([&page[..], &[name]].concat());
        }
        if help
            .lines()
            .any(|line| line.trim_start().starts_with("--token <"))
        {
            found.insert(page.join(" "));
        }
    }
    let names = |line: &str| {
        let words = line.split(' ').take_while(|word| !word.starts_with("--"));
        words
            .filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut listed: BTreeSet<String> = CALLING.iter().map(|(line, _)| names(line)).collect();
    listed.insert(STRANGER.to_owned());
    assert_eq!(found, listed);
}

#[test]
fn a_file_without_a_token_is_refused() {
    let scene = Scene::empty();
    scene.write("empty.txt", b" \n");
    scene.write("token.txt", b"t");
    for (more, expected) in [
        ("--token-file absent.txt", "No such file"),
        ("--token-file empty.txt", "expected a token in the file"),
        ("--token-file token.txt --token t", "cannot be used with"),
    ] {
        let args = ["pdq", "schema", "http://127.0.0.1:1"];
        let done = scene.run(&[&args[..], &words(more)].concat());
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
    }
}

#[test]
fn tokens_are_listed_in_the_words_that_make_them() {
    let scene = Scene::empty();
    let list = words("token list --file tokens.toml");
    assert_eq!(scene.run(&list).quietly(), "no tokens in tokens.toml\n");
    let json = words("--json token list --file tokens.toml");
    assert_eq!(scene.run(&json).json(), json!([]));
    for more in [
        "--name wallet --may post --may detect --messages-per-second 5 --keys 2",
        "--name pool --may work",
    ] {
        let add = words("token add --file tokens.toml");
        let done = scene.run(&[&add[..], &words(more)].concat());
        assert_eq!(done.code, 0, "{done:?}");
    }
    let listed = scene.run(&list).quietly();
    let lines: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let wallet = [
        "wallet",
        "post",
        "detect",
        "messages-per-second",
        "5,",
        "keys",
        "2",
    ];
    assert_eq!(lines, [&wallet[..], &["pool", "work"]]);
    let own = json!({"name": "wallet", "rights": ["post", "detect"], "messages_per_second": 5, "jobs": null,
        "sessions": null, "keys": 2});
    assert_eq!(scene.run(&json).json()[0], own);
}

#[test]
fn json_may_be_asked_for_before_the_command() {
    let scene = Scene::empty();
    let before = scene.run(&words("--json params list")).json();
    assert_eq!(before, scene.run(&words("params list --json")).json());
    assert!(before.as_array().is_some_and(|sets| sets.len() > 3));
    for (line, expected) in [
        (
            "--json man --out m",
            "expected a command that has --json, found `omr man`",
        ),
        ("man --out m --json", "--json"),
    ] {
        let done = scene.run(&words(line));
        assert_eq!(done.code, 2, "{done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
        assert!(!scene.path("m").exists());
    }
}

#[test]
fn an_empty_token_is_no_token_and_a_wrong_one_revokes_nothing_in_silence() {
    let scene = Scene::empty();
    let [right, other] = ["ann", "bob"].map(|name| token(&scene, name));
    let args = words("--listen 127.0.0.1:0 --data data --params insecure-tiny-v4");
    let server = Server::with(&scene, &args);
    identity(&scene, &server, "ann", &["--token", &right]);
    let revoke = ["id", "revoke", "--home", "ann"];
    let with = |token: &str| -> Done { scene.run(&[&revoke[..], &["--token", token]].concat()) };
    assert_eq!(with("").code, 2);
    with("unknown").refused(1, &["does not know this token"]);
    let done = with(&other);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stderr.contains("knows no rounds.key of this token"),
        "{done:?}"
    );
    scene.run(&revoke).quietly();
    // If nothing was registered, revoking succeeds.
    scene.run(&revoke).quietly();
    // Addresses are requested without a token: these commands accept none.
    let add = ["contact", "add", "bob", "bob.txt", "--token", "t"];
    assert_eq!(scene.run(&add).code, 2);
}
