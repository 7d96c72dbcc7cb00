//! Letters of many messages: their cost, and their arrival over several digests.

use crate::common::{Done, Scene, bytes, words};
use serde_json::json;

/// The number of bytes of a payload; 91 of them are content of a file in several messages.
const PAYLOAD: usize = 200;
/// The bound of the digests below.
const BOUND: usize = 8;

/// Posts a long letter to alice among short ones and letters to others. Returns its first message and the index after
/// its last.
fn long_letter(scene: &Scene) -> [u64; 2] {
    scene.keygen("bob");
    scene.write("short", b"short");
    scene.write("long", &bytes(1, 5000));
    scene.post("alice", &["short"]).quietly();
    scene.post("bob", &["short", "long"]);
    let done = scene.post("alice", &["long", "short", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let line = String::from_utf8(done.stdout).unwrap();
    let posted: serde_json::Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    [&posted["start"], &posted["end"]].map(|index| index.as_u64().unwrap())
}

/// Makes digests of ranges that contain at most the bound of messages each. Returns their names.
fn digests(scene: &Scene, [start, end]: [u64; 2]) -> Vec<String> {
    let cuts = (start..end).step_by(BOUND).skip(1).chain([end, end + 1]);
    let mut from = 0;
    let mut names = Vec::new();
    // The messages before the letter are a range of their own.
    for to in [start].into_iter().chain(cuts) {
        let name = format!("d{from}");
        let (range, bound) = (format!("{from}..{to}"), BOUND.to_string());
        let args = [
            "digest", "--board", "board", "--bound", &bound, "--out", &name,
        ];
        let more = ["--detection-key", "alice/detection.key", "--range", &range];
        scene.run(&[&args[..], &more].concat()).quietly();
        names.push(name);
        from = to;
    }
    names
}

fn decode(scene: &Scene, out: &str, digests: &[&str], more: &[&str]) -> Done {
    let args = ["decode", "--secret-key", "alice/secret.key", "--out", out];
    scene.run(&[&args[..], &["--digest"], digests, more].concat())
}

#[test]
fn a_letter_of_many_times_the_bound_arrives_over_several_digests() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let [start, end] = long_letter(&scene);
    assert!(end - start > 6 * BOUND as u64);
    let names = digests(&scene, [start, end]);
    let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
    all.reverse();
    // One digest is given twice: a message in two digests is one message.
    all.push("d0");
    let files = [(0, "short"), (start, "long"), (end, "short")];
    let files = files.map(|(index, name)| format!("{index:06}-{name}"));
    let told = decode(&scene, "out", &all, &["--strict"]).quietly();
    let paths = files.iter().map(|name| format!("out/{name}\n"));
    assert_eq!(told, paths.collect::<String>());
    assert!(scene.read(&format!("out/{}", files[1])) == scene.read("long"));

    // One digest per call: no received part is lost between calls.
    all.pop();
    let parts = end - start;
    let mut have = 0;
    for name in &all {
        let done = decode(&scene, "slow", &[name], &["--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        have += match report["incomplete"][0]["have"].as_u64() {
            Some(now) => now - have,
            None => 0,
        };
        if have == 0 || have == parts {
            continue;
        }
        let whole = report["incomplete"].as_array().unwrap().is_empty();
        assert_eq!(scene.path("slow/incomplete").exists(), !whole);
        if !whole {
            // The digests are decoded from the last to the first, so that the beginning is missing.
            let missing = json!([[0, parts - have]]);
            assert_eq!(report["incomplete"][0]["missing"], missing);
            let messages = json!([[start, end - have]]);
            assert_eq!(report["incomplete"][0]["messages"], messages);
            let told = format!("left out: {have} of {parts} parts of a file, missing");
            assert!(done.stderr.contains(&told), "{done:?}");
            assert!(done.stderr.len() < 300, "{done:?}");
        }
    }
    assert_eq!(scene.list("slow"), files);
    for name in files {
        assert!(scene.read(&format!("slow/{name}")) == scene.read(&format!("out/{name}")));
    }
}

#[test]
fn kept_parts_are_for_their_board_and_key_alone() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let [start, end] = long_letter(&scene);
    let names = digests(&scene, [start, end]);
    let done = decode(&scene, "out", &[&names[2]], &[]);
    assert_eq!(done.code, 0, "{done:?}");
    let kept = scene.list("out/incomplete").remove(0);
    let kept = format!("out/incomplete/{kept}");
    use std::os::unix::fs::PermissionsExt;
    let mode = scene.path(&kept).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let good = scene.read(&kept);
    // Bob's letters are written into the same folder, without alice's parts.
    let args = [
        "digest", "--board", "board", "--bound", "90", "--out", "bobs",
    ];
    scene
        .run(&[&args[..], &["--detection-key", "bob/detection.key"]].concat())
        .quietly();
    let args = ["decode", "--secret-key", "bob/secret.key", "--out", "out"];
    let done = scene.run(&[&args[..], &["--digest", "bobs"]].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(scene.read(&kept) == good);
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    scene.write(&kept, &bad);
    decode(&scene, "out", &[&names[3]], &[]).refused(1, &[&kept, "checksum"]);
    let both = decode(&scene, "out2", &[&names[3], "bobs"], &[]);
    assert_eq!(both.code, 1, "{both:?}");
    let other = "omr: bobs: the digest was made for another recipient";
    assert!(both.stderr.contains(other), "{both:?}");
}

#[test]
fn a_digest_that_overflows_takes_nothing_from_the_others() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let [start, end] = long_letter(&scene);
    let names = digests(&scene, [start, end]);
    scene.digest(BOUND, &[]).quietly();
    let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
    all.insert(2, "digest");
    let done = decode(&scene, "out", &all, &[]);
    assert_eq!(done.code, 3, "{done:?}");
    let count = end - start + 2;
    assert!(done.stderr.contains("omr: digest: overflow"), "{done:?}");
    assert!(
        done.stderr.contains(&format!("{count} pertinent")),
        "{done:?}"
    );
    let long = format!("out/{start:06}-long");
    assert!(scene.read(&long) == scene.read("long"));
    assert_eq!(scene.list("out").len(), 3);
}

#[test]
fn files_keep_their_names() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    std::fs::create_dir(scene.path("folder")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"a\nb\xff.txt");
    std::fs::write(scene.dir().join(odd), b"odd").unwrap();
    scene.write("folder/photo.jpg", &bytes(1, 700));
    scene.write(".profile", b"hidden");
    let mut post = scene.command(&["post", "--board", "board", "--to", "alice/clue.key"]);
    post.args(["folder/photo.jpg", ".profile"]).arg(odd);
    let done = post.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let told = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    // There is one line per file, whatever its name contains.
    assert_eq!(lines.len(), 3, "{told}");
    assert!(
        lines[0].starts_with("0..") && lines[0].ends_with(" folder/photo.jpg"),
        "{told}"
    );
    assert!(lines[2].ends_with(" a\\nb\u{fffd}.txt"), "{told}");
    let mut post = scene.command(&words("post --board board --to alice/clue.key --json"));
    let done = post.arg(odd).output().unwrap();
    let posted: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(posted["file"], "a\nb\u{fffd}.txt");
    scene.post("alice", &["--no-names", ".profile"]).quietly();
    scene.digest(20, &[]).quietly();
    // Existing files stay.
    std::fs::create_dir(scene.path("out")).unwrap();
    scene.write("out/000000-photo.jpg", b"mine");
    scene
        .decode(&[])
        .refused(1, &["out/000000-photo.jpg exists"]);
    scene.decode(&["--force"]).quietly();
    assert!(scene.read("out/000000-photo.jpg") == scene.read("folder/photo.jpg"));
    let names: Vec<String> = scene
        .list("out")
        .into_iter()
        .map(|name| name[7..].to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "photo.jpg",
            "_profile",
            "ab\u{fffd}.txt",
            "ab\u{fffd}.txt",
            "bin"
        ]
    );
}

