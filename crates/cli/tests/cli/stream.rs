//! InstantOMR by commands: sessions, one request for both engines, refusals.

use crate::common::Scene;
use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PARAMS: &str = "insecure-tiny-hybrid-v4";
const KEYS: [&str; 4] = ["clue.key", "detection.key", "instant.key", "secret.key"];

/// Returns a folder with alice's keys for both engines, and an empty board of their set.
fn scene() -> Scene {
    let scene = Scene::keys();
    let keygen = ["keygen", "--out", "alice", "--force", "--params", PARAMS];
    scene.run(&keygen).quietly();
    assert_eq!(scene.list("alice"), KEYS);
    let init = ["board", "init", "board", "--params", PARAMS];
    let more = ["--payload-bytes", "100", "--sealing", "hpke-x25519"];
    scene.run(&[&init[..], &more].concat()).quietly();
    scene
}

fn post(scene: &Scene, letters: std::ops::Range<usize>) {
    for i in letters {
        let name = format!("letter{i}");
        scene.write(&name, name.as_bytes());
        scene.post("alice", &[&name]).quietly();
    }
}

const STREAM: [&str; 10] = [
    "stream",
    "run",
    "--board",
    "board",
    "--detection-key",
    "alice/instant.key",
    "--state",
    "session",
    "--bound",
    "9",
];

fn stream(scene: &Scene, more: &[&str]) -> crate::common::Done {
    scene.run(&[&STREAM, more].concat())
}

fn cut(scene: &Scene, more: &[&str]) -> crate::common::Done {
    let args = ["stream", "cut", "--detection-key", "alice/instant.key"];
    let files = ["--state", "session", "--out", "digest", "--force"];
    scene.run(&[&args[..], &files, more].concat())
}

/// Returns the letters in `digest`, in the order of the board.
fn letters(scene: &Scene) -> Vec<String> {
    let _ = std::fs::remove_dir_all(scene.path("out"));
    let paths = scene.decode(&["--strict"]).quietly();
    let letter = |path: &str| String::from_utf8(scene.read(path)).unwrap();
    paths.lines().map(letter).collect()
}

fn names(letters: std::ops::Range<usize>) -> Vec<String> {
    letters.map(|i| format!("letter{i}")).collect()
}

#[test]
fn a_session_goes_on_where_it_stopped() {
    let scene = scene();
    post(&scene, 0..2);
    assert_eq!(stream(&scene, &[]).quietly(), "0..2\n");
    post(&scene, 2..3);
    let told = stream(&scene, &["--json", "--lot", "1"]).json();
    assert_eq!(
        (told["next"].as_u64(), told["cuts"].as_u64()),
        (Some(3), Some(0))
    );
    cut(&scene, &["--peek"]).quietly();
    assert_eq!(letters(&scene), names(0..3));
    cut(&scene, &["--number", "0"]).quietly();
    let first = scene.read("digest");
    post(&scene, 3..5);
    let here = ["--engine", "cpu"];
    assert_eq!(stream(&scene, &here).quietly(), "3..5\n");
    // The answer was lost: the digest is written again.
    cut(&scene, &["--number", "0"]).quietly();
    assert!(scene.read("digest") == first);
    assert_eq!(letters(&scene), names(0..3));
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), names(3..5));
}

#[test]
fn a_session_names_lost_messages_and_goes_on() {
    let scene = scene();
    post(&scene, 0..4);
    scene.damage(1);
    let done = stream(&scene, &["--json", "--lot", "1"]);
    let told = "lost by damage of the board (1): messages 1; no digest brings them";
    assert!(done.code == 0 && done.stderr.contains(told), "{done:?}");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["lost"], serde_json::json!([1]));
    assert_eq!(report["unusable_clues"], 0);
    assert_eq!(report["next"], 4);
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), ["letter0", "letter2", "letter3"]);
    // They were reported once.
    let report = stream(&scene, &["--json"]).json();
    assert_eq!(report["lost"], serde_json::json!([]));
}

