//! Stored secrets: under a passphrase, in an exported file, and replaced by others.

use crate::common::mail::{Server, identity, inbox, lines, send, token};
use crate::common::{Done, PARAMS, Scene, words};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

const HYBRID: &str = "insecure-tiny-hybrid-v4";
const RIGHT: &str = "correct horse battery staple";

/// Runs a command with the present and the new passphrase in the environment.
fn with(scene: &Scene, args: &[&str], passphrase: &str, new: &str) -> Done {
    let mut command = scene.command(args);
    command.env("OMR_PASSPHRASE", passphrase);
    command.env("OMR_NEW_PASSPHRASE", new);
    let output = command.stdin(Stdio::null()).output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
        warned: false,
    }
}

/// Returns the kind in a file's header.
fn kind(scene: &Scene, name: &str) -> u8 {
    scene.read(name)[6]
}

#[test]
fn a_secret_under_a_passphrase_opens_with_it_alone() {
    let scene = Scene::empty();
    scene.write("right", format!("{RIGHT}\nnot this line\n").as_bytes());
    scene.write("wrong", b"incorrect horse\n");
    scene.write("empty", b"\n");
    let keygen = ["keygen", "--params", PARAMS, "--out", "alice"];
    // There is no terminal to type one at.
    let asked = scene.run(&[&keygen[..], &["--passphrase"]].concat());
    asked.refused(1, &["--passphrase-file", "OMR_PASSPHRASE", "no terminal"]);
    let empty = [&keygen[..], &["--passphrase-file", "empty"]].concat();
    scene
        .run(&empty)
        .refused(1, &["expected a passphrase, found none"]);
    assert!(!scene.path("alice/secret.key").exists());
    let right = ["--passphrase-file", "right"];
    scene.run(&[&keygen[..], &right].concat()).quietly();
    assert_eq!(kind(&scene, "alice/secret.key"), 14);
    // None of its secret bytes is readable anywhere: unencrypted bytes are public.
    let (secret, address) = (scene.read("alice/secret.key"), scene.read("alice/clue.key"));
    assert_eq!(
        secret[9..9 + PARAMS.len() + 16],
        address[9..9 + PARAMS.len() + 16]
    );

    // Commands without a secret do not ask for it.
    let init = ["board", "init", "board", "--params", PARAMS];
    scene.run(&init).quietly();
    scene.write("letter", b"hello");
    scene.post("alice", &["letter"]).quietly();
    scene.digest(3, &[]).quietly();
    scene.decode(&[]).refused(
        1,
        &[
            "alice/secret.key",
            "expected its passphrase",
            "--passphrase-file",
        ],
    );
    scene
        .decode(&["--passphrase-file", "wrong"])
        .refused(1, &["alice/secret.key", "the passphrase is wrong"]);
    let decoded = scene.decode(&right).quietly();
    assert_eq!(decoded, "out/000000-letter\n");
    assert_eq!(scene.read("out/000000-letter"), b"hello");

    // Damage is reported as damage, with any passphrase.
    let mut damaged = secret.clone();
    damaged[200] ^= 1;
    scene.write("alice/secret.key", &damaged);
    scene
        .decode(&["--passphrase-file", "wrong", "--force"])
        .refused(1, &["alice/secret.key", "checksum"]);
}

/// A Mac's file, a Windows one and a keyboard enter one passphrase.
#[test]
fn a_passphrase_is_one_however_it_comes_in() {
    let scene = Scene::empty();
    let file = |name: &str, text: &str| scene.write(name, text.as_bytes());
    file("composed", "caf\u{e9} au lait\n");
    file("foreign", "\u{feff}cafe\u{301} au lait\r\nmore\r\n");
    file("other", "cafe au lait\n");
    file("short", "\u{feff}cafe\u{301} au\r\n");
    let keygen = ["keygen", "--params", PARAMS, "--out", "alice"];
    let short = [&keygen[..], &["--passphrase-file", "short"]].concat();
    scene
        .run(&short)
        .refused(1, &["at least 8 characters", "found 7"]);
    assert!(!scene.path("alice/secret.key").exists());
    let made = [&keygen[..], &["--passphrase-file", "composed"]].concat();
    scene.run(&made).quietly();
    let id = ["id", "passphrase", "--home", "alice"];
    let files = [
        "--passphrase-file",
        "foreign",
        "--new-passphrase-file",
        "foreign",
    ];
    scene.run(&[&id[..], &files].concat()).quietly();
    let variable = "\u{feff}cafe\u{301} au lait\r\n";
    with(&scene, &id, variable, "short").refused(1, &["at least 8 characters", "found 5"]);
    with(&scene, &id, variable, variable).quietly();
    let other = ["--passphrase-file", "other", "--remove"];
    scene
        .run(&[&id[..], &other].concat())
        .refused(1, &["the passphrase is wrong"]);
    let right = ["--passphrase-file", "composed", "--remove"];
    scene.run(&[&id[..], &right].concat()).quietly();
}

