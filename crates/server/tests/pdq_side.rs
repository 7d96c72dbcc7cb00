//! The server uses only the server's side of private database queries. `omr-pdq` contains both sides, so the sources
//! are searched.

use std::fs;
use std::path::{Path, PathBuf};

/// The names of `omr-pdq` that a server needs.
const SERVERS: [&str; 11] = [
    "EvaluationKey",
    "Hosted",
    "KeyError",
    "Params",
    "ParamsError",
    "Plan",
    "Progress",
    "QueryFileError",
    "Server",
    "ServerError",
    "TableFileError",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found)
        } else {
            found.push(path)
        }
    }
}

/// Returns the names after `omr_pdq::`, one or several in braces.
fn names(text: &str) -> Vec<&str> {
    let uses = text.split("omr_pdq::").skip(1);
    uses.flat_map(|rest| {
        let rest = match rest.strip_prefix('{') {
            Some(list) => list.split_once('}').unwrap().0,
            None => {
                rest.split_once(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap()
                    .0
            }
        };
        rest.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
    })
    .collect()
}

#[test]
fn no_source_names_the_side_of_the_client() {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&root, &mut files);
    let mut seen = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for name in names(&text) {
            assert!(SERVERS.contains(&name), "{}: {name}", file.display());
            seen += 1;
        }
        assert!(!text.contains("SecretKey"), "{}", file.display());
    }
    assert!(seen > 5, "{seen} names");
}
