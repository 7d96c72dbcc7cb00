//! Keys from 24 words: printed once, and made again from them.

use crate::common::mail::{Server, inbox, lines, send};
use crate::common::{Done, Scene, words};
use crate::keys::at_a_terminal;

const HYBRID: &str = "insecure-tiny-hybrid-v4";
const RIGHT: &str = "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth \
                     useful legal winner thank year wave sausage worth title";

/// Returns the lines with words of what a command printed.
fn grid(printed: &str) -> String {
    let lines: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_eq!(lines.len(), 6, "{printed}");
    lines.join("\n")
}

/// Returns the bare words of such lines.
fn bare(grid: &str) -> Vec<&str> {
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let bare: Vec<&str> = grid.split_whitespace().filter(is_word).collect();
    assert_eq!(bare.len(), 24, "{grid}");
    bare
}

fn keygen(scene: &Scene, more: &str) -> Done {
    let line = format!("keygen --params {HYBRID} {more}");
    scene.run(&words(&line))
}

#[test]
fn words_make_the_same_keys_again() {
    let scene = Scene::empty();
    let printed = keygen(&scene, "--words --out first").quietly();
    assert!(
        printed.starts_with("The words of these keys:\n\n"),
        "{printed}"
    );
    assert!(printed.contains("Write them on paper"), "{printed}");
    assert!(!printed.contains("Birthday"), "{printed}");
    let grid = grid(&printed);
    scene.write("paper", bare(&grid).join("\n").to_uppercase().as_bytes());
    let again = keygen(&scene, "--from-words paper --out second").quietly();
    assert!(!again.contains(bare(&grid)[0]), "{again}");
    let line = format!("keygen --params {HYBRID} --from-words - --out third");
    scene.pipe(&words(&line), grid.as_bytes()).quietly();
    let files = scene.list("first");
    assert_eq!(
        files,
        ["clue.key", "detection.key", "instant.key", "secret.key"]
    );
    for file in files {
        let first = scene.read(&format!("first/{file}"));
        for folder in ["second", "third"] {
            assert!(
                scene.read(&format!("{folder}/{file}")) == first,
                "{folder}/{file}"
            );
        }
    }
    // Other words, and the same ones for another kind of clues, make other keys.
    let other = keygen(&scene, "--words --out fourth").quietly();
    assert_ne!(self::grid(&other), grid);
    keygen(&scene, "--from-words paper --plain-clues --out fifth").quietly();
    let digest_seed = |folder: &str| {
        let secret = scene.read(&format!("{folder}/secret.key"));
        secret[secret.len() - 96..][..32].to_vec()
    };
    assert_eq!(digest_seed("first"), digest_seed("second"));
    assert_ne!(digest_seed("first"), digest_seed("fourth"));
    assert_ne!(digest_seed("first"), digest_seed("fifth"));
}

#[test]
fn wrong_words_are_refused_and_not_repeated() {
    let scene = Scene::empty();
    let refused = |text: &str, told: &[&str]| {
        scene.write("paper", text.as_bytes());
        let done = keygen(&scene, "--from-words paper --out alice");
        for word in RIGHT.split(' ').filter(|word| word.len() > 4) {
            assert!(!done.stderr.contains(word), "{word}: {done:?}");
        }
        done.refused(1, told);
        assert!(!scene.path("alice").exists());
    };
    let few = RIGHT.rsplit_once(' ').unwrap().0;
    refused(few, &["paper", "expected 24 words, found 23"]);
    refused("", &["expected 24 words, found 0"]);
    refused(
        &RIGHT.replace("thank", "thanks"),
        &[
            "expected words of the English list",
            "words 3, 11 and 19 are none",
        ],
    );
    refused(&RIGHT.replace("title", "useful"), &["a checksum"]);
    refused(
        &"abaisser ".repeat(24),
        &["found 0 in it", "other languages"],
    );
    refused(&"x".repeat(5000), &["4096"]);
    keygen(&scene, "--from-words missing --out alice").refused(1, &["missing"]);
    for both in ["--words --from-words paper", "--words --json"] {
        let done = keygen(&scene, &format!("{both} --out alice"));
        assert_eq!(done.code, 2, "{done:?}");
    }
}