#[test]
fn passphrases_are_set_changed_and_taken_away() {
    let scene = Scene::keys();
    let plain = scene.read("alice/secret.key");
    let id = ["id", "passphrase", "--home", "alice"];
    let remove = [&id[..], &["--remove"]].concat();
    let none = with(&scene, &remove, "", "");
    none.refused(
        1,
        &["alice/secret.key", "expected a secret under a passphrase"],
    );
    with(&scene, &id, "", "").refused(1, &["--new-passphrase-file", "OMR_NEW_PASSPHRASE"]);
    assert_eq!(scene.read("alice/secret.key"), plain);

    with(&scene, &id, "", "the first one").quietly();
    assert_eq!(kind(&scene, "alice/secret.key"), 14);
    with(&scene, &id, "the second one", "the third one").refused(1, &["the passphrase is wrong"]);
    with(&scene, &id, "the first one", "the second one").quietly();
    with(&scene, &remove, "the first one", "").refused(1, &["the passphrase is wrong"]);
    with(&scene, &remove, "the second one", "").quietly();
    assert_eq!(scene.read("alice/secret.key"), plain);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = scene.path("alice/secret.key").metadata().unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }
}

/// The ends of prompts.
const PROMPTS: [&[u8]; 2] = [b"secret.key: ", b"in one line: "];

/// Returns the output at a terminal where a person types these lines, each at its prompt.
pub(super) fn at_a_terminal(scene: &Scene, line: &str, typed: &[&str]) -> (i32, String) {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_omr"));
    let mut script = std::process::Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(scene.dir());
    script.env_remove("OMR_PASSPHRASE");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut seen = Vec::new();
    for text in typed {
        let asked = seen.len();
        let mut byte = [0];
        let is_asked = |shown: &[u8]| PROMPTS.iter().any(|prompt| shown.ends_with(prompt));
        while !is_asked(&seen[asked..]) && output.read(&mut byte).unwrap() == 1 {
            seen.push(byte[0]);
        }
        // Nobody types before the terminal has switched its echo off.
        std::thread::sleep(Duration::from_millis(500));
        writeln!(input, "{text}").unwrap();
    }
    output.read_to_end(&mut seen).unwrap();
    let seen = String::from_utf8_lossy(&seen).into_owned();
    (child.wait().unwrap().code().unwrap(), seen)
}

#[test]
fn a_person_types_it_unseen() {
    let scene = Scene::empty();
    let keygen = format!("keygen --passphrase --params {PARAMS} --out alice");
    let (code, seen) = at_a_terminal(&scene, &keygen, &[RIGHT, "another one"]);
    assert_eq!(code, 1, "{seen}");
    assert!(
        seen.contains("expected the same passphrase twice"),
        "{seen}"
    );
    assert!(!scene.path("alice/secret.key").exists());
    let (code, seen) = at_a_terminal(&scene, &keygen, &[RIGHT, RIGHT]);
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("horse"), "{seen}");
    let remove = "id passphrase --remove --home alice";
    let (code, seen) = at_a_terminal(&scene, remove, &[RIGHT]);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Passphrase of alice/secret.key: "), "{seen}");
    assert!(!seen.contains("horse"), "{seen}");
    assert_eq!(kind(&scene, "alice/secret.key"), 1);
}

