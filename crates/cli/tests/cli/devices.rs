//! Devices of one person: copies of an identity that inform each other.

use crate::common::mail::{Server, identity, inbox, lines, send};
use crate::common::{PARAMS, Scene};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

/// Makes `ann`, and `phone`, which is linked with it.
fn devices(scene: &Scene, server: &Server) {
    identity(scene, server, "ann", &[]);
    link(scene, "phone");
}

fn link(scene: &Scene, name: &str) {
    let file = format!("{name}.omr");
    let export = ["id", "export", "--home", "ann", "--device", "--plain"];
    let export = scene.run(&[&export[..], &["--out", &file]].concat());
    assert_eq!(export.code, 0, "{export:?}");
    scene
        .run(&["id", "import", &file, "--home", name, "--json"])
        .json();
}

fn run(scene: &Scene, home: &str, args: &[&str]) -> String {
    let done = scene.run(&[args, &["--home", home]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    done.stderr
}

fn sync(scene: &Scene, home: &str) -> String {
    scene.run(&["id", "sync", "--home", home]).quietly()
}

fn address(scene: &Scene, home: &str) -> String {
    scene.run(&["address", "--home", home]).quietly()
}

/// Writes a home's present address to a file of a name.
fn publish(scene: &Scene, home: &str, name: &str) {
    scene.write(&format!("{name}.txt"), address(scene, home).as_bytes());
}

fn shown(scene: &Scene, home: &str) -> Value {
    scene.run(&["id", "show", "--home", home, "--json"]).json()
}

/// Returns the fingerprints of the retired identities.
fn retired(scene: &Scene, home: &str) -> BTreeSet<String> {
    let shown = shown(scene, home);
    let all = shown["retired"].as_array().unwrap().iter();
    all.map(|one| one["fingerprint"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the fingerprints of contacts by their names.
fn contacts(scene: &Scene, home: &str) -> BTreeMap<String, Value> {
    let listed = scene.run(&["contact", "list", "--home", home, "--json"]);
    let listed: Value = listed.json();
    let all = listed.as_array().unwrap().iter();
    all.map(|one| {
        (
            one["name"].as_str().unwrap().to_owned(),
            one["fingerprint"].clone(),
        )
    })
    .collect()
}

fn names(scene: &Scene, home: &str) -> Vec<String> {
    contacts(scene, home).into_keys().collect()
}

/// Returns the first lines of all letters, read or not.
fn letters(scene: &Scene, home: &str) -> Vec<String> {
    let all = ["inbox", "--home", home, "--all", "--json"];
    let done = scene.run(&all);
    assert_eq!(done.code, 0, "{done:?}");
    let listed: Value = serde_json::from_slice(&done.stdout).unwrap();
    let mut lines: Vec<String> = lines(&listed).into_iter().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn sorted(of: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = of.iter().map(|one| (*one).to_owned()).collect();
    all.sort();
    all
}

#[test]
fn contacts_and_read_marks_reach_the_other_devices() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    for name in ["bob", "carl"] {
        identity(&scene, &server, name, &[]);
    }
    identity(&scene, &server, "ann", &[]);
    run(&scene, "ann", &["contact", "add", "bob", "bob.txt"]);
    send(&scene, "bob", "ann", b"before");
    assert_eq!(lines(&inbox(&scene, "ann")), ["before"]);
    run(&scene, "ann", &["inbox", "read", "1"]);
    link(&scene, "phone");
    link(&scene, "desk");
    assert_eq!(names(&scene, "phone"), ["bob"]);
    assert!(sync(&scene, "ann").contains("nothing to post"));

    // One device reads, and adds a contact.
    send(&scene, "bob", "ann", b"first");
    send(&scene, "bob", "ann", b"second");
    let listed = inbox(&scene, "ann");
    assert_eq!(lines(&listed), ["first", "second"]);
    let number = listed["messages"][0]["number"].to_string();
    run(&scene, "ann", &["inbox", "read", &number]);
    run(&scene, "ann", &["contact", "add", "carl", "carl.txt"]);
    assert!(sync(&scene, "ann").contains("posted"));
    assert!(sync(&scene, "ann").contains("nothing to post"));
    for device in ["phone", "desk", "ann"] {
        assert_eq!(lines(&inbox(&scene, device)), ["second"], "{device}");
        assert_eq!(names(&scene, device), ["bob", "carl"], "{device}");
        let all = ["before", "first", "second"];
        assert_eq!(letters(&scene, device), sorted(&all), "{device}");
        assert!(sync(&scene, device).contains("nothing to post"), "{device}");
    }

    // Two devices change one contact: the later change holds on all, although it is posted earlier.
    let a_second = || std::thread::sleep(std::time::Duration::from_millis(1_100));
    run(&scene, "phone", &["contact", "remove", "bob"]);
    a_second();
    run(&scene, "desk", &["contact", "remove", "bob"]);
    run(&scene, "desk", &["contact", "add", "bob", "carl.txt"]);
    sync(&scene, "desk");
    a_second();
    sync(&scene, "phone");
    for device in ["ann", "phone", "desk"] {
        inbox(&scene, device);
        let contacts = contacts(&scene, device);
        assert_eq!(contacts["bob"], contacts["carl"], "{device}");
    }
}

#[test]
fn a_new_address_reaches_the_other_devices_and_so_does_its_end() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    devices(&scene, &server);
    identity(&scene, &server, "bob", &[]);
    run(&scene, "ann", &["contact", "add", "bob", "bob.txt"]);
    run(&scene, "ann", &["inbox", "mute", "bob"]);
    publish(&scene, "ann", "old");
    run(&scene, "ann", &["id", "rotate"]);
    publish(&scene, "ann", "new");
    assert_ne!(scene.read("old.txt"), scene.read("new.txt"));
    let muted = scene.run(&["inbox", "mute", "--home", "ann"]).quietly();
    assert_eq!(muted.lines().count(), 1, "the new address has the mutes");
    send(&scene, "carl", "old", b"to the old one");
    send(&scene, "carl", "new", b"to the new one");

    // The other device notices, also if another rotation follows.
    let followed = run(&scene, "phone", &["inbox"]);
    assert!(followed.contains("another device made a new address"));
    assert_eq!(address(&scene, "phone"), address(&scene, "ann"));
    let all = sorted(&["to the old one", "to the new one"]);
    for device in ["phone", "ann"] {
        assert_eq!(letters(&scene, device), all, "{device}");
    }
    assert_eq!(retired(&scene, "phone"), retired(&scene, "ann"));
    let name = shown(&scene, "phone")["retired"][0]["name"].clone();
    assert!(sync(&scene, "phone").contains("nothing to post"));

    // What one device forgets, the other forgets, and neither brings it back.
    run(&scene, "ann", &["id", "forget"]);
    assert!(retired(&scene, "ann").is_empty());
    let followed = run(&scene, "phone", &["inbox"]);
    let expected = format!("another device forgot {}", name.as_str().unwrap());
    assert!(followed.contains(&expected), "{followed}");
    assert!(retired(&scene, "phone").is_empty());
    assert_eq!(letters(&scene, "phone"), all);
    let register = ["id", "register", "--home", "phone"];
    let told = ["another device replaced or forgot", "--again"];
    scene.run(&register).refused(1, &told);
    run(&scene, "phone", &["id", "register", "--again"]);
    let at_once = ["id", "rotate", "--forget-old", "--home", "phone"];
    scene
        .run(&at_once)
        .refused(1, &["until they have the new one", "--unlink"]);

    // A lost device gets nothing more.
    run(&scene, "ann", &["id", "rotate", "--unlink", "--forget-old"]);
    send(&scene, "carl", "new", b"to nobody");
    let cut = scene.run(&["inbox", "--home", "phone"]);
    assert_eq!(cut.code, 1, "{cut:?}");
    assert_ne!(address(&scene, "phone"), address(&scene, "ann"));
    scene
        .run(&["id", "sync", "--home", "ann"])
        .refused(1, &["linked with no other device", "--device"]);
}

/// A device that missed two rotations takes both steps, and one that was not reachable at one is informed later.
#[test]
fn rotations_are_followed_one_after_the_other() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    devices(&scene, &server);
    let listen = server.url.trim_start_matches("http://").to_owned();
    send(&scene, "carl", "ann", b"to the first");
    inbox(&scene, "ann");
    run(&scene, "ann", &["id", "rotate"]);
    publish(&scene, "ann", "second");
    run(&scene, "ann", &["id", "rotate"]);
    send(&scene, "carl", "second", b"to the second");
    for _ in 0..3 {
        run(&scene, "phone", &["inbox"]);
    }
    assert_eq!(address(&scene, "phone"), address(&scene, "ann"));
    assert_eq!(retired(&scene, "phone"), retired(&scene, "ann"));
    for device in ["phone", "ann"] {
        let both = sorted(&["to the first", "to the second"]);
        assert_eq!(letters(&scene, device), both, "{device}");
    }
    // What cannot be posted is posted by the next call.
    drop(server);
    scene.run(&["id", "forget", "--all", "--force", "--home", "ann"]);
    assert!(retired(&scene, "ann").is_empty());
    let _server = Server::start_at(&scene, PARAMS, &listen);
    assert!(sync(&scene, "ann").contains("posted"));
    run(&scene, "phone", &["inbox"]);
    assert!(retired(&scene, "phone").is_empty());
}

#[test]
fn two_devices_that_rotate_at_once_agree_and_lose_nothing() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    devices(&scene, &server);
    publish(&scene, "ann", "old");
    for device in ["ann", "phone"] {
        run(&scene, device, &["id", "rotate"]);
        publish(&scene, device, device);
    }
    for name in ["old", "ann", "phone"] {
        send(&scene, "carl", name, name.as_bytes());
    }
    for _ in 0..3 {
        for device in ["ann", "phone"] {
            run(&scene, device, &["inbox"]);
        }
    }
    assert_eq!(address(&scene, "phone"), address(&scene, "ann"));
    for device in ["ann", "phone"] {
        assert_eq!(retired(&scene, device).len(), 2, "{device}");
        assert_eq!(
            letters(&scene, device),
            sorted(&["old", "ann", "phone"]),
            "{device}"
        );
        assert!(sync(&scene, device).contains("nothing to post"), "{device}");
    }
    drop(server);
}

/// Letters of the type that others write change nothing, and are listed.
#[test]
fn strangers_cannot_write_as_devices() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    devices(&scene, &server);
    identity(&scene, &server, "eve", &[]);
    let update = br#"{"version":1,"contacts":{"bob":{"time":9999999999,"address":null}}}"#;
    let args = ["send", "--home", "eve", "--to", "ann.txt", "--signed", "-"];
    let typed = ["--media-type", "application/vnd.omr.device+json"];
    run(&scene, "phone", &["contact", "add", "bob", "eve.txt"]);
    scene.pipe(&[&args[..], &typed].concat(), update).quietly();
    let unsigned: Vec<&str> = args
        .iter()
        .copied()
        .filter(|arg| *arg != "--signed")
        .collect();
    scene
        .pipe(&[&unsigned[..], &typed].concat(), update)
        .quietly();
    assert_eq!(
        inbox(&scene, "phone")["messages"].as_array().unwrap().len(),
        2
    );
    assert_eq!(names(&scene, "phone"), ["bob"]);
    drop(server);
}

/// A person who has the secret of an address that was replaced before the devices were linked.
#[test]
fn earlier_secrets_do_not_write_as_devices() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    identity(&scene, &server, "ann", &[]);
    let export = ["id", "export", "--home", "ann", "--plain"];
    let export = scene.run(&[&export[..], &["--out", "old.omr"]].concat());
    assert_eq!(export.code, 0, "{export:?}");
    scene
        .run(&["id", "import", "old.omr", "--home", "thief", "--json"])
        .json();
    run(&scene, "ann", &["id", "rotate"]);
    link(&scene, "phone");
    let update = br#"{"version":1,"contacts":{"bob":{"time":9999999999,"address":null}}}"#;
    run(&scene, "phone", &["contact", "add", "bob", "ann.txt"]);
    let args = ["send", "--home", "thief", "--to", "ann.txt", "--signed"];
    let typed = ["--media-type", "application/vnd.omr.device+json", "-"];
    scene.pipe(&[&args[..], &typed].concat(), update).quietly();
    assert_eq!(letters(&scene, "phone").len(), 1);
    assert_eq!(names(&scene, "phone"), ["bob"]);
    drop(server);
}

/// A watch goes on with the address that another device made.
#[test]
fn a_watch_follows_another_device() {
    let scene = Scene::empty();
    let server = Server::start(&scene, PARAMS);
    devices(&scene, &server);
    let args = ["watch", "--home", "phone", "--every", "1s", "--count", "12"];
    let mut watch = scene.command(&args);
    watch.stdout(Stdio::piped()).stderr(Stdio::piped());
    let watch = watch.spawn().unwrap();
    run(&scene, "ann", &["id", "rotate"]);
    publish(&scene, "ann", "new");
    send(&scene, "carl", "new", b"to the new one");
    let done = watch.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let (out, err) = (
        String::from_utf8(done.stdout).unwrap(),
        String::from_utf8(done.stderr).unwrap(),
    );
    assert!(err.contains("another device made a new address"), "{err}");
    assert!(out.contains("to the new one"), "{out}");
    assert_eq!(address(&scene, "phone"), address(&scene, "ann"));
    drop(server);
}
