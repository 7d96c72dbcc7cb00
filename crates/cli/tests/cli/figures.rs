//! Parameters and the demonstration.

use crate::common::{PARAMS, Scene, words};
use serde_json::Value;

#[test]
fn demo_retrieves_everything() {
    let scene = Scene::keys();
    let args = words("demo --params insecure-tiny-v4 --messages 2048 --dir demo");
    let text = scene.run(&args).quietly();
    for part in [
        "Found 50 of 50, missed 0, false positives 0; 50 payloads exact bit for bit",
        "No secret in the board, clue.key, detection.key, the digest",
        "Sender",
        "Board",
        "Detector",
        "Recipient",
        "zcash sapling outputs",
    ] {
        assert!(text.contains(part), "{part:?} not in {text}");
    }
    assert_eq!(scene.list("demo"), ["board", "digest", "recipient"]);
    // The files of the demonstration are ordinary ones.
    let args = words("decode --secret-key demo/recipient/secret.key --digest demo/digest");
    scene
        .run(&[&args[..], &["--out", "out", "--raw"]].concat())
        .quietly();
    assert_eq!(scene.list("out").len(), 50);
}

#[test]
fn demo_counts_in_json_and_leaves_nothing() {
    let scene = Scene::keys();
    let args = words(
        "demo --params insecure-tiny-v4 --messages 3000 --pertinent 7 --bound 8 --recipients \
         2",
    );
    let mut command = scene.command(&[&args[..], &["--json", "--threads", "1"]].concat());
    let output = command.env("TMPDIR", scene.dir()).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["found"], &report["payloads_exact"]),
        (&7.into(), &7.into())
    );
    assert_eq!(
        (&report["missed"], &report["false_positives"]),
        (&0.into(), &0.into())
    );
    assert_eq!(report["checks"].as_array().unwrap().len(), 4);
    assert!(report["records"].as_u64().unwrap() > 2500);
    assert_eq!(scene.list("."), ["alice"]);
    let few = ["demo", "--params", PARAMS, "--messages", "10"];
    scene
        .run(&few)
        .refused(2, &["at most 10 pertinent", "found 50"]);
}

#[test]
fn params_show_the_sizes_of_real_files() {
    let scene = Scene::new("none", 100);
    let list = scene.run(&["params", "list"]).quietly();
    assert!(
        list.starts_with("sophomr-v5 ") && list.contains("insecure-tiny-v4"),
        "{list}"
    );
    let sets = scene.run(&["params", "list", "--json"]).json();
    for set in sets.as_array().unwrap() {
        let name = set["name"].as_str().unwrap();
        assert_eq!(set["insecure"], name.starts_with("insecure-"), "{name}");
    }
    scene.write("f", &crate::common::bytes(1, 100));
    scene
        .post("alice", &[&["--raw"][..], &["f"; 30]].concat())
        .quietly();
    let show = words("params show insecure-tiny-v4 --messages 30 --payload-bytes 100 --json");
    let shown = scene.run(&[&show[..], &["--bound", "70"]].concat()).json();
    assert_eq!(shown["clue_key_bytes"], scene.read("alice/clue.key").len());
    let shown = &shown["sophomr"];
    let key = scene.read("alice/detection.key");
    assert_eq!(shown["detection_key_bytes"], key.len());
    scene.digest(70, &[]).quietly();
    assert_eq!(shown["digest_bytes"], scene.read("digest").len());
    scene.digest(70, &["--indices-only"]).quietly();
    assert_eq!(shown["indices_digest_bytes"], scene.read("digest").len());
    assert!(
        shown["miss_log2"].as_f64().unwrap() <= -30.0
            && shown["false_positive_log2"].as_f64().unwrap() <= -26.0
    );
    assert_eq!(shown["key_moduli"].as_array().unwrap().len(), 6);
    let text = scene.run(&["params", "show", PARAMS]).quietly();
    assert!(text.contains("none: for tests only"), "{text}");
    scene
        .run(&["params", "show", "x"])
        .refused(1, &["sophomr-v5", "\"x\""]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let scene = Scene::keys();
    let commands: [&[&str]; 10] = [
        &[],
        &["keygen"],
        &["params"],
        &["params", "show"],
        &["board"],
        &["board", "init"],
        &["post"],
        &["digest"],
        &["decode"],
        &["demo"],
    ];
    for command in commands {
        let help = scene.run(&[command, &["--help"]].concat()).quietly();
        assert!(help.contains("Examples:"), "{command:?}");
    }
    assert!(scene.run(&["--help"]).quietly().contains("3  overflow"));
    assert_eq!(scene.run(&["keygen"]).code, 2);
}