#[test]
fn mail_asks_for_the_passphrase_where_it_is_needed() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    scene.write("right", RIGHT.as_bytes());
    let right = ["--passphrase-file", "right"];
    let shown = identity(&scene, &server, "ann", &right);
    assert_eq!(shown["locked"], true);
    assert_eq!(kind(&scene, "ann/secret.key"), 14);
    // Commands that do not read letters need no passphrase.
    scene.run(&["id", "register", "--home", "ann"]).quietly();
    scene.run(&["id", "show", "--home", "ann"]).quietly();
    send(&scene, "ann", "ann", b"to myself");
    let fetch = ["inbox", "--home", "ann"];
    scene
        .run(&fetch)
        .refused(1, &["ann/secret.key", "--passphrase-file"]);
    with(&scene, &fetch, "wrong", "").refused(1, &["the passphrase is wrong"]);
    let fetched = with(&scene, &fetch, RIGHT, "").quietly();
    assert!(fetched.contains("to myself"), "{fetched}");
    // Letters are encrypted, so that whatever shows them needs the passphrase.
    for act in [
        "inbox --offline",
        "inbox read 1",
        "inbox delete 1",
        "inbox kept",
        "inbox mute",
    ] {
        let act = format!("{act} --home ann");
        let words: Vec<&str> = act.split(' ').collect();
        scene
            .run(&words)
            .refused(1, &["ann/secret.key", "--passphrase-file"]);
        with(&scene, &words, "wrong", "").refused(1, &["the passphrase is wrong"]);
    }
    let file = scene.read("ann/inbox.redb");
    for plain in [&b"to myself"[..], b"redb", b"messages"] {
        assert!(!file.windows(plain.len()).any(|bytes| bytes == plain));
    }
    let read = ["inbox", "read", "--home", "ann", "1"];
    let letter = with(&scene, &read, RIGHT, "").quietly();
    assert_eq!(letter, "to myself");

    send(&scene, "ann", "ann", b"while you watch");
    let watch = ["watch", "--home", "ann", "--every", "300ms", "--count", "1"];
    scene.run(&watch).refused(1, &["ann/secret.key"]);
    let seen = scene.run(&[&watch[..], &right].concat()).quietly();
    assert!(seen.contains("while you watch"), "{seen}");
    let rebuild = ["inbox", "rebuild", "--home", "ann"];
    with(&scene, &rebuild, "wrong", "").refused(1, &["the passphrase is wrong"]);
    let rebuilt = with(&scene, &rebuild, RIGHT, "");
    assert_eq!(rebuilt.code, 0, "{rebuilt:?}");

    // Keys of the quick start get the chosen passphrase.
    scene.keygen("bob");
    identity(&scene, &server, "bob", &right);
    assert_eq!(kind(&scene, "bob/secret.key"), 14);
}

#[test]
fn an_exported_identity_goes_on_elsewhere() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &["--bound", "7"]);
    identity(&scene, &server, "carl", &[]);
    let add = ["contact", "add", "--home", "ann", "carl", "carl.txt"];
    scene.run(&add).quietly();
    send(&scene, "carl", "ann", b"before");
    assert_eq!(lines(&inbox(&scene, "ann")), ["before"]);
    send(&scene, "carl", "ann", b"not fetched yet");

    let export = ["id", "export", "--home", "ann", "--out", "ann.omr"];
    scene
        .run(&export)
        .refused(1, &["ann.omr", "OMR_PASSPHRASE"]);
    with(&scene, &export, RIGHT, "").quietly();
    assert_eq!(kind(&scene, "ann.omr"), 14);
    with(&scene, &export, RIGHT, "").refused(1, &["ann.omr exists"]);
    // The other copy is gone, as after the loss of a machine.
    std::fs::rename(scene.path("ann"), scene.path("lost")).unwrap();
    send(&scene, "carl", "ann", b"after");

    let import = ["id", "import", "ann.omr", "--home", "laptop"];
    with(&scene, &import, "wrong", "").refused(1, &["ann.omr", "the passphrase is wrong"]);
    assert!(!scene.path("laptop").exists());
    let shown = with(&scene, &[&import[..], &["--json"]].concat(), RIGHT, "");
    let shown: Value = serde_json::from_str(&shown.quietly()).unwrap();
    assert_eq!(shown["bound"], 7);
    assert_eq!(shown["server"], server.url);
    with(&scene, &import, RIGHT, "").refused(1, &["laptop", "expected no folder or an empty one"]);
    let offline = ["inbox", "--home", "laptop", "--offline", "--json"];
    assert_eq!(lines(&scene.run(&offline).json()), ["before"]);
    // No letter is lost, and none comes twice.
    assert_eq!(
        lines(&inbox(&scene, "laptop")),
        ["before", "not fetched yet", "after"]
    );
    assert_eq!(lines(&inbox(&scene, "laptop")).len(), 3);
    let address = scene.run(&["address", "--home", "laptop"]).quietly();
    assert_eq!(address.as_bytes(), scene.read("ann.txt"));
    let contacts = scene
        .run(&["contact", "list", "--home", "laptop"])
        .quietly();
    assert!(contacts.starts_with("carl "), "{contacts}");

    // The detection key is not exported: the server has it, or another is made from the secret.
    assert!(!scene.path("laptop/detection.key").exists());
    let register = ["id", "register", "--home", "laptop"];
    scene.run(&register).quietly();
    assert!(!scene.path("laptop/detection.key").exists());
    scene.run(&["id", "revoke", "--home", "laptop"]).quietly();
    scene.run(&register).quietly();
    send(&scene, "carl", "ann", b"registered anew");
    assert_eq!(lines(&inbox(&scene, "laptop")).len(), 4);
    for (name, file) in [("none", "carl.txt"), ("key", "laptop/clue.key")] {
        let import = ["id", "import", file, "--home", name];
        let done = scene.run(&import);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(!scene.path(name).exists());
    }
}