#[test]
fn a_full_session_waits_to_be_cut() {
    let scene = scene();
    post(&scene, 0..5);
    let full = "full: omr stream cut makes room";
    let told = stream(&scene, &["--room", "2"]).quietly();
    assert_eq!(told, format!("0..2, {full}\n"));
    // The file contains the room.
    assert_eq!(stream(&scene, &[]).quietly(), told);
    stream(&scene, &["--room", "3"]).refused(1, &["room for 2 messages"]);
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), names(0..2));
    let told = stream(&scene, &["--json"]).json();
    assert_eq!(
        (told["next"].as_u64(), told["room"].as_u64()),
        (Some(4), Some(2))
    );
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), names(2..4));
    assert_eq!(stream(&scene, &["--room", "2"]).quietly(), "4..5\n");
}

/// A detector that follows the board.
struct Follower(Child);

impl Follower {
    fn new(scene: &Scene) -> Self {
        let mut command = scene.command(&[&STREAM[..], &["--follow", "--poll-ms", "2"]].concat());
        Self(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until the process ends. Returns its exit code and its standard error.
    fn ended(&mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        self.0
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        (status.code(), text)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The signal kills like a crash.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn messages_are_neither_lost_nor_doubled_by_crashes_and_cuts() {
    let scene = scene();
    let mut found = Vec::new();
    let mut cuts = 0u64;
    post(&scene, 0..1);
    for round in 0..6 {
        let follower = Follower::new(&scene);
        post(&scene, 1 + 2 * round..3 + 2 * round);
        let began = Instant::now();
        while !scene.path("session").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "no session");
            std::thread::sleep(Duration::from_millis(5));
        }
        if round % 2 == 1 {
            cut(&scene, &["--number", &cuts.to_string()]).quietly();
            cuts += 1;
            found.extend(letters(&scene));
        }
        drop(follower);
    }
    stream(&scene, &[]).quietly();
    cut(&scene, &["--number", &cuts.to_string()]).quietly();
    found.extend(letters(&scene));
    assert_eq!(found, names(0..13));
}

const BOARD: &str = "board/board.redb";

/// Returns the first digits of a board's running hash.
fn log_hash(scene: &Scene) -> String {
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    let hash = stat["log_hash"].as_str().unwrap();
    assert_eq!(hash.len(), 64);
    hash[..16].to_owned()
}

#[test]
fn a_board_put_back_from_an_older_copy_is_noticed() {
    let scene = scene();
    let copy = |from: &str, to: &str| fs::copy(scene.path(from), scene.path(to)).unwrap();
    post(&scene, 0..2);
    copy(BOARD, "older");
    post(&scene, 2..5);
    let told = stream(&scene, &["--json"]).json();
    let hash = log_hash(&scene);
    assert!(told["log_hash"].as_str().unwrap().starts_with(&hash));
    let state = scene.read("session");
    post(&scene, 5..6);
    copy(BOARD, "newer");

    copy("older", BOARD);
    let seen = format!("the session has seen 5 messages with the running hash {hash}");
    let advice = ["omr: session: ", &seen, "omr stream cut", "--from 0"];
    let refused = |found: &str, more: &[&str]| {
        stream(&scene, more).refused(1, &[&advice[..], &[found]].concat());
        assert!(scene.read("session") == state, "the state is as it was");
    };
    refused("found one of 2 messages: ", &[]);
    refused("found one of 2 messages: ", &["--follow"]);
    post(&scene, 6..9);
    let other = log_hash(&scene);
    let found = format!("found one of 5 messages, with the running hash {other} at length 5");
    refused(&found, &[]);
    post(&scene, 9..11);
    let found = found.replace("one of 5", "one of 7");
    refused(&found, &["--json"]);

    // As the error advises, the seen messages are decoded, and a new session has the present ones.
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), names(0..5));
    let again = |args: &[&str]| -> Vec<String> {
        let arg = |arg: &str| arg.replace("session", "new");
        args.iter().map(|one| arg(one)).collect()
    };
    let run = again(&[&STREAM[..], &["--from", "0"]].concat());
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    assert_eq!(scene.run(&run).quietly(), "0..7\n");
    let new = ["stream", "cut", "--detection-key", "alice/instant.key"];
    let files = ["--state", "new", "--out", "digest", "--force"];
    scene.run(&[&new[..], &files].concat()).quietly();
    assert_eq!(letters(&scene), [names(0..2), names(6..11)].concat());

