//! Figures of single benchmarks, and the search of parameter sets.

use crate::common::{Done, Scene, words};
use serde_json::Value;
use std::fs;

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

fn bench(scene: &Scene, more: &[&str]) -> Done {
    let args = words("bench digest --params insecure-tiny-v4 --messages 2048 --no-yardstick");
    scene.run(&[&args[..], more].concat())
}

#[test]
fn bench_digest_prints_every_field_a_line_a_run() {
    let scene = Scene::empty();
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
    let scene = Scene::empty();
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
    let scene = Scene::empty();
    let args = words("bench post --params insecure-tiny-v4 --messages 2500 --dir . --json");
    let run = scene.run(&args).json();
    assert_eq!(
        (&run["messages"], &run["transaction"]),
        (&2500.into(), &1000.into())
    );
    assert!(run["messages_per_s"].as_f64().unwrap() > 0.0);
    assert!(fs::read_dir(scene.dir()).unwrap().next().is_none());
}

/// The measured times decide which sets remain; the set with the smallest clue always does.
#[test]
fn params_search_finds_the_sets_with_instantomr() {
    let scene = Scene::empty();
    let args = ["params", "search", "--quick"];
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
fn papers_stand_beside_our_figures() {
    let scene = Scene::empty();
    let all = scene.run(&["papers", "--json"]).json();
    let figures = all["figures"].as_array().unwrap();
    let of = |row: &str, column: &str| {
        let found = figures
            .iter()
            .find(|it| it["row"] == row && it["column"] == column);
        found.unwrap_or_else(|| panic!("{row}, {column}"))
    };
    let digest = of("SophOMR", "Digest (KB)");
    assert_eq!(
        (&digest["published"], &digest["here"]),
        (&263.into(), &41.18.into())
    );
    assert!(
        digest["command"]
            .as_str()
            .unwrap()
            .starts_with("bench digest --params hybrid-v4")
    );
    let product = of("MatMul total", "Latency (ms)");
    assert_eq!(
        (&product["published"], &product["command"]),
        (&2150.into(), &"fpga predict".into())
    );
    assert!(product["here"].as_f64().unwrap() > 0.0);
    let latency = of("InstantOMR (Primus-fhe, 1 core)", "Latency (ms)");
    assert_eq!(
        latency["command"],
        "bench crossover --params hybrid-v4 --threads 1"
    );
    let ours = figures.iter().filter(|it| it["here"].is_number()).count();
    assert!(
        ours > 50 && ours < figures.len(),
        "{ours} of {}",
        figures.len()
    );
    for command in figures.iter().filter_map(|it| it["command"].as_str()) {
        let help = scene.run(&[&words(command)[..], &["--help"]].concat());
        assert_eq!(help.code, 0, "{command}");
    }

    let csv = scene.run(&["papers", "SophOMR", "--csv"]).quietly();
    assert!(
        csv.contains("SophOMR,Table 7,SophOMR,Digest (s),1107,"),
        "{csv}"
    );
    assert!(!csv.contains("InstantOMR"), "{csv}");
    let table = scene.run(&["papers", "FPGA"]).quietly();
    assert!(table.contains("MatMul total"), "{table}");
    scene
        .run(&["papers", "Sophomore"])
        .refused(2, &["FPGA, InstantOMR, PerfOMR, SophOMR", "\"Sophomore\""]);
    scene.write("figures", b"{}");
    scene
        .run(&["papers", "--figures", "figures"])
        .refused(1, &["figures", "omr-lab bench all"]);
}

#[test]
fn help_has_examples() {
    let scene = Scene::empty();
    let commands: [&[&str]; 9] = [
        &[],
        &["params", "search"],
        &["bench"],
        &["bench", "digest"],
        &["bench", "soak"],
        &["bench", "all"],
        &["bench", "compare"],
        &["compare"],
        &["fpga", "detect"],
    ];
    for command in commands {
        let help = scene.run(&[command, &["--help"]].concat()).quietly();
        assert!(help.contains("Examples:"), "{command:?}");
    }
    assert_eq!(scene.run(&["bench", "no-such"]).code, 2);
}