#[test]
fn a_locked_identity_is_exported_under_its_passphrase() {
    let scene = Scene::empty();
    let new = words("id new --home ann --params insecure-tiny-v4 --passphrase");
    with(&scene, &new, RIGHT, "");
    let export = ["id", "export", "--home", "ann", "--out", "ann.omr"];
    with(&scene, &export, "wrong", "").refused(1, &["the passphrase is wrong"]);
    assert!(!scene.path("ann.omr").exists());
    with(&scene, &export, RIGHT, "").quietly();
    let import = ["id", "import", "ann.omr", "--home", "laptop"];
    with(&scene, &import, RIGHT, "").quietly();
    assert_eq!(
        scene.read("laptop/secret.key"),
        scene.read("ann/secret.key")
    );
    // An unencrypted export needs an option, and leaves the secret unchanged.
    let plain = ["id", "export", "--home", "ann", "--out", "plain", "--plain"];
    let told = with(&scene, &plain, RIGHT, "");
    assert!(
        told.code == 0 && told.stderr.contains("has no passphrase"),
        "{told:?}"
    );
    assert_eq!(kind(&scene, "plain"), 15);
    let import = ["id", "import", "plain", "--home", "other"];
    scene
        .run(&import)
        .refused(1, &["other/secret.key: expected its passphrase"]);
    with(&scene, &import, "wrong", "").refused(1, &["the passphrase is wrong"]);
    assert!(!scene.path("other").exists());
    with(&scene, &import, RIGHT, "").quietly();
    assert_eq!(scene.read("other/secret.key"), scene.read("ann/secret.key"));
    // Invalid bytes restore nothing.
    let mut damaged = scene.read("plain");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    scene.write("damaged", &damaged);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(scene.path("damaged"), own).unwrap();
    }
    scene
        .run(&["id", "import", "damaged", "--home", "no"])
        .refused(1, &["damaged", "checksum"]);
    assert!(!scene.path("no").exists());
}