    // A copy with all messages that were seen is accepted like the board itself.
    copy("newer", BOARD);
    assert_eq!(stream(&scene, &[]).quietly(), "5..6\n");
}

#[test]
fn a_board_put_back_while_it_is_followed_is_noticed() {
    let scene = scene();
    post(&scene, 0..2);
    fs::copy(scene.path(BOARD), scene.path("older")).unwrap();
    post(&scene, 2..4);
    stream(&scene, &[]).quietly();
    let before = scene.read("session");
    let mut follower = Follower::new(&scene);
    post(&scene, 4..5);
    let began = Instant::now();
    while scene.read("session") == before {
        assert!(began.elapsed() < Duration::from_secs(60), "it follows");
        std::thread::sleep(Duration::from_millis(5));
    }
    let state = scene.read("session");
    fs::rename(scene.path("older"), scene.path(BOARD)).unwrap();
    let (code, text) = follower.ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("seen 5 messages"), "{text}");
    assert!(text.contains("found one of 2 messages: "), "{text}");
    assert!(scene.read("session") == state);
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), names(0..5));
}

/// A cut that is requested before the session has started waits for it.
#[test]
fn a_cut_may_come_before_its_run() {
    let scene = scene();
    post(&scene, 0..2);
    let run = std::thread::scope(|scope| {
        let cutting = scope.spawn(|| cut(&scene, &["--peek"]));
        std::thread::sleep(Duration::from_millis(300));
        stream(&scene, &[]).quietly();
        cutting.join().unwrap()
    });
    run.quietly();
}

