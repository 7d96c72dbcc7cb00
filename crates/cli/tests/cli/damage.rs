//! Files of the wrong kind, and damaged ones.

use crate::common::{Scene, bytes, words};
use std::fs;

#[test]
fn wrong_kinds_of_file() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.digest(4, &[]).quietly();
    let keys = [
        "alice/secret.key",
        "alice/clue.key",
        "alice/detection.key",
        "digest",
    ];
    let kinds = ["a secret key", "a clue key", "a detection key", "a digest"];
    for (path, found) in keys.into_iter().zip(kinds) {
        let uses: [(&str, &[&str]); 4] = [
            (
                "a clue key",
                &["post", "--board", "board", "f", "--to", path],
            ),
            (
                "a detection key",
                &[
                    "digest",
                    "--board",
                    "board",
                    "--bound",
                    "4",
                    "--out",
                    "d",
                    "--detection-key",
                    path,
                ],
            ),
            (
                "a secret key",
                &[
                    "decode",
                    "--digest",
                    "digest",
                    "--out",
                    "out",
                    "--secret-key",
                    path,
                ],
            ),
            (
                "a digest",
                &[
                    "decode",
                    "--secret-key",
                    "alice/secret.key",
                    "--out",
                    "out",
                    "--digest",
                    path,
                ],
            ),
        ];
        for (expected, args) in uses {
            if expected != found {
                let text = format!("omr: {path}: expected {expected}, found {found}");
                scene.run(args).refused(1, &[&text]);
            }
        }
    }
    let foreign = ["post", "--board", "board", "--to", "f", "f"];
    scene
        .run(&foreign)
        .refused(1, &["omr: f: not an address", "found none of them"]);
    let missing = ["post", "--board", "board", "--to", "nothing", "f"];
    scene
        .run(&missing)
        .refused(1, &["omr: nothing: ", "found no file and no contact"]);
    for dir in ["alice", "nowhere"] {
        scene
            .run(&["board", "stat", dir])
            .refused(1, &["no board at"]);
    }
    fs::create_dir(scene.path("fake")).unwrap();
    scene.write("fake/board.redb", b"hello");
    scene
        .run(&["board", "verify", "fake"])
        .refused(1, &["is not a board"]);
}

/// Damages each file in many places; every use of it must end with an error.
#[test]
fn damaged_files() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.write("f", b"hello");
    scene.post("alice", &["f"]).quietly();
    scene.digest(4, &[]).quietly();
    let uses: [(&str, &[&str]); 4] = [
        (
            "alice/clue.key",
            &["post", "--board", "board", "f", "--to", "bad"],
        ),
        (
            "alice/detection.key",
            &words("digest --board board --bound 4 --out d --detection-key bad"),
        ),
        (
            "alice/secret.key",
            &words("decode --digest digest --out out --secret-key bad"),
        ),
        (
            "digest",
            &words("decode --secret-key alice/secret.key --out out --digest bad"),
        ),
    ];
    // The file that replaces a secret keeps its mode.
    scene.write("bad", b"");
    let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(scene.path("bad"), own).unwrap();
    for (path, args) in uses {
        let good = scene.read(path);
        for cut in [0, 1, 8, 40, good.len() / 2, good.len() - 1] {
            scene.write("bad", &good[..cut]);
            scene.run(args).refused(1, &["omr: bad: "]);
        }
        scene.write("bad", &[&good[..], b"x"].concat());
        scene
            .run(args)
            .refused(1, &["the file goes on after its checksum"]);
        for at in [0, 4, 6, 8, 12, 30, 50, 70, good.len() / 3, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            scene.write("bad", &bad);
            scene.run(args).refused(1, &["omr: bad: "]);
        }
    }
    assert!(!scene.path("out").exists() && !scene.path("d").exists());
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    assert_eq!(stat["messages"], 1);
}