fn retired(shown: &Value) -> Vec<String> {
    let retired = shown["retired"].as_array().unwrap().iter();
    retired
        .map(|old| old["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn letters_to_a_retired_address_still_come() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &["--bound", "7"]);
    send(&scene, "carl", "ann", b"before");
    let first = inbox(&scene, "ann");
    assert_eq!(lines(&first), ["before"]);
    scene
        .run(&["inbox", "read", "--home", "ann", "1"])
        .quietly();
    send(&scene, "carl", "ann", b"not fetched yet");

    let id = ["id", "passphrase", "--home", "ann"];
    with(&scene, &id, "", RIGHT).quietly();
    let rotate = ["id", "rotate", "--home", "ann", "--json"];
    scene
        .run(&rotate)
        .refused(1, &["ann/secret.key", "expected its passphrase"]);
    let shown: Value = serde_json::from_str(&with(&scene, &rotate, RIGHT, "").quietly()).unwrap();
    let name = retired(&shown).pop().unwrap();
    assert_eq!(shown["bound"], 7);
    assert_eq!(shown["keys"][0]["registered"], true);
    assert_eq!(kind(&scene, "ann/secret.key"), 14);
    let new = scene.run(&["address", "--home", "ann"]).quietly();
    assert_ne!(new.as_bytes(), scene.read("ann.txt"));
    scene.write("new.txt", new.as_bytes());
    // Old letters keep their numbers, and stay read.
    let all = ["inbox", "--home", "ann", "--all", "--offline", "--json"];
    let all: Value = serde_json::from_str(&with(&scene, &all, RIGHT, "").quietly()).unwrap();
    assert_eq!(all["messages"][0]["number"], 1);
    assert_eq!(all["messages"][0]["read"], true);

    send(&scene, "carl", "ann", b"to the old address");
    send(&scene, "carl", "new", b"to the new address");
    let fetch = ["inbox", "--home", "ann", "--json"];
    let fetched: Value = serde_json::from_str(&with(&scene, &fetch, RIGHT, "").quietly()).unwrap();
    let mut found = lines(&fetched);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "not fetched yet",
            "to the new address",
            "to the old address"
        ]
    );
    let of = |text: &str| {
        let mut messages = fetched["messages"].as_array().unwrap().iter();
        messages
            .find(|message| message["first_line"] == text)
            .unwrap()["retired"]
            .clone()
    };
    assert_eq!(of("to the old address"), name[..]);
    assert_eq!(of("to the new address"), Value::Null);

    // A watch reads both, too; the passphrase is changed for both.
    let old = scene.read(&format!("ann/retired/{name}/secret.key"));
    with(&scene, &id, RIGHT, "another one").quietly();
    assert_ne!(scene.read(&format!("ann/retired/{name}/secret.key")), old);
    send(&scene, "carl", "ann", b"once more");
    let watch = ["watch", "--home", "ann", "--every", "300ms", "--count", "2"];
    let seen = with(&scene, &watch, "another one", "").quietly();
    assert!(
        seen.contains(&format!("  until {name}    once more\n")),
        "{seen}"
    );

    // An export includes all of it.
    let export = ["id", "export", "--home", "ann", "--out", "ann.omr"];
    with(&scene, &export, "another one", "").quietly();
    let import = ["id", "import", "ann.omr", "--home", "laptop", "--json"];
    let shown: Value =
        serde_json::from_str(&with(&scene, &import, "another one", "").quietly()).unwrap();
    assert_eq!(retired(&shown), [&name[..]]);
    send(&scene, "carl", "ann", b"to either copy");
    let fetch = ["inbox", "--home", "laptop", "--json"];
    let fetched: Value =
        serde_json::from_str(&with(&scene, &fetch, "another one", "").quietly()).unwrap();
    assert!(lines(&fetched).contains(&"to either copy"), "{fetched}");
    assert_eq!(lines(&fetched).len(), 5, "{fetched}");

    // After it is forgotten its letters stay.
    let forget = ["id", "forget", &name, "--home", "ann"];
    let unknown = ["id", "forget", "x", "--home", "ann"];
    with(&scene, &unknown, "another one", "").refused(1, &["no retired identity"]);
    // A letter that was not fetched waits: the last fetch brings it, and the passphrase opens it.
    let refused = scene.run(&forget);
    refused.refused(1, &["expected its passphrase"]);
    with(&scene, &forget, "another one", "").quietly();
    assert!(!scene.path(&format!("ann/retired/{name}")).exists());
    send(&scene, "carl", "ann", b"lost");
    let fetch = ["inbox", "--home", "ann", "--all", "--json"];
    let fetched: Value =
        serde_json::from_str(&with(&scene, &fetch, "another one", "").quietly()).unwrap();
    assert!(lines(&fetched).contains(&"to either copy"), "{fetched}");
    assert_eq!(lines(&fetched).len(), 6, "{fetched}");
    assert_eq!(fetched["retired"].as_array().unwrap().len(), 0);
}

