//! Long and whole benchmarks, and their comparison.

use crate::common::{PARAMS, Scene};
use serde_json::Value;

fn soak(scene: &Scene, more: &[&str]) -> crate::common::Done {
    let args = ["bench", "soak", "--params", PARAMS, "--payload-bytes", "57"];
    scene.run(&[&args[..], &["--pertinent", "5"], more].concat())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn soak_checks_honest_and_hostile_batches() {
    let scene = Scene::empty();
    let args = ["--keys", "2", "--batches", "19", "--seed", "2", "--json"];
    let text = soak(&scene, &args).quietly();
    let mut lines = lines(&text);
    let summary = lines.pop().unwrap();
    assert_eq!(lines.len(), 2);
    for (line, (batches, strangers)) in lines.iter().zip([(10, "honest"), (9, "hostile")]) {
        assert_eq!(line["batches"], batches, "{line}");
        assert_eq!(line["strangers"], strangers, "{line}");
        assert_eq!((&line["found"], &line["missed"]), (&5.into(), &0.into()));
        assert_eq!(
            (&line["false_positives"], &line["inexact"]),
            (&0.into(), &0.into())
        );
        assert!(line["error"].is_null(), "{line}");
        let bins = line["histogram"].as_array().unwrap();
        let counted: u64 = bins.iter().map(|bin| bin.as_u64().unwrap()).sum();
        assert_eq!(line["coefficients"], counted);
    }
    let all = &summary["all"];
    assert_eq!((&all["digests"], &all["exact"]), (&2.into(), &2.into()));
    assert_eq!(
        (&all["batches"], &summary["hostile"]["batches"]),
        (&19.into(), &9.into())
    );
    assert!(all["worst_rounding"].as_f64().unwrap() < 0.5);
    // Absent if the rounding of bodies accounts for everything.
    assert!(
        all["batch_failure_log2"]
            .as_f64()
            .is_none_or(|log2| log2 < -10.0)
    );
}

/// A stopped run is continued with the remaining keys, each as it would have been.
#[test]
fn soak_goes_on_where_it_stopped() {
    let scene = Scene::empty();
    let args = ["--keys", "2", "--batches", "3", "--seed", "7", "--json"];
    let whole = lines(&soak(&scene, &args).quietly());
    let rest = lines(&soak(&scene, &[&args[..], &["--from-key", "1"]].concat()).quietly());
    assert_eq!((whole.len(), rest.len()), (3, 2));
    for field in [
        "key",
        "strangers",
        "found",
        "worst_rounding",
        "histogram",
        "unusable_clues",
    ] {
        assert_eq!(whole[1][field], rest[0][field], "{field}");
    }
    let indices = ["--keys", "1", "--batches", "1", "--scheme", "sophomd"];
    let text = soak(&scene, &indices).quietly();
    assert!(
        text.contains("found                                           5\n")
            && text.contains("\nhonest\n"),
        "{text}"
    );
    let args = ["--bound", "4"];
    soak(&scene, &args).refused(2, &["at most 4", "found 5"]);
}

#[test]
fn soak_checks_two_rounds() {
    let scene = Scene::empty();
    let args = ["--scheme", "two-rounds", "--keys", "2", "--batches", "41"];
    let text = soak(&scene, &[&args[..], &["--json"]].concat()).quietly();
    let mut lines = lines(&text);
    let summary = lines.pop().unwrap();
    assert_eq!(lines.len(), 41);
    for (number, line) in lines.iter().enumerate() {
        let is_honest = number < 21;
        assert_eq!(line["key"], u64::from(!is_honest), "{line}");
        assert_eq!((&line["found"], &line["missed"]), (&5.into(), &0.into()));
        assert_eq!((&line["fetches"], &line["inexact"]), (&1.into(), &0.into()));
        assert_eq!(line["unusable_clues"] == 0, is_honest, "{line}");
    }
    for strangers in ["honest", "hostile"] {
        let tally = &summary[strangers];
        assert_eq!(tally["batches"], tally["exact"]);
        assert_eq!(tally["false_positives"], 0);
        for (what, step) in [
            ("first_coordinate", 1.0),
            ("second_coordinate", 1.0),
            ("answer", 786_433.0 / f64::from(1 << 21)),
        ] {
            let noise = &tally["noise"][what];
            let found = noise["rounded_sd"].as_f64().unwrap();
            let predicted = noise["predicted_sd"].as_f64().unwrap();
            // Little besides the rounding of bodies.
            let predicted = predicted.hypot(step / 12f64.sqrt());
            assert!((found / predicted - 1.0).abs() < 0.01, "{what}: {noise}");
        }
        assert!(tally["miss_log2"].as_f64().is_none_or(|log2| log2 < -30.0));
        assert!(
            tally["fetch_failure_log2"]
                .as_f64()
                .is_none_or(|log2| log2 < -60.0)
        );
    }
    assert!(summary["hostile"]["passes"].is_null());
    let passes = &summary["honest"]["passes"];
    let count = passes["in_wider_window"].as_f64().unwrap();
    let expected = passes["expected_in_wider_window"].as_f64().unwrap();
    assert!(expected > 3.0 && count > 0.0, "{passes}");
    assert!((count - expected).abs() < 4.0 * expected.sqrt(), "{passes}");
    let rest = soak(
        &scene,
        &[&args[..], &["--from-key", "1", "--json"]].concat(),
    )
    .quietly();
    let first = &self::lines(&rest)[0];
    for field in ["distances", "rms_rounding", "unusable_clues"] {
        assert_eq!(first[field], lines[21][field], "{field}");
    }
}

/// The counts are those of the table in `reference/rounds_places.py`.
#[test]
fn messages_find_no_bucket_as_often_as_in_the_reference() {
    let scene = Scene::empty();
    let figures = scene
        .run(&["bench", "places", "--pages", "20000", "--json"])
        .json();
    let table = include_str!("../../../../reference/rounds_places.py");
    for (name, row) in [
        ("several_pages", "36 pages"),
        ("one_page", "one page"),
        ("end_of_a_page", "the end of one page"),
    ] {
        let line = table
            .lines()
            .find_map(|line| line.trim().strip_prefix(row))
            .expect(row);
        let expected: Vec<f64> = line
            .split_whitespace()
            .map(|number| number.replace(',', "").parse().unwrap())
            .collect();
        let found = &figures["queries"][name];
        assert_eq!(found["queries"], 20_000);
        let found = found["with_one_left_out"].as_f64().unwrap();
        let share = 20_000.0 / expected[0];
        let mean = expected[1] * share;
        // Both counts scatter, and small ones more than their roots.
        let most = 3.0 + 5.0 * (mean + mean * share).sqrt();
        assert!((found - mean).abs() < most, "{name}: {found} of {mean}");
    }
    assert!(figures["buckets_with_room"].as_u64().unwrap() >= 8);
}

#[test]
fn a_sweep_has_a_row_for_every_run() {
    let scene = Scene::empty();
    let sweep = [
        "bench",
        "sweep",
        "--messages",
        "2048,3000",
        "--threads",
        "1,2",
    ];
    let command = [
        "--",
        "rounds",
        "--params",
        PARAMS,
        "--pertinent",
        "5",
        "--recipients",
        "1",
    ];
    let run = |more: &[&str]| scene.run(&[&sweep[..], more, &command].concat());
    let drawn = ["--figure", "rounds_s", "--svg", "rounds.svg"];
    let csv = run(&drawn).quietly();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let pairs: Vec<_> = rows.iter().map(|cells| (cells[0], cells[1])).collect();
    let points = [("2048", "1"), ("2048", "2"), ("3000", "1"), ("3000", "2")];
    assert_eq!(pairs, [&[("messages", "threads")], &points[..]].concat());
    let of = |cells: &[&str], name: &str| -> f64 {
        let column = rows[0].iter().position(|head| *head == name).expect(name);
        cells[column].parse().unwrap()
    };
    for cells in &rows[1..] {
        let share = of(cells, "rounds_s") / of(cells, "digest_s");
        assert!((of(cells, "share") / share - 1.0).abs() < 1e-9, "{csv}");
        assert!(of(cells, "stages.packing") > 0.0, "{csv}");
    }
    let picture = String::from_utf8(scene.read("rounds.svg")).unwrap();
    for words in ["messages", "rounds (s)", "1 threads", "2 threads"] {
        assert!(picture.contains(words), "{words} not in {picture}");
    }
    assert_eq!(lines(&run(&["--json"]).quietly()).len(), 4);

    let digest = [
        "bench", "sweep", "--bound", "4,9", "--runs", "2", "--", "digest", "--params", PARAMS,
    ];
    let more = ["--messages", "2048", "--pertinent", "3", "--threads", "1"];
    let csv = scene.run(&[&digest[..], &more].concat()).quietly();
    let bounds: Vec<_> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').next())
        .collect();
    assert_eq!(bounds, ["4", "4", "9", "9"].map(Some));

    run(&["--figure", "hours", "--svg", "none.svg"])
        .refused(2, &["digest_s", "rounds_s", "\"hours\""]);
    let crowd = [
        "bench",
        "sweep",
        "--messages",
        "4",
        "--",
        "digest",
        "--pertinent",
        "5",
    ];
    scene.run(&crowd).refused(1, &["at most 4", "found 5"]);
    assert_eq!(scene.run(&["bench", "sweep"]).code, 2);
}

#[test]
fn reports_compare_with_their_like() {
    let scene = Scene::empty();
    let text = scene.run(&["bench", "all", "--quick", "--json"]).quietly();
    let report: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<_> = report["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "digest",
            "digest_two_threads",
            "digest_indices",
            "digest_batches",
            "digest_recipients",
            "decode",
            "instantomr",
            "instantomr_two_threads",
            "instantomr_decode",
            "rounds",
            "crossover",
            "post",
            "query",
            "query_text",
        ]
    );
    assert_eq!(report["set"]["params"], "insecure-tiny-hybrid-v4");
    assert!(report["set"]["miss_log2"].as_f64().unwrap() <= -30.0);
    assert_eq!(report["date"].as_str().unwrap().len(), 10);
    scene.write("old", text.as_bytes());
    scene.write("new", text.as_bytes());
    let compare = ["bench", "compare", "old", "new"];
    let same = scene.run(&[&compare[..], &["--json"]].concat()).json();
    let figures = same["figures"].as_array().unwrap();
    for name in [
        "digest.digest_s",
        "digest.stages.codes",
        "digest.detection_key_bytes",
        "digest_recipients.digests.further_s",
        "instantomr.stages.first_layer",
        "crossover.message_s",
        "post.post_s",
        "query.answer_s",
    ] {
        let figure = figures.iter().find(|figure| figure["name"] == name);
        assert_eq!(figure.expect(name)["ratio"], 1.0, "{name}");
    }
    assert!(
        scene
            .run(&compare)
            .quietly()
            .contains("digest.stages.codes")
    );
    for (pointer, name) in [
        ("/machine/cpu", "machine differs"),
        ("/set/params", "parameter set differs"),
        ("/measurements/0/command", "measurement differs"),
    ] {
        let mut other = report.clone();
        *other.pointer_mut(pointer).unwrap() = "another".into();
        scene.write("new", other.to_string().as_bytes());
        scene.run(&compare).refused(1, &[name, "found another"]);
    }
    scene.write("new", b"{}");
    scene
        .run(&compare)
        .refused(1, &["new", "omr-lab bench all"]);
}

