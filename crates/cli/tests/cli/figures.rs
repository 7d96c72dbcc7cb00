//! Parameters, benchmarks and the demonstration.

use crate::common::{PARAMS, Scene, words};
use serde_json::Value;

const DIGEST_FIELDS: [&str; 23] = [
    "scheme",
    "params",
    "security_bits",
    "messages",
    "pertinent",
    "bound",
    "payload_bytes",
    "threads",
    "seed",
    "keygen_s",
    "digest_s",
    "stages",
    "decode_ms",
    "detection_key_bytes",
    "clue_key_bytes",
    "clue_bytes",
    "digest_bytes",
    "peak_rss_bytes",
    "found",
    "missed",
    "false_positives",
    "payloads_exact",
    "kernels",
];

fn bench(scene: &Scene, more: &[&str]) -> crate::common::Done {
    let args = words("bench digest --params insecure-tiny-v4 --messages 2048 --no-yardstick");
    scene.run(&[&args[..], more].concat())
}

#[test]
fn bench_digest_prints_every_field_a_line_a_run() {
    let scene = Scene::keys();
    let args = words("--scheme sophomr --pertinent 9 --bound 10 --payload-bytes 100");
    let args = [
        &args[..],
        &["--threads", "2", "--seed", "5", "--runs", "2", "--json"],
    ]
    .concat();
    let text = bench(&scene, &args).quietly();
    let runs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(runs.len(), 2);
    for (run, seed) in runs.iter().zip([5, 6]) {
        for field in DIGEST_FIELDS {
            assert!(!run[field].is_null(), "{field} in {run}");
        }
        assert_eq!((&run["seed"], &run["threads"]), (&seed.into(), &2.into()));
        assert_eq!(
            (&run["found"], &run["payloads_exact"]),
            (&9.into(), &9.into())
        );
        assert_eq!(
            (&run["missed"], &run["false_positives"]),
            (&0.into(), &0.into())
        );
        assert!(
            run["stages"]
                .as_object()
                .unwrap()
                .values()
                .all(Value::is_f64)
        );
    }
}

#[test]
fn bench_digest_of_indices_and_wrong_uses() {
    let scene = Scene::keys();
    let run = bench(
        &scene,
        &["--scheme", "sophomd", "--pertinent", "3", "--json"],
    )
    .json();
    assert_eq!(
        (&run["scheme"], &run["found"]),
        (&"sophomd".into(), &3.into())
    );
    let table = bench(&scene, &["--pertinent", "3"]).quietly();
    assert!(
        table.contains("payloads exact                                  3\n"),
        "{table}"
    );
    bench(&scene, &["--pertinent", "3000"]).refused(2, &["at most 2048 pertinent", "found 3000"]);
    bench(&scene, &["--pertinent", "9", "--bound", "8"]).refused(3, &["overflow", "hold 9"]);
}

#[test]
fn bench_post_counts_durable_messages() {
    let scene = Scene::keys();
    let args = words("bench post --params insecure-tiny-v4 --messages 2500 --dir . --json");
    let run = scene.run(&args).json();
    assert_eq!(
        (&run["messages"], &run["transaction"]),
        (&2500.into(), &1000.into())
    );
    assert!(run["messages_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(scene.list("."), ["alice"]);
}

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
    // Its files are ordinary ones.
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

/// What the search measured decides which sets remain; that of the smallest clue always does.
#[test]
fn params_search_finds_the_sets_with_instantomr() {
    let scene = Scene::keys();
    let args = ["params", "search", "--scheme", "instantomr", "--quick"];
    let found = scene.run(&[&args[..], &["--json"]].concat()).json();
    let sets = found["sets"].as_array().unwrap();
    let names: Vec<_> = sets.iter().map(|set| &set["published"]).collect();
    assert!(names.contains(&&"instantomr-v2".into()), "{names:?}");
    for set in sets {
        assert!(set["miss_log2"].as_f64().unwrap() <= -30.0, "{set}");
        assert!(
            set["false_positive_log2"].as_f64().unwrap() <= -20.0,
            "{set}"
        );
    }
    let table = scene.run(&args).quietly();
    assert!(table.contains("instantomr-v2"), "{table}");
}

#[test]
fn params_search_lists_secure_sets_and_checks_its_model() {
    let scene = Scene::keys();
    let args = ["params", "search", "--quick", "--messages", "2048"];
    let found = scene
        .run(&[&args[..], &["--check", PARAMS, "--json"]].concat())
        .json();
    let sets = found["sets"].as_array().unwrap();
    assert!(!sets.is_empty());
    // Of the base's neighbours, those with an embedding bound of 9 are too weak.
    assert_eq!((&found["tried"], &found["refused"]), (&8.into(), &4.into()));
    for set in sets {
        assert!(set["security_bits"].as_f64().unwrap() >= 128.0, "{set}");
        assert!(set["seconds"].as_f64().unwrap() > 0.0, "{set}");
    }
    assert!(sets.iter().filter(|set| set["chosen"] == true).count() <= 1);
    let published = &found["published"];
    let shown = scene
        .run(&words("params show sophomr-v3 --messages 2048 --json"))
        .json();
    assert_eq!(published["clue_bytes"], shown["clue_bytes"]);
    let digest_bytes = &shown["sophomr"]["digest_bytes"];
    assert_eq!(&published["digest_bytes"], digest_bytes);
    assert_eq!(published["published"], true);
    let check = &found["check"];
    assert_eq!(check["params"], PARAMS);
    let stages = check["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 8);
    for stage in stages {
        for seconds in ["modelled_s", "measured_s"] {
            assert!(stage[seconds].as_f64().unwrap() > 0.0, "{stage}");
        }
    }
    let table = scene.run(&args).quietly();
    assert!(table.contains("\npublished\n"), "{table}");
    scene
        .run(&["params", "search", "--quick", "--check", "x"])
        .refused(1, &["sophomr-v5", "\"x\""]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let scene = Scene::keys();
    let commands: [&[&str]; 16] = [
        &[],
        &["keygen"],
        &["params"],
        &["params", "show"],
        &["params", "search"],
        &["board"],
        &["board", "init"],
        &["post"],
        &["digest"],
        &["decode"],
        &["demo"],
        &["bench"],
        &["bench", "digest"],
        &["bench", "soak"],
        &["bench", "all"],
        &["bench", "compare"],
    ];
    for command in commands {
        let help = scene.run(&[command, &["--help"]].concat()).quietly();
        assert!(help.contains("Examples:"), "{command:?}");
    }
    assert!(scene.run(&["--help"]).quietly().contains("3  overflow"));
    assert_eq!(scene.run(&["keygen"]).code, 2);
}