#[test]
fn a_rotation_goes_on_where_it_was_interrupted() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let before = scene.read("ann/secret.key");
    let url = server.url.clone();
    drop(server);
    let rotate = ["id", "rotate", "--home", "ann"];
    let refused = scene.run(&rotate);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(scene.read("ann/secret.key"), before);

    // The keys are made, but the server did not accept them.
    let listen = url.trim_start_matches("http://");
    let server = Server::start_at(&scene, PARAMS, listen);
    let wrong = [&rotate[..], &["--token", "wrong"]].concat();
    scene.run(&wrong).refused(1, &["does not know this token"]);
    let mut named = scene.command(&rotate);
    let named = named.env("OMR_TOKEN", "wrong").stdin(Stdio::null());
    let named = named.output().unwrap();
    let told = String::from_utf8(named.stderr).unwrap();
    assert!(told.contains("does not know this token"), "{told}");
    assert_eq!(scene.read("ann/secret.key"), before);
    let forget = [&rotate[..], &["--forget-old"]].concat();
    scene.run(&forget).quietly();
    assert_ne!(scene.read("ann/secret.key"), before);
    assert!(!scene.path("ann/next").exists());
    assert_eq!(scene.list("ann/retired"), Vec::<String>::new());
    drop(server);
}

/// As after a rotation on another device: the old keys are not registered again, and the error explains why.
#[test]
fn a_copy_reports_that_its_address_was_forgotten() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let export = words("id export --home ann --out ann.omr --plain");
    assert_eq!(scene.run(&export).code, 0);
    let import = ["id", "import", "ann.omr", "--home", "phone"];
    scene.run(&import).quietly();
    scene.run(&["id", "rotate", "--home", "ann"]).quietly();
    // The only retired identity need not be named.
    scene.run(&["id", "forget", "--home", "ann"]).quietly();
    let nothing = scene.run(&["id", "forget", "--home", "ann"]);
    assert_eq!(nothing.code, 0, "{nothing:?}");
    assert!(nothing.stderr.contains("nothing to forget"), "{nothing:?}");

    send(&scene, "carl", "ann", b"to nobody");
    let told = scene.run(&["inbox", "--home", "phone"]);
    assert_eq!(told.code, 1, "{told:?}");
    for text in ["another copy", "`omr id export` there", "only where"] {
        assert!(told.stderr.contains(text), "{text}: {told:?}");
    }
    // The other device's identity is imported.
    let export = words("id export --home ann --out new.omr --plain");
    assert_eq!(scene.run(&export).code, 0);
    let import = ["id", "import", "new.omr", "--home", "phone-2"];
    scene.run(&import).quietly();
    let text = ["address", "--home", "ann", "--out", "new.txt"];
    scene.run(&text).quietly();
    send(&scene, "carl", "new", b"to the new address");
    assert_eq!(lines(&inbox(&scene, "phone-2")), ["to the new address"]);

    let rotate = ["id", "rotate", "--home", "ann"];
    scene.run(&rotate).quietly();
    scene.run(&rotate).quietly();
    let forget = ["id", "forget", "--home", "ann"];
    scene
        .run(&forget)
        .refused(1, &["expected the name", "--all"]);
}

/// A letter of several fetches is not lost with the keys that decode it.
#[test]
fn an_address_is_forgotten_when_its_letters_are_here() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    let options = ["--bound", "4", "--scheme", "sophomr"];
    identity(&scene, &server, "ann", &options);
    let long: Vec<u8> = (0..6_000_u32).map(|i| (i % 251) as u8).collect();
    send(&scene, "carl", "ann", &long);
    let first = scene.run(&["inbox", "--home", "ann"]);
    assert!(first.stderr.contains("12 messages for you"), "{first:?}");
    let rotate = ["id", "rotate", "--home", "ann", "--json"];
    let at_once = [&rotate[..], &["--forget-old"]].concat();
    let expected = ["1 ranges, 1 letters", "without --forget-old"];
    let before = scene.read("ann/secret.key");
    scene.run(&at_once).refused(1, &expected);
    assert_eq!(scene.read("ann/secret.key"), before);
    let shown = scene.run(&rotate).json();
    let name = retired(&shown)[0].to_owned();
    let home = format!("ann/retired/{name}");
    let expected = ["1 ranges, 1 letters", "`omr inbox`", "--force"];
    let forget = ["id", "forget", "--home", "ann"];
    scene.run(&forget).refused(1, &expected);
    assert!(scene.path(&home).exists());
    let mut fetches = 0;
    while scene
        .run(&["inbox", "--home", "ann", "--all", "--json"])
        .json()["messages"]
        .as_array()
        .unwrap()
        .is_empty()
    {
        fetches += 1;
        assert!(fetches < 40, "the letter does not come");
    }
    scene.run(&forget).quietly();
    assert!(!scene.path(&home).exists());
    scene
        .run(&words("inbox read 1 --home ann --out read"))
        .quietly();
    let saved = format!("read/{}", scene.list("read")[0]);
    assert!(scene.read(&saved) == long);
}