#[test]
fn words_are_typed_unseen() {
    let scene = Scene::empty();
    let line = format!("keygen --params {HYBRID} --from-words - --out typed");
    let (code, shown) = at_a_terminal(&scene, &line, &[RIGHT]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("The 24 words"), "{shown}");
    assert!(!shown.contains("sausage"), "{shown}");
    scene.write("paper", RIGHT.as_bytes());
    keygen(&scene, "--from-words paper --out read").quietly();
    assert!(scene.read("typed/secret.key") == scene.read("read/secret.key"));
}

#[test]
fn words_and_birthday_restore_a_mailbox() {
    let scene = Scene::empty();
    let server = Server::start(&scene, HYBRID);
    let new = |home: &str, more: &str| {
        let line = format!("id new --home {home} --server {} {more}", server.url);
        scene.run(&words(&line))
    };
    let show = |home: &str| scene.run(&["id", "show", "--home", home, "--json"]).json();
    new("bob", "").quietly();
    scene
        .run(&words("address --home bob --out bob.txt"))
        .quietly();
    send(&scene, "carl", "bob", b"before Ann was here");
    let printed = new("ann", "--words").quietly();
    assert!(printed.contains("\nBirthday: 1\n"), "{printed}");
    assert!(
        printed.contains("Write words and birthday on paper"),
        "{printed}"
    );
    scene.write("paper", grid(&printed).as_bytes());
    assert_eq!(show("ann")["birthday"], 1);
    scene
        .run(&words("address --home ann --out ann.txt"))
        .quietly();
    send(&scene, "carl", "ann", b"one");
    send(&scene, "carl", "ann", b"two");
    assert_eq!(lines(&inbox(&scene, "ann")), ["one", "two"]);

    // Everything is lost but the paper.
    std::fs::remove_dir_all(scene.path("ann")).unwrap();
    new("again", "--from-words paper --birthday 1").quietly();
    let again = show("again");
    assert_eq!(again["birthday"], 1);
    scene
        .run(&words("address --home again --out again.txt"))
        .quietly();
    assert!(scene.read("again.txt") == scene.read("ann.txt"));
    assert_eq!(lines(&inbox(&scene, "again")), ["one", "two"]);
    new("whole", "--from-words paper").quietly();
    assert_eq!(show("whole")["birthday"], 0);
    assert_eq!(lines(&inbox(&scene, "whole")), ["one", "two"]);
    new("late", "--from-words paper --birthday 2").quietly();
    assert_eq!(lines(&inbox(&scene, "late")), ["two"]);

    // Keys of `omr keygen` have a birthday, too. Without the words they have no keys of periods.
    for (home, given, found) in [
        ("taken", "--from-words paper", &["two"][..]),
        ("bare", "", &[]),
    ] {
        keygen(&scene, &format!("--from-words paper --out {home}")).quietly();
        new(home, &format!("{given} --birthday 2")).quietly();
        assert_eq!(show(home)["period_keys_until"].is_null(), given.is_empty());
        assert_eq!(lines(&inbox(&scene, home)), found);
    }

    let refused = |home: &str, more: &str, told: &[&str]| new(home, more).refused(1, told);
    refused(
        "x",
        "--from-words paper --birthday 4",
        &["a birthday of at most 3", "found 4"],
    );
    assert!(!scene.path("x").exists());
    keygen(&scene, "--out other").quietly();
    refused("other", "--words", &["other: expected no keys"]);
    refused(
        "other",
        "--from-words paper",
        &["secret.key", "that of the words", "another one"],
    );
    new("x", "--birthday 1").refused(2, &["--from-words", "new keys"]);
}
