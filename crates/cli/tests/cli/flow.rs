//! From keys to decoded messages.

use crate::common::{Scene, bytes, words};

/// Posts files of several sizes to two recipients and retrieves those of one.
fn files_come_back(sealing: &str, payload_bytes: usize, capacity: usize) {
    let scene = Scene::new(sealing, payload_bytes);
    scene.keygen("bob");
    let sizes = [0, 1, capacity - 3, capacity, 3 * capacity + 1, 20];
    for (seed, size) in sizes.into_iter().enumerate() {
        scene.write(&format!("f{seed}"), &bytes(seed as u8, size));
    }
    scene.write("other", b"for bob");
    assert_eq!(scene.post("bob", &["other"]).quietly(), "0 other\n");
    // The frame of a file in one part has 1 to 3 bytes, that of each part of a longer file 27 to 36.
    let posted = scene
        .post("alice", &["f0", "f1", "f2", "f3", "f4", "f5"])
        .quietly();
    let parts = 3 * capacity / (capacity - 40) + 2;
    let lines: Vec<&str> = posted.lines().collect();
    assert_eq!(lines[..4], ["1 f0", "2 f1", "3 f2", "4..6 f3"]);
    let end: usize = lines[4]
        .strip_prefix("6..")
        .unwrap()
        .strip_suffix(" f4")
        .unwrap()
        .parse()
        .unwrap();
    assert!((10..=6 + parts).contains(&end), "{posted}");
    assert_eq!(lines[5..], [format!("{end} f5")]);
    scene.post("bob", &["other"]).quietly();

    assert_eq!(scene.digest(20, &[]).quietly(), "");
    let decoded = scene.decode(&["--sealing", sealing, "--strict"]).quietly();
    let indices = [1, 2, 3, 4, 6, end];
    // An unsealed file has no name, nor has one that fits in one message only without it.
    let name = |(seed, index)| {
        if sealing == "none" || seed == 2 {
            format!("{index:06}.bin")
        } else {
            format!("{index:06}-f{seed}")
        }
    };
    let names: Vec<String> = indices.into_iter().enumerate().map(name).collect();
    let paths: Vec<String> = names.iter().map(|name| format!("out/{name}\n")).collect();
    assert_eq!(decoded, paths.concat());
    assert_eq!(scene.list("out"), names);
    for (seed, name) in names.iter().enumerate() {
        assert!(
            scene.read(&format!("out/{name}")) == scene.read(&format!("f{seed}")),
            "{name}"
        );
    }
}

#[test]
fn unsealed_files_come_back() {
    files_come_back("none", 100, 100);
}

#[test]
fn hpke_sealed_files_come_back() {
    files_come_back("hpke-x25519", 200, 120);
}

#[test]
fn x_wing_sealed_files_come_back() {
    files_come_back("x-wing", 1300, 132);
}

