//! Wrong use and bad input.

use crate::common::{PARAMS, Scene, bytes, words};
use std::fs;

#[test]
fn overflow_has_its_own_code_and_prints_the_true_count() {
    let scene = Scene::new("none", 64);
    scene.write("f", &bytes(1, 10));
    scene.post("alice", &["f"; 11]).quietly();
    scene.digest(4, &[]).quietly();
    scene
        .decode(&[])
        .refused(3, &["overflow", "11 pertinent messages", "bound is 4"]);
    assert!(!scene.path("out").exists());
}

#[test]
fn another_recipients_digest() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.keygen("bob");
    scene.write("f", b"hello");
    scene.post("bob", &["f"]).quietly();
    scene.digest(4, &[]).quietly();
    let args = words("decode --secret-key bob/secret.key --digest digest --out out");
    scene
        .run(&args)
        .refused(1, &["the digest was made for another recipient"]);
    // A digest without pertinent messages is no failure.
    assert_eq!(scene.decode(&["--strict"]).quietly(), "");
}

#[test]
fn parameters_must_agree() {
    let scene = Scene::keys();
    let init = ["board", "init", "board", "--params"];
    scene.run(&[&init[..], &["sophomr-v0"]].concat()).refused(
        1,
        &[
            "sophomr-v5, hybrid-v4",
            "did you mean sophomr-v",
            "`omr params list` names all",
            "sophomr-v0",
        ],
    );
    scene.run(&[&init[..], &["sophomr-v5"]].concat()).quietly();
    scene.write("f", b"hello");
    let texts = [
        "board is of sophomr-v5",
        "alice/clue.key is of insecure-tiny-v4",
    ];
    scene.post("alice", &["f"]).refused(1, &texts);
    scene
        .digest(3, &[])
        .refused(1, &["board is of sophomr-v5", "alice/detection.key is of"]);
}

#[test]
fn empty_boards_and_ranges_outside() {
    let scene = Scene::new("none", 64);
    scene
        .digest(3, &[])
        .refused(1, &["omr: board: the board is empty"]);
    scene
        .digest(3, &["--range", "0..1"])
        .refused(1, &["the board is empty"]);
    scene.write("f", b"hello");
    scene.post("alice", &["f", "f"]).quietly();
    scene
        .digest(3, &["--range", "0..3"])
        .refused(1, &["within 0..2", "found 0..3"]);
    scene
        .digest(3, &["--range", "2.."])
        .refused(1, &["within 0..2", "found 2..2"]);
    assert!(!scene.path("digest").exists());
    for (range, text) in [("1..1", "at least one message"), ("x", "two indices like")] {
        let done = scene.digest(3, &["--range", range]);
        assert!(done.code == 2 && done.stderr.contains(text), "{done:?}");
    }
    for bound in [0, 4097] {
        assert_eq!(scene.digest(bound, &[]).code, 2);
    }
}

#[test]
fn sealings_that_do_not_fit() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.write("f", &bytes(1, 100));
    scene
        .post("alice", &["--raw", "f"])
        .refused(1, &["sealing none for --raw, found hpke-x25519"]);
    let init = words("board init b --params insecure-tiny-v4 --sealing x-wing");
    scene
        .run(&init)
        .refused(1, &["x-wing adds 1136 bytes", "at least 1137, found 612"]);
    let init = words("board init b --params insecure-tiny-v4 --sealing rot13");
    assert_eq!(scene.run(&init).code, 2);
    let scene = Scene::new("none", 64);
    for size in [63, 65] {
        scene.write("f", &bytes(1, size));
        let texts = ["expected a payload of 64 bytes", &format!("found {size}")];
        scene.post("alice", &["--raw", "f"]).refused(1, &texts);
    }
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.digest(3, &[]).quietly();
    let texts = ["sealing hpke-x25519, found none"];
    scene
        .decode(&["--sealing", "hpke-x25519"])
        .refused(1, &texts);
    let done = scene.decode(&[]);
    assert!(
        done.code == 0 && done.stderr.contains("could have made them up"),
        "{done:?}"
    );
}