#[test]
fn one_request_for_both_engines() {
    let scene = scene();
    post(&scene, 0..4);
    let digest = |more: &[&str]| {
        let args = ["digest", "--board", "board", "--bound", "9", "--json"];
        let out = ["--out", "digest", "--force"];
        scene.run(&[&args[..], &out, more].concat()).json()
    };
    let instant = ["--detection-key", "alice/instant.key"];
    let bulk = ["--detection-key", "alice/detection.key"];
    for (more, scheme) in [
        (&instant[..], "instantomr"),
        (&bulk, "sophomr"),
        // For four messages InstantOMR alone costs less.
        (&[&bulk[..], &instant].concat(), "instantomr"),
        (
            &[&bulk[..], &instant, &["--scheme", "sophomr"]].concat(),
            "sophomr",
        ),
    ] {
        assert_eq!(digest(more)["scheme"], scheme);
        assert_eq!(letters(&scene), names(0..4));
    }
    let both = [&bulk[..], &instant].concat();
    // The key of an engine that is not needed is not read.
    let good = scene.read("alice/detection.key");
    scene.write("alice/detection.key", &good[..good.len() / 2]);
    let told = digest(&both);
    assert_eq!(told["scheme"], "instantomr");
    // Reading the other key is part of the time.
    let keys_s = told["stages"]["keys"].as_f64().unwrap();
    assert!(keys_s > 0.0 && told["digest_s"].as_f64().unwrap() >= keys_s);
    let args = ["digest", "--board", "board", "--bound", "9", "--out", "d"];
    scene
        .run(&[&args[..], &both, &["--scheme", "sophomr"]].concat())
        .refused(1, &["alice/detection.key", "file ends after"]);
    scene.write("alice/detection.key", &good);
    let told = digest(&[&instant[..], &["--scheme", "instantomd"]].concat());
    assert_eq!(told["scheme"], "instantomd");
    let _ = std::fs::remove_dir_all(scene.path("out"));
    scene.decode(&[]).quietly();
    assert_eq!(scene.read("out/indices.txt"), b"0\n1\n2\n3\n");
    // The costs of a machine on which batches are cheap.
    scene.write("costs", br#"{"batch_s": 0.001, "message_s": 1.0}"#);
    let both = [&bulk[..], &instant, &["--costs", "costs"]].concat();
    assert_eq!(digest(&both)["scheme"], "sophomr");
}

#[test]
fn what_does_not_fit_is_refused() {
    let scene = scene();
    post(&scene, 0..1);
    let digest = |more: &[&str]| {
        let args = ["digest", "--board", "board", "--out", "digest", "--bound"];
        scene.run(&[&args[..], more].concat())
    };
    let instant = ["--detection-key", "alice/instant.key"];
    let twice = [&["9"][..], &instant, &instant].concat();
    digest(&twice).refused(1, &["second one of a kind"]);
    let missing = [&["9"][..], &instant, &["--scheme", "sophomr"]].concat();
    digest(&missing).refused(1, &["expected a detection key for SophOMR"]);
    let no_key = [&["9"][..], &["--detection-key", "alice/clue.key"]].concat();
    digest(&no_key).refused(1, &["expected a detection key", "clue key"]);
    scene.write("costs", b"{}");
    let costs = [&["9"][..], &instant, &["--costs", "costs"]].concat();
    digest(&costs).refused(1, &["omr-lab bench crossover"]);

    cut(&scene, &[]).refused(1, &["session", "omr stream run"]);
    stream(&scene, &["--from", "2"]).refused(1, &["0..1", "2"]);
    stream(&scene, &[]).quietly();
    cut(&scene, &["--number", "3"]).refused(1, &["digest number 0", "3"]);
    stream(&scene, &["--indices-only"]).refused(1, &["begin a new session"]);
    let mut session = scene.read("session");
    let middle = session.len() / 2;
    session[middle] ^= 1;
    scene.write("session", &session);
    stream(&scene, &[]).refused(1, &["session", "checksum"]);
    scene
        .run(&["keygen", "--out", "bob", "--params", PARAMS])
        .quietly();
    session[middle] ^= 1;
    scene.write("session", &session);
    let bobs: Vec<&str> = STREAM
        .iter()
        .map(|&arg| {
            if arg == "alice/instant.key" {
                "bob/instant.key"
            } else {
                arg
            }
        })
        .collect();
    scene.run(&bobs).refused(1, &["session", "key"]);
    let tiny = ["keygen", "--out", "carol", "--params", "insecure-tiny-v4"];
    let more = ["--scheme", "instantomr"];
    scene
        .run(&[&tiny[..], &more].concat())
        .refused(1, &["InstantOMR", "insecure-tiny-v4"]);
}

#[test]
fn sessions_of_a_board_whose_beginning_expired() {
    let scene = scene();
    let before = 20u64;
    let keygen = ["keygen", "--out", "bob", "--params", PARAMS];
    scene.run(&keygen).quietly();
    post(&scene, 0..1);
    assert_eq!(stream(&scene, &[]).quietly(), "0..1\n");
    scene
        .post("bob", &vec!["letter0"; before as usize])
        .quietly();
    post(&scene, 1..2);
    let expire = ["board", "expire", "board", "--before", &before.to_string()];
    assert_eq!(scene.run(&expire).code, 0);
    let gone =
        |first: u64| format!("messages {first}..{before} expired: the board begins at {before}");
    stream(&scene, &[]).refused(1, &[&gone(1)]);
    std::fs::remove_file(scene.path("session")).unwrap();
    stream(&scene, &["--from", "1"]).refused(1, &["omr: board: ", &gone(1)]);
    assert!(!scene.path("session").exists());
    assert_eq!(
        stream(&scene, &[]).quietly(),
        format!("{before}..{}\n", before + 2)
    );
    cut(&scene, &[]).quietly();
    assert_eq!(letters(&scene), ["letter1"]);
}
