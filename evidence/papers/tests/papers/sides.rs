//! The trust boundary within this crate: the code that a detector runs, or shares with recipients, uses nothing
//! of the recipients' code.

use std::fs;
use std::path::{Path, PathBuf};

/// Names that the detector's side must not contain.
const RECIPIENTS: [&str; 6] = [
    "omr_client",
    "crate::client",
    "super::client",
    "SecretKey",
    "LweSecret",
    "PaperRecipient",
];

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path)
            .unwrap()
            .for_each(|entry| sources(&entry.unwrap().path(), found))
    } else {
        found.push(path.to_owned())
    }
}

fn named(text: &str) -> Option<&'static str> {
    RECIPIENTS.into_iter().find(|name| text.contains(name))
}

#[test]
fn the_detectors_side_names_nothing_of_recipients() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for side in [
        "detector",
        "detector.rs",
        "clear",
        "clear.rs",
        "codec",
        "codec.rs",
        "even.rs",
    ] {
        sources(&root.join(side), &mut files);
    }
    assert!(files.len() > 25, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(named(&text), None, "{}", file.display());
    }
    // The list finds the names that it is meant to find.
    let client = fs::read_to_string(root.join("client/detection.rs")).unwrap();
    assert!(named(&client).is_some());
}