#[test]
fn letters_that_were_not_fetched_are_not_forgotten_with_their_address() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    scene.run(&["id", "rotate", "--home", "ann"]).quietly();
    send(&scene, "carl", "ann", b"before it is forgotten");
    let listen = server.url.trim_start_matches("http://").to_owned();
    drop(server);
    let forget = ["id", "forget", "--home", "ann"];
    let told = ["would be lost, so it is not forgotten", "--force"];
    scene.run(&forget).refused(1, &told);
    assert_eq!(scene.list("ann/retired").len(), 1);
    let server = Server::start_at(&scene, PARAMS, &listen);
    scene.run(&forget).quietly();
    assert_eq!(scene.list("ann/retired"), Vec::<String>::new());
    let offline = ["inbox", "--home", "ann", "--offline", "--json"];
    let listed: Value = serde_json::from_str(&scene.run(&offline).quietly()).unwrap();
    assert_eq!(lines(&listed), ["before it is forgotten"]);
    drop(server);
}

#[test]
fn two_files_restore_an_identity() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    send(&scene, "carl", "ann", b"before");
    assert_eq!(lines(&inbox(&scene, "ann")), ["before"]);
    send(&scene, "carl", "ann", b"after");
    std::fs::create_dir(scene.path("new")).unwrap();
    for file in ["secret.key", "periods.key"] {
        let new = scene.path("new").join(file);
        std::fs::rename(scene.path("ann").join(file), new).unwrap();
    }
    std::fs::remove_dir_all(scene.path("ann")).unwrap();
    identity(&scene, &server, "new", &[]);
    assert_eq!(scene.read("new.txt"), scene.read("ann.txt"));
    assert_eq!(lines(&inbox(&scene, "new")), ["before", "after"]);
}

/// A secret that others on the machine can read is accepted, with a warning.
#[cfg(unix)]
#[test]
fn a_readable_secret_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("hpke-x25519", 612);
    scene.write("letter", b"hello");
    scene.post("alice", &["letter"]).quietly();
    scene.digest(3, &[]).quietly();
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(scene.path("alice/secret.key"), open).unwrap();
    let done = scene.decode(&[]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(
        done.stderr
            .starts_with("omr: warning: alice/secret.key: expected")
            && done.stderr.contains("found mode 644"),
        "{done:?}"
    );
}

#[test]
fn secrets_of_periods_beside_another_secret_key_are_refused() {
    let scene = Scene::new("hpke-x25519", 612);
    scene.write("letter", b"hello");
    scene.post("alice", &["letter"]).quietly();
    scene.digest(3, &[]).quietly();
    scene.write("alice/periods.key", b"secrets");
    let done = scene.decode(&[]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.stderr.contains("alice/periods.key")
            && done
                .stderr
                .contains("the secrets of periods of this secret key"),
        "{done:?}"
    );
    std::fs::remove_file(scene.path("alice/periods.key")).unwrap();
    scene.decode(&[]).quietly();
}

