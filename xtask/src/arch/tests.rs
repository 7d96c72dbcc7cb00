//! Tests that each kind of broken dependency rule is reported.

use serde_json::json;

use super::*;

const DRAWN: &str = "
```text
kernels <-
client <- kernels
detector <- kernels
transactions <-
lab <- kernels, client, detector
```
";

/// Metadata of a workspace with these dependencies: crate, used crate, kind.
fn forge(names: &[&str], uses: &[(&str, &str, Option<&str>)]) -> Vec<Crate> {
    let package = |name: &&str| {
        let of: Vec<_> = uses
            .iter()
            .filter(|(from, ..)| from == name)
            .map(|(_, to, kind)| json!({ "name": to, "kind": kind }))
            .collect();
        let folder = if EVIDENCE.contains(name) {
            "evidence"
        } else {
            "crates"
        };
        json!({
            "name": name,
            "manifest_path": format!("/omr/{folder}/{name}/Cargo.toml"),
            "dependencies": of,
            "targets": [
                { "kind": ["lib"], "src_path": format!("{name}/src/lib.rs"), "test": true, "doctest": true },
                { "kind": ["test"], "src_path": format!("{name}/tests/all.rs"), "test": true, "doctest": false },
            ],
        })
    };
    let packages: Vec<_> = names.iter().map(package).collect();
    workspace::parse(json!({ "packages": packages }).to_string().as_bytes()).unwrap()
}

/// Crates that lie in the folder of the evidence.
const EVIDENCE: [&str; 1] = ["omr-lab"];

const NAMES: [&str; 6] = [
    "omr-kernels",
    "omr-client",
    "omr-detector",
    "omr-transactions",
    "omr-lab",
    "xtask",
];

fn violations(uses: &[(&str, &str, Option<&str>)]) -> Vec<Violation> {
    compare(&forge(&NAMES, uses), &arrows::parse(DRAWN).unwrap())
}

fn undrawn(from: &str, to: &str, dev: bool) -> Violation {
    Violation::Undrawn {
        from: from.into(),
        to: to.into(),
        dev,
    }
}

fn crossing(path: &[&str]) -> Violation {
    Violation::Boundary {
        path: path.iter().map(|name| name.to_string()).collect(),
    }
}

#[test]
fn a_graph_along_the_arrows_passes() {
    let uses = [
        ("omr-detector", "omr-kernels", None),
        ("omr-detector", "serde", None),
        ("omr-client", "omr-kernels", Some("dev")),
        ("omr-client", "omr-client", Some("dev")),
        ("omr-lab", "omr-client", None),
        ("omr-lab", "omr-detector", Some("build")),
        ("xtask", "serde", None),
    ];
    assert_eq!(violations(&uses), []);
}

#[test]
fn arrows_that_are_not_drawn_fail() {
    let uses = [
        ("omr-kernels", "omr-transactions", None),
        ("omr-client", "omr-detector", Some("dev")),
        ("omr-client", "omr-transactions", Some("build")),
        ("omr-detector", "omr-transactions", Some("dev")),
        ("xtask", "omr-kernels", None),
    ];
    let expected = [
        undrawn("kernels", "transactions", false),
        undrawn("client", "detector", true),
        undrawn("client", "transactions", false),
        undrawn("detector", "transactions", true),
        undrawn("xtask", "kernels", false),
    ];
    assert_eq!(violations(&uses), expected);
}

#[test]
fn the_detector_may_not_use_the_client_even_in_tests() {
    for (kind, dev) in [(None, false), (Some("build"), false), (Some("dev"), true)] {
        let expected = [
            undrawn("detector", "client", dev),
            crossing(&["detector", "client"]),
        ];
        assert_eq!(
            violations(&[("omr-detector", "omr-client", kind)]),
            expected
        );
    }
}