#[test]
fn a_file_too_long_for_tiny_payloads_posts_nothing() {
    let scene = Scene::new("none", 20);
    scene.write("short", b"hello");
    scene.write("long", &bytes(1, 40));
    scene
        .post("alice", &["short", "long"])
        .refused(1, &["omr: long: ", "of at least"]);
    scene
        .post("alice", &["short", "absent"])
        .refused(1, &["omr: absent: "]);
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    assert_eq!(stat["messages"], 0);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let scene = Scene::new("none", 64);
    let before = scene.read("alice/secret.key");
    let keygen = ["keygen", "--out", "alice", "--params", PARAMS];
    scene
        .run(&keygen)
        .refused(1, &["omr: alice/secret.key exists: pass --force"]);
    scene
        .run(&["board", "init", "board", "--params", PARAMS])
        .refused(1, &["exists"]);
    assert!(scene.read("alice/secret.key") == before);
    scene.write("f", b"hello");
    scene.post("alice", &["f", "f"]).quietly();
    scene.digest(3, &[]).quietly();
    let before = scene.read("digest");
    let args = ["digest", "--board", "board", "--bound", "3"];
    let more = ["--out", "digest", "--detection-key", "alice/detection.key"];
    scene
        .run(&[&args[..], &more].concat())
        .refused(1, &["omr: digest exists: pass --force"]);
    assert!(scene.read("digest") == before);
    fs::create_dir(scene.path("out")).unwrap();
    scene.write("out/000001.bin", b"mine");
    let sealing = ["--sealing", "none"];
    scene
        .decode(&sealing)
        .refused(1, &["omr: out/000001.bin exists"]);
    assert_eq!(scene.list("out"), ["000001.bin"]);
    scene.decode(&["--sealing", "none", "--force"]).quietly();
    assert_eq!(scene.read("out/000001.bin"), b"hello");
    let forced = scene
        .run(&[&keygen[..], &["--force", "--json"]].concat())
        .json();
    assert!(scene.read("alice/secret.key") != before);
    assert_eq!(
        forced["files"][2]["bytes"],
        scene.read("alice/detection.key").len()
    );
    assert_eq!(
        scene.list("alice"),
        ["clue.key", "detection.key", "secret.key"]
    );
}

/// The sender knows the address but seals to another key, so that alice cannot open the payload.
#[test]
fn payloads_that_do_not_open_are_left_out_with_a_warning() {
    let scene = Scene::plain("hpke-x25519", 100);
    scene
        .run(&words(
            "keygen --out bob --params insecure-tiny-v4 --plain-clues",
        ))
        .quietly();
    scene.write("f", b"hello");
    scene.write("hybrid.key", &hybrid(&scene));
    let args = ["post", "--board", "board", "--to", "hybrid.key", "f"];
    scene.run(&args).quietly();
    scene.digest(3, &[]).quietly();
    let done = scene.decode(&[]);
    assert_eq!((done.code, &done.stdout[..]), (1, &b""[..]), "{done:?}");
    assert!(
        done.stderr
            .contains("message 0 left out: sealed payload rejected"),
        "{done:?}"
    );
    assert!(
        done.stderr
            .contains("1 of 1 pertinent messages could not be opened"),
        "{done:?}"
    );
    scene.post("alice", &["f"]).quietly();
    scene.digest(3, &[]).quietly();
    let done = scene.decode(&[]);
    assert_eq!(
        (done.code, &done.stdout[..]),
        (0, &b"out/000001-f\n"[..]),
        "{done:?}"
    );
    assert_eq!(scene.decode(&["--force", "--strict"]).code, 1);
}

/// Returns an address with alice's clues and bob's sealing keys.
fn hybrid(scene: &Scene) -> Vec<u8> {
    let params = omr_protocol::sophomr::Params::named(PARAMS).unwrap();
    let key = |path| omr_protocol::ClueKey::from_bytes(&params.clue, &scene.read(path)).unwrap();
    let mut alice = key("alice/clue.key");
    alice.seal = key("bob/clue.key").seal;
    alice.to_bytes(&params.clue).unwrap()
}