#[test]
fn recipients_of_one_board_are_served_together() {
    let scene = Scene::empty();
    let digest = ["bench", "digest", "--params", PARAMS];
    let board = ["--pertinent", "7", "--bound", "9", "--payload-bytes", "57"];
    let run = |more: &[&str]| {
        let recipients = ["--messages", "3000", "--recipients", "3"];
        scene.run(&[&digest[..], &board, &recipients, more].concat())
    };
    let figures = run(&["--json"]).json();
    assert_eq!(figures["exact"], 3, "{figures}");
    let times = &figures["digests"];
    let time = |name: &str| times[name].as_f64().unwrap();
    assert!(time("alone_s").min(time("all_s")) > 0.0, "{figures}");
    let further = (time("all_s") - time("alone_s")) / 2.0;
    assert!((time("further_s") - further).abs() < 1e-6, "{figures}");
    let share = time("further_s") / time("alone_s");
    assert!(
        (time("further_over_alone") - share).abs() < 1e-6,
        "{figures}"
    );
    let text = run(&[]).quietly();
    assert!(text.contains("further over alone"), "{text}");
    let crowd = [
        "--messages",
        "3000",
        "--pertinent",
        "1001",
        "--recipients",
        "3",
    ];
    let args = [&digest[..], &crowd].concat();
    scene.run(&args).refused(2, &["3000", "3003"]);
}