#[test]
fn the_boundary_holds_whatever_is_drawn() {
    let drawn = format!("{DRAWN}\ndetector <- client, lab");
    let arrows = arrows::parse(&drawn).unwrap();
    let direct = forge(&NAMES, &[("omr-detector", "omr-client", None)]);
    assert_eq!(
        compare(&direct, &arrows),
        [crossing(&["detector", "client"])]
    );

    let through = |kind| {
        forge(
            &NAMES,
            &[
                ("omr-detector", "omr-lab", None),
                ("omr-lab", "omr-client", kind),
            ],
        )
    };
    let evidence = || Violation::Evidence {
        from: "detector".into(),
        to: "lab".into(),
    };
    let expected = [evidence(), crossing(&["detector", "lab", "client"])];
    assert_eq!(compare(&through(None), &arrows), expected);
    assert_eq!(compare(&through(Some("dev")), &arrows), [evidence()]);
}

#[test]
fn the_product_uses_no_evidence_even_in_tests() {
    let drawn = format!("{DRAWN}\nclient <- lab");
    let arrows = arrows::parse(&drawn).unwrap();
    for kind in [None, Some("build"), Some("dev")] {
        let expected = Violation::Evidence {
            from: "client".into(),
            to: "lab".into(),
        };
        let found = compare(&forge(&NAMES, &[("omr-client", "omr-lab", kind)]), &arrows);
        assert_eq!(found, [expected]);
    }
    let within = forge(&NAMES, &[("omr-lab", "omr-client", None)]);
    assert_eq!(compare(&within, &arrows), []);
}

#[test]
fn drawing_and_workspace_name_the_same_crates() {
    let crates = forge(&["omr-kernels", "omr-board"], &[]);
    let arrows = arrows::parse("kernels <- ring").unwrap();
    let expected = [
        Violation::Missing {
            name: "board".into(),
        },
        Violation::Unknown {
            name: "ring".into(),
        },
    ];
    assert_eq!(compare(&crates, &arrows), expected);
}

#[test]
fn only_arrows_parse() {
    for line in [
        "ring",
        "ring -> kernels",
        "<- ring",
        "ring <- kernels,",
        "ring <- two words",
    ] {
        let error = arrows::parse(line).unwrap_err();
        assert!(
            matches!(error, XtaskError::Arrow { ref found } if found == line),
            "{line}"
        );
    }
}

#[test]
fn root_files_are_those_of_libraries_and_commands() {
    let crates = forge(&["omr-ring"], &[]);
    let paths: Vec<_> = crates[0].roots.iter().map(|root| &root.path).collect();
    assert_eq!(paths, [&PathBuf::from("omr-ring/src/lib.rs")]);
}

#[test]
fn only_the_attribute_itself_forbids_unsafe() {
    assert!(forbids_unsafe("//! Docs.\n#![forbid(unsafe_code)]\n"));
    assert!(!forbids_unsafe(
        "//! Has #![forbid(unsafe_code)] in its docs.\n"
    ));
    assert!(!forbids_unsafe("// #![forbid(unsafe_code)]\n"));
}

#[test]
fn external_crates_and_their_reasons_agree() {
    let uses = [
        ("omr-kernels", "memmap2", None),
        ("omr-client", "zeroize", Some("dev")),
        ("omr-client", "omr-kernels", None),
    ];
    let crates = forge(&NAMES, &uses);
    let list = "\n- memmap2, hpke: pages,\n  seals: none.\n";
    let unexplained = Violation::Unexplained {
        from: "client".into(),
        to: "zeroize".into(),
    };
    let unused = Violation::Unused {
        name: "hpke".into(),
    };
    let listed = dependencies::parse(list);
    assert_eq!(
        dependencies::compare(&crates, &listed),
        [unexplained, unused]
    );
    let whole = dependencies::parse(&format!("{list}- zeroize: wipes.\n").replace(", hpke", ""));
    assert_eq!(dependencies::compare(&crates, &whole), []);
}