/// A hybrid identity has two keys at the server, and so has each identity that it replaced, until that is forgotten.
#[test]
fn a_hybrid_identity_rotates_more_than_once_before_it_must_forget() {
    let scene = Scene::empty();
    let token = token(&scene, "ann");
    let serve = ["--listen", "127.0.0.1:0", "--data", "data"];
    let server = Server::with(&scene, &[&serve[..], &["--params", HYBRID]].concat());
    let options = ["--token", &token, "--scheme", "hybrid"];
    let shown = identity(&scene, &server, "ann", &options);
    assert_eq!(shown["keys"].as_array().unwrap().len(), 2, "{shown}");
    let rotate = ["id", "rotate", "--home", "ann", "--json"];
    for old in 1..=3 {
        let shown = scene.run(&rotate).json();
        assert_eq!(retired(&shown).len(), old, "{shown}");
    }
    let told = ["registered keys", "at most 8", "`omr id forget`"];
    scene.run(&rotate).refused(1, &told);
    scene
        .run(&["id", "forget", "--home", "ann", "--all"])
        .quietly();
    let shown = scene.run(&rotate).json();
    assert_eq!(retired(&shown).len(), 1, "{shown}");
}

/// When a command is ended by a signal, its incomplete files are removed.
#[cfg(target_os = "linux")]
#[test]
fn every_signal_that_ends_a_command_leaves_nothing() {
    let scene = Scene::empty();
    let left =
        || scene.path("ann").exists() && scene.list("ann").iter().any(|name| name.starts_with('.'));
    let keygen = words("keygen --out ann --params insecure-tiny-hybrid-v4");
    for (signal, number) in [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("TERM", 15),
        ("XCPU", 24),
    ] {
        let mut met = false;
        for _ in 0..300 {
            let mut command = scene.command(&keygen);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            while !left() && child.try_wait().unwrap().is_none() {}
            let id = child.id().to_string();
            let kill = ["-s", signal, &id];
            std::process::Command::new("kill")
                .args(kill)
                .output()
                .unwrap();
            met = child.wait().unwrap().code() == Some(128 + number);
            assert!(!left(), "{signal}: {:?}", scene.list("ann"));
            let _ = std::fs::remove_dir_all(scene.path("ann"));
            if met {
                break;
            }
        }
        assert!(met, "no command was met at work by {signal}");
    }
    // The limit of the file's length is an error of the write.
    let line = format!(
        "ulimit -f 8; exec {} {}",
        env!("CARGO_BIN_EXE_omr"),
        keygen.join(" ")
    );
    let mut shell = std::process::Command::new("sh");
    let done = shell
        .args(["-c", &line])
        .current_dir(scene.dir())
        .output()
        .unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("File too large"), "{told}");
    assert_eq!(scene.list("ann"), Vec::<String>::new());
}

/// No core file and no debugger shows a secret.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_not_written_to_the_disk() {
    let scene = Scene::new("hpke-x25519", 612);
    // The command waits for its standard input.
    let mut post = scene.command(&words("post --board board --to alice/clue.key -"));
    post.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = post.spawn().unwrap();
    let limits = format!("/proc/{}/limits", child.id());
    let mut core = Vec::new();
    while core != ["0", "0"] {
        assert!(child.try_wait().unwrap().is_none(), "{core:?}");
        let limits = std::fs::read_to_string(&limits).unwrap();
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max core file size"));
        core = line
            .unwrap()
            .split_whitespace()
            .take(2)
            .map(str::to_owned)
            .collect();
    }
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    assert!(child.wait().unwrap().success());
}

/// A temporary file with a secret is removed after a signal, and after a crash by the next command.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_identity_leaves_no_secret_behind() {
    let scene = Scene::empty();
    std::fs::create_dir(scene.path("ann")).unwrap();
    let left = || scene.list("ann").iter().any(|name| name.starts_with('.'));
    let new = words("id new --home ann --params insecure-tiny-hybrid-v4");
    let stopped = scene.stopped(&new, "ann", left, || {
        std::fs::remove_dir_all(scene.path("ann")).unwrap();
        std::fs::create_dir(scene.path("ann")).unwrap();
    });
    assert!(stopped > 0, "no command was met at work");

    scene.write("ann/.omr-crashed", b"a secret");
    let file = std::fs::File::options()
        .write(true)
        .open(scene.path("ann/.omr-crashed"));
    let old = std::time::SystemTime::now() - Duration::from_secs(120);
    file.unwrap().set_modified(old).unwrap();
    scene.run(&new).quietly();
    assert!(!left(), "{:?}", scene.list("ann"));
}