#[test]
fn instantomr_is_measured() {
    let scene = Scene::empty();
    let set = ["--params", "insecure-tiny-hybrid-v4"];
    let small = ["--payload-bytes", "40", "--pertinent", "9", "--bound", "9"];
    for scheme in ["instantomr", "instantomd"] {
        let args = ["bench", "digest", "--messages", "90", "--scheme", scheme];
        let figures = scene
            .run(&[&args[..], &set, &small, &["--json"]].concat())
            .json();
        assert_eq!(figures["found"], 9, "{scheme}");
        assert!(figures["stages"]["second_layer"].as_f64().unwrap() > 0.0);
    }
    let args = ["bench", "digest", "--scheme", "instantomr", "--recipients"];
    scene
        .run(&[&args[..], &["2"]].concat())
        .refused(1, &["--recipients"]);

    let args = ["bench", "stream", "--rate", "50", "--seconds", "4"];
    let stream = [&args[..], &set, &["--payload-bytes", "40"]].concat();
    let figures = scene.run(&[&stream[..], &["--json"]].concat()).json();
    assert!(figures["messages"].as_u64().unwrap() > 100);
    assert_eq!(figures["exact"], figures["pertinent"]);
    let wait = &figures["wait_ms"];
    assert!(wait["p50"].as_f64().unwrap() <= wait["max"].as_f64().unwrap());
    let table = scene.run(&stream).quietly();
    assert!(table.contains("wait\n"), "{table}");
    let none = ["bench", "stream", "--rate", "0"];
    scene.run(&none).refused(1, &["--rate"]);

    let args = ["bench", "crossover", "--svg", "picture.svg", "--json"];
    let measured = scene.run(&[&args[..], &set].concat());
    scene.write("costs", &measured.stdout);
    let measured: Value = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(measured["batch"], 2048);
    assert!(measured["crossover"].as_u64().unwrap() > 0);
    let picture = String::from_utf8(scene.read("picture.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("InstantOMR"));

    let args = ["bench", "windows", "--clues", "2000"];
    let windows = scene.run(&[&args[..], &set, &["--json"]].concat()).json();
    let first = &windows["missed"][0];
    let (found, expected) = (first["found"].as_f64(), first["expected"].as_f64());
    let (found, expected) = (found.unwrap(), expected.unwrap());
    assert!((found - expected).abs() < 6.0 * expected.sqrt(), "{first}");
}
