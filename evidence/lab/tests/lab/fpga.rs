//! The model of an FPGA, from the command line.

use crate::common::{Scene, words};
use serde_json::Value;

const PARAMS: &str = "insecure-tiny-sophomr-affine-v1";

/// The published figures and order, and our designs for the circuit of docs/fpga.md.
#[test]
fn the_exploration_has_the_published_figures_and_ours() {
    let scene = Scene::empty();
    let line = "fpga explore --picture f.svg --json";
    let report = scene.run(&words(line)).json();
    let paper = &report["paper"];
    let close = |found: &Value, expected: f64| {
        let found = found.as_f64().unwrap();
        assert!((found - expected).abs() < 0.005, "{found} {expected}");
    };
    close(&paper["product_ms"], 2150.2);
    assert_eq!(paper["dsp"], 6920);
    close(&paper["speedup_of_one"][0], 13.86);
    close(&paper["speedup_of_both"][0], 6.93);
    let designs = paper["designs"].as_array().unwrap().iter();
    let columns = |design: &Value| {
        ["pcmul_lanes", "pcmul_cores", "dsp"].map(|name| design[name].as_u64().unwrap())
    };
    let table_three = [[16, 2, 6920], [8, 4, 6924], [4, 8, 6932], [2, 16, 6948]];
    assert_eq!(designs.map(columns).collect::<Vec<_>>(), table_three);

    assert_eq!(
        (&report["source"], &report["placed_and_routed"]),
        (&"rtl".into(), &false.into())
    );
    let sets = report["sets"].as_array().unwrap();
    let names: Vec<_> = sets
        .iter()
        .map(|set| set["set"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sophomr-affine-v1"]);
    for set in sets {
        assert_eq!(set["rotations"], serde_json::json!([64, 30]));
        assert!(set["variants"].as_array().unwrap().len() >= 5, "{set}");
        let front: Vec<_> = set["front"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| ["dsp", "cycles"].map(|name| row[name].as_u64().unwrap()))
            .collect();
        assert!(front.len() > 10, "{front:?}");
        assert!(
            front
                .windows(2)
                .all(|pair| pair[0][0] < pair[1][0] && pair[0][1] > pair[1][1])
        );
        for row in set["variants"].as_array().unwrap() {
            let most = [
                ("dsp", 7219),
                ("lut", 1_043_200),
                ("bram36", 2016),
                ("uram", 960),
            ];
            for (name, most) in most {
                assert!(row[name].as_u64().unwrap() <= most, "{name}: {row}");
            }
        }
    }
    let picture = String::from_utf8(scene.read("f.svg")).unwrap();
    for text in [
        "<svg",
        "sophomr-affine-v1",
        "sums reduced once",
        "published",
    ] {
        assert!(picture.contains(text), "{text}");
    }
}

#[test]
fn tables_are_for_people() {
    let scene = Scene::empty();
    let line = format!("fpga explore --params {PARAMS}");
    let text = scene.run(&words(&line)).quietly();
    for row in [
        "2150.2 ms",
        "6,920",
        "13.86, 20.63",
        "6.930, 10.31",
        "diagonals on the fly",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let text = scene
        .run(&words(&format!("fpga predict --params {PARAMS}")))
        .quietly();
    for row in ["baby_steps", "download", "dsp share", "pcie share"] {
        assert!(text.contains(row), "{row}: {text}");
    }
}

#[test]
fn what_the_model_does_not_take_is_refused() {
    let scene = Scene::empty();
    let refused = |line: &str, code, texts: &[&str]| scene.run(&words(line)).refused(code, texts);
    let many = "fpga predict --sum-lanes 1024 --each-reduced";
    refused(many, 2, &["DSP slices", "expected at most 7219"]);
    refused(
        "fpga predict --hoisted 64",
        2,
        &["bytes of HBM", "16000000000"],
    );
    refused("fpga predict --cores 0", 2, &["0 cores", "1 or more"]);
    refused(
        "fpga predict --butterflies 48",
        2,
        &["48 butterflies", "a power of two"],
    );
    refused(
        "fpga explore --params instantomr-v2",
        1,
        &["sophomr-affine-v1", "instantomr-v2"],
    );
    refused("fpga explore --cycles none", 1, &["none: "]);
    scene.write("cycles", b"{}");
    refused(
        "fpga explore --cycles cycles",
        1,
        &["cycles: ", "`make -C hw full`"],
    );
}

/// The figures of the model are printed with the processor's results.
#[test]
fn pertinent_messages_are_found_beside_the_model() {
    let scene = Scene::empty();
    let line = format!("fpga detect --params {PARAMS} --messages 300 --pertinent 3");
    let report = scene.run(&[&words(&line)[..], &["--json"]].concat()).json();
    assert_eq!(
        (&report["found"], &report["false_positives"]),
        (&3.into(), &0.into())
    );
    let model = &report["model"];
    let number = |value: &Value| value.as_f64().unwrap();
    let (mut cycles, warm) = (0.0, &model["warm"]);
    for stage in warm["stages"].as_array().unwrap() {
        cycles += number(&stage["cycles"]);
        for share in ["dsp_share", "hbm_share", "pcie_share"] {
            assert!((0.0..=1.0).contains(&number(&stage[share])), "{stage}");
        }
    }
    assert!(number(&warm["stages"][1]["dsp_share"]) > 0.05, "{warm}");
    assert_eq!(cycles, number(&warm["cycles"]));
    let rest = number(&model["detection_warm_s"]) - number(&model["processor_rest_s"]);
    assert!((rest - number(&warm["ms"]) / 1e3).abs() < 1e-9, "{model}");
    assert!(number(&model["processor_affine_s"]) > 0.0, "{model}");

    let text = scene.run(&words(&line)).quietly();
    for row in ["found", "speedup warm", "speedup cold", "pcie share"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let many = format!("fpga detect --params {PARAMS} --messages 2 --pertinent 3");
    scene
        .run(&words(&many))
        .refused(2, &["at most 2 pertinent", "found 3"]);
}