#[test]
fn a_damaged_board_is_never_digested_wrongly() {
    let scene = Scene::new("none", 64);
    scene.write("f", &bytes(1, 64));
    scene
        .post("alice", &[&["--raw"][..], &["f"; 40]].concat())
        .quietly();
    let path = "board/board.redb";
    let good = scene.read(path);
    let payload = good
        .windows(64)
        .position(|window| window == bytes(1, 64))
        .unwrap();
    let mut bad = good.clone();
    bad[payload + 3] ^= 1;
    scene.write(path, &bad);
    // The damaged message is lost, and the other 39 are unchanged.
    let done = scene.digest(40, &[]);
    assert_eq!(done.code, 0, "{done:?}");
    let told = "lost by damage of the board (1): messages 0;";
    assert!(done.stderr.contains(told), "{done:?}");
    let decoded = scene.run(&words(
        "decode --secret-key alice/secret.key --digest digest --out letters --raw",
    ));
    assert_eq!(decoded.code, 0, "{decoded:?}");
    let letters = std::fs::read_dir(scene.path("letters")).unwrap();
    let letters: Vec<_> = letters.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(letters.len(), 39);
    for letter in letters {
        assert_eq!(std::fs::read(&letter).unwrap(), bytes(1, 64), "{letter:?}");
    }
    let done = scene.run(&["board", "verify", "board"]);
    assert_eq!(done.code, 1);
    assert!(
        done.stderr.contains("1 of 40 messages cannot be read"),
        "{done:?}"
    );
    for cut in [0, 10, 4096, good.len() / 2] {
        scene.write(path, &good[..cut]);
        for command in ["stat", "verify"] {
            let done = scene.run(&["board", command, "board"]);
            assert_eq!(
                (done.code, &done.stdout[..]),
                (1, &b""[..]),
                "{cut} {done:?}"
            );
            assert!(
                done.stderr.lines().all(|line| line.starts_with("omr: ")),
                "{done:?}"
            );
            assert!(!done.stderr.contains("panic"), "{done:?}");
        }
    }
}

/// A database that panics during its clean-up would end the process by a signal.
#[test]
fn posting_to_a_damaged_board_ends_with_a_word() {
    let scene = Scene::new("none", 64);
    scene.write("f", &bytes(1, 64));
    for _ in 0..3 {
        scene.post("alice", &["--raw", "f", "f", "f"]).quietly();
    }
    let path = "board/board.redb";
    let good = scene.read(path);
    let mut refused = 0;
    for draw in bytes(2, 80 * 9).chunks_exact(9) {
        let at = u64::from_le_bytes(draw[..8].try_into().unwrap()) as usize % good.len();
        let mut bad = good.clone();
        for byte in bad.iter_mut().skip(at).take(64) {
            *byte ^= draw[8] | 1;
        }
        scene.write(path, &bad);
        let done = scene.post("alice", &["--raw", "f"]);
        assert!([0, 1].contains(&done.code), "{at}: {done:?}");
        assert!(!done.stderr.contains("internal error"), "{at}: {done:?}");
        refused += done.code;
    }
    assert!(refused > 0, "no damage was found");
}

/// Damage that affects no message is reported as damage of the database.
#[test]
fn damage_beside_the_messages_is_not_told_as_messages() {
    let scene = Scene::new("none", 64);
    scene.write("f", b"hello");
    scene.post("alice", &["f"; 10]).quietly();
    let path = "board/board.redb";
    let good = scene.read(path);
    let (mut beside, mut within) = (0, 0);
    for draw in bytes(3, 120 * 9).chunks_exact(9) {
        let at = u64::from_le_bytes(draw[..8].try_into().unwrap()) as usize % good.len();
        let mut bad = good.clone();
        bad[at] ^= draw[8] | 1;
        scene.write(path, &bad);
        let done = scene.run(&["board", "verify", "board"]);
        if done.code == 0 {
            continue;
        }
        assert!(!done.stderr.contains(" 0 of "), "{at}: {done:?}");
        let readable = "all 10 messages can be read, but the database under them is at fault";
        if done.stderr.contains(readable) {
            beside += 1
        } else {
            within += 1
        }
    }
    assert!(beside > 0 && within > 0, "{beside} beside, {within} within");
}

/// A damaged record loses its letter, and no other.
#[test]
fn a_digest_leaves_a_lost_message_out() {
    for scene in [Scene::new("none", 150), Scene::plain("none", 150)] {
        for letter in 0..6u8 {
            scene.write("f", &bytes(letter, 100));
            scene.post("alice", &["f"]).quietly();
        }
        scene.damage(2);
        let done = scene.run(&["board", "verify", "board"]);
        assert!(
            done.code == 1 && done.stderr.contains("messages 2..3"),
            "{done:?}"
        );
        let done = scene.digest(8, &["--json"]);
        let told = "lost by damage of the board (1): messages 2; no digest brings them";
        assert!(done.code == 0 && done.stderr.contains(told), "{done:?}");
        assert!(!done.stderr.contains("unusable"), "{done:?}");
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(report["lost"], serde_json::json!([2]));
        assert_eq!(report["unusable_clues"], 0);
        let report = scene
            .decode(&["--json", "--sealing", "none", "--force"])
            .json();
        assert_eq!(report["indices"], serde_json::json!([0, 1, 3, 4, 5]));
        for index in [0u8, 1, 3, 4, 5] {
            let name = scene
                .list("out")
                .into_iter()
                .find(|name| name.starts_with(&format!("{index:06}")));
            let letter = scene.read(&format!("out/{}", name.unwrap()));
            assert!(letter == bytes(index, 100), "letter {index}");
        }
    }
}
