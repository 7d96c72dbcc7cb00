//! Tests of the comparison of schemes.

use crate::common::{Scene, words};
use serde_json::Value;

/// With a process for each scheme, the document, the table and the page contain equal schemes.
#[test]
fn every_scheme_is_run_and_reported() {
    let scene = Scene::empty();
    let args = ["compare", "--quick", "--threads", "1", "--sample", "64"];
    let args = [
        &args[..],
        &["--pertinent", "9", "--bound", "10", "--runs", "2"],
    ]
    .concat();
    let table = scene
        .run(&[&args[..], &["--out", "figures"]].concat())
        .quietly();
    let document: Value = serde_json::from_slice(&scene.read("figures/compare.json")).unwrap();
    assert_eq!(document["failed"], serde_json::json!([]));
    assert_eq!(document["work"]["messages"], 2048);
    let page = String::from_utf8(scene.read("figures/compare.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
    assert!(!page.contains("<script"), "{page}");
    assert_eq!(table.as_bytes(), scene.read("figures/compare.md"));
    let entries = document["entries"].as_array().unwrap();
    assert!(entries.len() >= 4);
    for entry in entries {
        assert_eq!(
            (&entry["runs"], &entry["exact"]),
            (&2.into(), &2.into()),
            "{entry}"
        );
        let scheme = entry["scheme"].as_str().unwrap();
        let line = table
            .lines()
            .find(|line| line.starts_with(&format!("| {scheme} ")));
        assert!(line.unwrap().contains("2 of 2"), "{table}");
        assert!(page.contains(&format!("<th scope=\"row\">{scheme}</th>")));
        let sampled = entry["batch"] == 1;
        assert_eq!(line.unwrap().contains('~'), sampled, "{table}");
        assert_eq!(entry["messages"], if sampled { 64 } else { 2048 });
    }
}

/// Within one process a subset has equal figures, except for times and memory.
#[test]
fn a_subset_in_one_process() {
    let scene = Scene::empty();
    let args = ["compare", "sophomd", "--quick", "--threads", "1", "--json"];
    let apart = scene.run(&args).json();
    let here = scene.run(&[&args[..], &["--in-process"]].concat()).json();
    for document in [&apart, &here] {
        assert_eq!(document["entries"].as_array().unwrap().len(), 1);
    }
    for field in [
        "scheme",
        "params",
        "payloads",
        "clues",
        "exact",
        "bytes",
        "miss_log2",
    ] {
        assert_eq!(
            apart["entries"][0][field], here["entries"][0][field],
            "{field}"
        );
    }
}

/// Every scheme with payloads of every set is run, and has a row.
#[test]
fn sets_side_by_side() {
    let scene = Scene::empty();
    let args = words("compare --params insecure-tiny-hybrid-v4,insecure-tiny-v4 --threads 1");
    let small = words("--messages 2048 --sample 64 --pertinent 9 --bound 10 --payload-bytes 100");
    let args = [&args[..], &small].concat();
    let csv = scene.run(&[&args[..], &["--csv"]].concat()).quietly();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| lines[0].iter().position(|head| *head == name).expect(name);
    let names: Vec<_> = lines[1..]
        .iter()
        .map(|cells| (cells[0], cells[1]))
        .collect();
    let hybrid = ["two-rounds", "sophomr", "instantomr"].map(|it| (it, "insecure-tiny-hybrid-v4"));
    let bulk = ["two-rounds", "sophomr"].map(|it| (it, "insecure-tiny-v4"));
    assert_eq!(names, [&hybrid[..], &bulk].concat());
    for cells in &lines[1..] {
        assert_eq!(cells[column("exact")], "1", "{csv}");
        assert_eq!(
            cells[column("bytes.query")].is_empty(),
            cells[0] != "two-rounds",
            "{csv}"
        );
        for name in [
            "bytes.clue",
            "bytes.clue_key",
            "bytes.detection_key",
            "bytes.digest",
        ] {
            assert!(
                cells[column(name)].parse::<u64>().unwrap() > 100,
                "{name}: {csv}"
            );
        }
        assert!(
            cells[column("digest_s")].parse::<f64>().unwrap() > 0.0,
            "{csv}"
        );
    }
    let instant = lines.iter().find(|cells| cells[0] == "instantomr").unwrap();
    assert!(
        instant[column("failure_log2")].parse::<f64>().unwrap() < -20.0,
        "{csv}"
    );
    let table = scene
        .run(&[&args[..], &["sophomr", "--out", "figures"]].concat())
        .quietly();
    assert_eq!(table.matches("| sophomr ").count(), 2, "{table}");
    let page = String::from_utf8(scene.read("figures/compare.html")).unwrap();
    assert!(page.contains("sophomr insecure-tiny-v4"), "{page}");

    let unknown = scene.run(&["compare", "--params", "hybrid-v4,hybrid-v9"]);
    unknown.refused(1, &["hybrid-v9", "hybrid-v4"]);
    let none = scene.run(&["compare", "instantomr", "--params", "sophomr-v5"]);
    none.refused(2, &["sophomr, two-rounds", "found instantomr"]);
}

#[test]
fn unknown_schemes_and_impossible_work_are_refused() {
    let scene = Scene::empty();
    let unknown = scene.run(&["compare", "omr3p", "--quick"]);
    unknown.refused(1, &["sophomr", "instantomr", "omr3p"]);
    let weak = scene.run(&["compare", "sophomr", "omr1p-as-published", "--quick"]);
    weak.refused(1, &["128 bits", "omr1p-as-published", "92.6"]);
    let many = scene.run(&["compare", "--quick", "--pertinent", "2049"]);
    many.refused(2, &["at most 2048", "found 2049"]);
}

/// A scheme that cannot do the work is reported; the others run.
#[test]
fn what_one_scheme_cannot_do_leaves_the_others() {
    let scene = Scene::empty();
    let args = words("compare sophomd instantomd --quick --sample 4");
    let done = scene.run(&[&args[..], &["--pertinent", "20", "--bound", "8", "--json"]].concat());
    assert_eq!(done.code, 1, "{done:?}");
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["entries"][0]["scheme"], "instantomd");
    assert_eq!(document["failed"][0]["scheme"], "sophomd");
    let reason = document["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("20") && reason.contains('8'), "{reason}");
}
