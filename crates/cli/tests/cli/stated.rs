//! Parameter sets and sizes that documents state are those of the command.

use crate::common::Scene;
use crate::documents::{pages, root};
use std::fs;

/// Sets of schemes as their papers have them, which the command does not have.
const OF_PAPERS: [&str; 2] = ["sophomr-affine-v1", "insecure-tiny-sophomr-affine-v1"];

/// First parts of the names of sets.
const FAMILIES: [&str; 5] = ["sophomr-", "hybrid-", "instantomr-", "pdq-", "insecure-"];

/// The pages that state sizes of the default set, and which.
const SIZES: [(&str, &[&str]); 4] = [
    (
        "README.md",
        &[
            "/clue_bytes",
            "/sophomr/digest_bytes",
            "/sophomr/detection_key_bytes",
            "/instantomr/detection_key_bytes",
        ],
    ),
    (
        "docs/performance.md",
        &[
            "/clue_bytes",
            "/sophomr/digest_bytes",
            "/sophomr/indices_digest_bytes",
            "/sophomr/detection_key_bytes",
            "/instantomr/detection_key_bytes",
        ],
    ),
    ("docs/integrate.md", &["/clue_bytes"]),
    ("docs/design/instantomr.md", &["/instantomr/digest_bytes"]),
];

/// The words of a text that look like names of parameter sets.
fn sets(text: &str) -> impl Iterator<Item = &str> {
    let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.split(move |c| !in_name(c)).filter(|word| {
        let version = word.rsplit_once("-v").map(|(_, version)| version);
        let numbered = version.is_some_and(|version| version.parse::<u32>().is_ok());
        numbered && FAMILIES.iter().any(|family| word.starts_with(family))
    })
}

#[test]
fn documents_name_parameter_sets_that_exist() {
    let scene = Scene::empty();
    let list = scene.run(&["params", "list"]).quietly();
    // Sets of private queries are listed by the error about an unknown one.
    let unknown = ["pdq", "keygen", "--params", "none", "--out", "keys"];
    let known = list + &scene.run(&unknown).stderr;
    let known: Vec<&str> = sets(&known).chain(OF_PAPERS).collect();
    assert!(known.contains(&"hybrid-v4") && known.contains(&"pdq-v1"));
    let mut faults = Vec::new();
    let mut found = 0;
    for page in pages("") {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for set in sets(&text) {
            found += 1;
            if !known.contains(&set) {
                faults.push(format!("{page}: {set}"));
            }
        }
    }
    assert!(found > 50, "{found}");
    assert!(
        faults.is_empty(),
        "expected one of {known:?}, found\n{}",
        faults.join("\n")
    );
}

#[test]
fn documents_state_the_sizes_of_the_default_set() {
    let scene = Scene::empty();
    let shown = scene.run(&["params", "show", "--json"]).json();
    for (page, sizes) in SIZES {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for size in sizes {
            let bytes = shown.pointer(size).and_then(serde_json::Value::as_u64);
            let bytes = thousands(bytes.expect(size));
            assert!(text.contains(&bytes), "{page}: expected {bytes}, {size}");
        }
    }
}

/// A number with commas between thousands.
fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}
