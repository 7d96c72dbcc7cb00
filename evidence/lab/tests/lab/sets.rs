//! Experimental parameter sets in files.

use crate::common::{Scene, words};

const TINY: &str = "name = \"experimental-insecure-bodies\"\nbase = \"insecure-tiny-v4\"\n";

#[test]
fn a_file_changes_a_published_set() {
    let scene = Scene::empty();
    scene.write(
        "tiny.toml",
        format!("{TINY}[sophomr]\nrange = 30\n").as_bytes(),
    );
    let published = scene
        .run(&["params", "show", "insecure-tiny-v4", "--json"])
        .json();
    let own = scene.run(&["params", "show", "tiny.toml", "--json"]).json();
    assert_eq!(own["params"], "experimental-insecure-bodies");
    let passes = |set: &serde_json::Value| set["sophomr"]["false_positive_log2"].as_f64().unwrap();
    let wider = 2.0 * (61.0 / 49.0_f64).log2();
    assert!(
        (passes(&own) - passes(&published) - wider).abs() < 1e-9,
        "{own}"
    );
    assert_eq!(own["rounds"]["noise"], published["rounds"]["noise"]);

    let digest = words("--messages 2048 --pertinent 5 --payload-bytes 57 --threads 1 --json");
    let digest = [&["bench", "digest", "--params", "tiny.toml"][..], &digest].concat();
    let figures = scene.run(&digest).json();
    assert_eq!(figures["params"], "experimental-insecure-bodies");
    assert_eq!(figures["payloads_exact"], 5);
    let compare = words("--messages 2048 --pertinent 5 --payload-bytes 57 --threads 1 --csv");
    let sets = [
        "compare",
        "--params",
        "insecure-tiny-v4,tiny.toml",
        "sophomr",
    ];
    let csv = scene.run(&[&sets[..], &compare].concat()).quietly();
    assert!(
        csv.contains("\nsophomr,experimental-insecure-bodies,"),
        "{csv}"
    );
}

/// A file with every field of a set is the set.
#[test]
fn a_set_as_a_file_has_every_field() {
    let scene = Scene::empty();
    for name in ["hybrid-v4", "instantomr-v2"] {
        let file = scene.run(&["params", "show", name, "--toml"]).quietly();
        assert!(
            file.contains(&format!("base = {name:?}")) && file.contains("[instantomr.switch]"),
            "{file}"
        );
        scene.write("same.toml", file.as_bytes());
        let published = scene.run(&["params", "show", name, "--json"]).json();
        let mut same = scene.run(&["params", "show", "same.toml", "--json"]).json();
        assert_eq!(same["params"], format!("experimental-{name}"));
        same["params"] = name.into();
        for part in ["sophomr", "instantomr", "rounds"] {
            // The header of a key contains the name.
            if let Some(bytes) = same.pointer_mut(&format!("/{part}/detection_key_bytes")) {
                *bytes = (bytes.as_u64().unwrap() - "experimental-".len() as u64).into();
            }
        }
        assert_eq!(same, published);
        assert!(published["security_bits"].as_f64().unwrap() >= 128.0);
    }
}

#[test]
fn the_set_of_the_documentation_is_one() {
    let scene = Scene::empty();
    let page = include_str!("../../../../docs/performance.md");
    let (_, block) = page.split_once("```toml\n").unwrap();
    let (file, _) = block.split_once("```").unwrap();
    scene.write("mine.toml", file.as_bytes());
    let shown = scene.run(&["params", "show", "mine.toml"]).quietly();
    assert!(
        shown.contains("experimental-narrow") && shown.contains("clue key bits"),
        "{shown}"
    );
}

#[test]
fn bad_files_are_refused() {
    let scene = Scene::empty();
    let refused = |text: &str, expected: &[&str]| {
        scene.write("set.toml", text.as_bytes());
        scene
            .run(&["params", "show", "set.toml"])
            .refused(1, &[&["set.toml"], expected].concat());
    };
    let with = |base: &str, fields: &str| {
        format!("name = \"experimental-a\"\nbase = {base:?}\n{fields}\n")
    };
    let of = |fields: &str| with("hybrid-v4", fields);
    refused("name = \"experimental-a\"", &["missing field `base`"]);
    refused("name = \"a\"\n\nbase = = 3", &["in line 3"]);
    refused(
        "name = \"a\"\nbase = \"hybrid-v4\"",
        &["experimental-", "found \"a\""],
    );
    refused(
        "name = \"experimental-\\u0007\"\nbase = \"hybrid-v4\"",
        &["lower-case letters"],
    );
    refused(
        &with("insecure-tiny-v4", ""),
        &["experimental-insecure-", "found \"experimental-a\""],
    );
    refused(&with("hybrid-v9", ""), &["hybrid-v4", "hybrid-v9"]);
    refused(&of("colour = 3"), &["unknown field `colour`", "sophomr"]);
    refused(
        &of("[sophomr]\nrang = 3"),
        &["unknown field `rang`", "range"],
    );
    refused(&of("[sophomr]\nrange = \"wide\""), &["wide", "u64"]);
    refused(
        &of("[sophomr]\nrange = -3"),
        &["sophomr.range", "24", "found -3"],
    );
    refused(
        &of("[sophomr]\nrange = 3000"),
        &["sophomr.range", "found 3000"],
    );
    refused(
        &of("[instantomr]\nsigma = nan"),
        &["instantomr.sigma", "found NaN"],
    );
    refused(
        &of("[clue]\nsecret = { ternary = { weight = 100 } }"),
        &["128 bits", "estimate"],
    );
    refused(&of("[clue]\nq = 4188163"), &["4188163", "prime"]);
    refused(
        &of("[sophomr]\nrotation_digits = 1"),
        &["128-bit security", "1736.5"],
    );
    refused(
        &of("[sophomr.opening]\npacking_sigma = 0.5"),
        &["packing_sigma", "at least 0.62", "found 0.5"],
    );
    refused(
        &of("[instantomr]\nmodulus_bits = 51"),
        &["modulus_bits", "at most 50", "found 51"],
    );
    refused(&of("[instantomr]\nn = 1024"), &["1024", "26 bits"]);
    refused(&of("[sophomr]\nn = 49152"), &["power of two", "49152"]);
    refused(
        &of("[sophomr.final_ring]\nbodies = 3"),
        &["bodies", "found 3"],
    );
    scene
        .run(&["params", "show", "none.toml"])
        .refused(1, &["none.toml"]);
    // A server's commands know published sets alone.
    scene.write("set.toml", of("").as_bytes());
    scene
        .run(&words("bench crossover --params set.toml"))
        .refused(1, &["hybrid-v4", "set.toml"]);
}