#[test]
fn raw_payloads_come_back_as_they_are() {
    let scene = Scene::new("none", 64);
    for seed in 0..3 {
        scene.write(&format!("f{seed}"), &bytes(seed, 64));
    }
    let posted = scene.post("alice", &["--raw", "f0", "f1", "f2"]).quietly();
    assert_eq!(posted, "0 f0\n1 f1\n2 f2\n");
    scene.digest(3, &[]).quietly();
    scene.decode(&["--raw"]).quietly();
    assert_eq!(
        scene.list("out"),
        ["000000.bin", "000001.bin", "000002.bin"]
    );
    assert_eq!(scene.read("out/000002.bin"), bytes(2, 64));
    // They are not parts of files.
    let done = scene.decode(&["--force", "--sealing", "none"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("decode with --raw"), "{done:?}");
}

#[test]
fn everything_goes_through_pipes() {
    let scene = Scene::new("hpke-x25519", 150);
    let to = ["post", "--board", "board", "--to", "alice/clue.key", "-"];
    let (first, second) = (bytes(1, 40), bytes(2, 300));
    assert_eq!(
        String::from_utf8(scene.pipe(&to, &first).stdout).unwrap(),
        "0 -\n"
    );
    assert_eq!(scene.pipe(&to, &second).code, 0);
    let digest = words("digest --board board --detection-key - --bound 9 --out -");
    let digest = scene.pipe(&digest, &scene.read("alice/detection.key"));
    assert_eq!((digest.code, digest.stderr.as_str()), (0, ""));
    assert_eq!(&digest.stdout[..4], b"OMRF");
    let decode = words("decode --secret-key alice/secret.key --digest - --out -");
    let decoded = scene.pipe(&decode, &digest.stdout);
    assert_eq!((decoded.code, decoded.stderr.as_str()), (0, ""));
    assert_eq!(decoded.stdout, [first, second].concat());
}

#[test]
fn indices_alone_and_ranges() {
    let scene = Scene::new("hpke-x25519", 100);
    scene.keygen("bob");
    scene.write("f", b"hello");
    for name in ["alice", "bob", "alice", "bob", "alice"] {
        scene.post(name, &["f"]).quietly();
    }
    scene.digest(5, &["--indices-only"]).quietly();
    assert_eq!(scene.decode(&[]).quietly(), "out/indices.txt\n");
    assert_eq!(scene.read("out/indices.txt"), b"0\n2\n4\n");
    scene
        .digest(5, &["--indices-only", "--range", "1..4"])
        .quietly();
    scene.decode(&["--force"]).quietly();
    assert_eq!(scene.read("out/indices.txt"), b"2\n");
    scene.digest(5, &["--range", "3.."]).quietly();
    let report = scene.decode(&["--json", "--force"]).json();
    assert_eq!(report["indices"], serde_json::json!([4]));
    assert_eq!(report["files"][0]["path"], "out/000004-f");
    assert_eq!(report["left_out"], serde_json::json!([]));
}

#[test]
fn reports_are_json() {
    let scene = Scene::new("none", 64);
    scene.write("f", &bytes(1, 150));
    let posted = scene.post("alice", &["--json", "f"]).json();
    assert_eq!(
        (&posted["start"], &posted["file"]),
        (&0.into(), &"f".into())
    );
    let digest = scene.digest(7, &["--json"]).json();
    assert_eq!(digest["digest_bytes"], scene.read("digest").len());
    assert_eq!((&digest["start"], &digest["bound"]), (&0.into(), &7.into()));
    assert!(digest["stages"]["opening"].as_f64().unwrap() > 0.0);
    let stat = scene.run(&["board", "stat", "board", "--json"]).json();
    assert_eq!(
        (&stat["messages"], &stat["params"]),
        (&posted["end"], &crate::common::PARAMS.into())
    );
    assert_eq!(
        (&stat["sealing"], &stat["payload_bytes"]),
        (&"none".into(), &64.into())
    );
    let verified = scene.run(&["board", "verify", "board"]).quietly();
    assert_eq!(verified, format!("sound: {} messages\n", posted["end"]));
}

#[test]
fn parts_outside_the_range_are_named() {
    let scene = Scene::new("hpke-x25519", 182);
    scene.write("long", &bytes(1, 200));
    scene.write("short", b"short");
    assert_eq!(
        scene.post("alice", &["short", "long"]).quietly(),
        "0 short\n1..4 long\n"
    );
    scene.digest(5, &["--range", "0..3"]).quietly();
    let done = scene.decode(&[]);
    assert_eq!(
        (done.code, &done.stdout[..]),
        (0, &b"out/000000-short\n"[..]),
        "{done:?}"
    );
    let warning =
        "omr: warning: messages 1..3 left out: 2 of 3 parts of a file, missing is message 3 if";
    assert!(done.stderr.starts_with(warning), "{done:?}");
    let strict = scene.decode(&["--force", "--strict"]);
    assert_eq!(strict.code, 1, "{strict:?}");
    assert!(
        strict.stderr.contains("found 1 with missing parts"),
        "{strict:?}"
    );
    // With standard output no parts are kept.
    let args = words("decode --secret-key alice/secret.key --digest digest");
    let piped = scene.run(&[&args[..], &["--out", "-", "--strict"]].concat());
    assert_eq!((piped.code, &piped.stdout[..]), (1, &b"short"[..]));
    assert!(
        piped
            .stderr
            .contains("2 of 3 pertinent messages could not be opened"),
        "{piped:?}"
    );
}