#[test]
fn digests_of_two_boards_do_not_mix() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let other = Scene::new("hpke-x25519", PAYLOAD);
    for scene in [&scene, &other] {
        scene.write("f", b"hello");
        scene.post("alice", &["f"]).quietly();
        scene.digest(3, &[]).quietly();
    }
    scene.write("other", &other.read("digest"));
    decode(&scene, "out", &["digest", "other"], &[])
        .refused(1, &["digests of one board", "other of another than digest"]);
}

#[test]
fn the_cost_is_printed_and_too_long_a_file_posts_nothing() {
    let scene = Scene::new("hpke-x25519", PAYLOAD);
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    let part = stat["part_bytes"].as_u64().unwrap() as usize;
    let single = stat["single_file_bytes"].as_u64().unwrap() as usize;
    let posted = |size: usize| {
        scene.write("f", &bytes(3, size));
        // A name takes room, too.
        let done = scene.post("alice", &["--json", "--no-names", "f"]);
        let posted: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let count = posted["end"].as_u64().unwrap() - posted["start"].as_u64().unwrap();
        (count, done.stderr)
    };
    assert_eq!(posted(single), (1, String::new()));
    assert_eq!(posted(single + 1).0, 2);
    assert_eq!(posted(50 * part), (50, String::new()));
    let (count, told) = posted(50 * part + 1);
    assert_eq!(count, 51);
    let cost = format!("f: 51 messages of up to {part} bytes");
    assert!(told.starts_with(&cost), "{told}");
    assert!(
        told.contains("`omr digest` with --range 53..104 --bound 51"),
        "{told}"
    );
    // With its name the file takes one message more.
    let quiet = scene.post("alice", &["--quiet", "f"]).quietly();
    assert_eq!(quiet, "104..156 f\n");

    scene.write("short", b"hello");
    let long = std::fs::File::create(scene.path("long")).unwrap();
    long.set_len(1 << 30).unwrap();
    scene.post("alice", &["short", "long"]).refused(
        1,
        &["omr: long: ", "at most 131072 messages", "1073741824 bytes"],
    );
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    assert_eq!(stat["messages"], 156);
}
